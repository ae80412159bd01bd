# SPDX-License-Identifier: MIT
"""The roofline viewer, with the kernels of a file: characters in tmux, and images on terminals that a pty plays."""
import base64
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import termios
import time
import xml.etree.ElementTree

import pytest

from test_terminal import left_as_it_was, pixels_of

HERE = pathlib.Path(__file__).resolve().parent
POINTS = HERE / "solver.points"
PLAIN = {"NO_COLOR": "1"}


@pytest.fixture(scope="session")
def viewer(hprofiler):
    return os.environ.get("HPROFILER_SHOW_ROOFLINE") or str(pathlib.Path(hprofiler).parents[1] / "tests/tui_show_roofline")


@pytest.fixture
def shown(open_screen, viewer):
    def start(*size, points=POINTS, **environment):
        screen = open_screen(*(size or (100, 30)), **{**PLAIN, **environment})
        screen.keys((f"stty -a >before; clear; {viewer} {points}; echo status=$?",), "Enter")
        screen.wait("? keys")
        return screen
    return start


def test_kernels_are_cycled_with_their_headroom(shown):
    screen = shown()
    first = screen.wait("4 kernels, 4 roofs")
    assert "of 1 nothing was counted" in first and "FMA 2 TFLOP/s" in first and "DRAM 200 GB/s" in first and "dgemm_kernel" in first
    screen.keys("n")  # 1e12 B/s x 0.1 = 100 GFLOP/s, of which it has 15; DRAM allows 20
    facts = screen.wait("15 GFLOP/s at 0.1 FLOP/byte, 45 % of the time")
    assert "memory bound: L2 allows 100 GFLOP/s, 6.67 times as much; the next roof, DRAM, 1.33 times" in facts
    screen.keys("n", "n")
    assert "compute bound: FMA allows 2 TFLOP/s, 1.25 times as much" in screen.wait("1.6 TFLOP/s at 40")
    screen.keys("n", "n")  # round again
    screen.wait("15 GFLOP/s at 0.1")
    screen.keys("p")
    screen.wait("6 GFLOP/s at 0.9")
    screen.keys("Escape")
    screen.wait("4 kernels, 4 roofs")
    screen.keys("q")
    screen.wait("status=0")
    left_as_it_was(screen)


def test_zoom_pan_and_reset(shown):
    screen = shown()
    whole = screen.settle()
    screen.keys("n", "+", "=", "+")
    screen.until(lambda now: "gather_indices" not in now and "stream" in now, "less of it, around the selected kernel")
    screen.keys("-", "-", "-", "Right", "Right", "Up", "Left", "Left", "Down", "r", "Escape")
    screen.until(lambda now: now == whole, "the whole again")
    screen.keys("Right", "Right", "Right", "Right", "Right")
    screen.until(lambda now: "stream_triad" not in now, "stream_triad out of the window")
    screen.keys("n")  # what is selected is shown
    screen.until(lambda now: now.count("stream_triad") == 2, "stream_triad in the chart and below it")


def test_help_page_and_sizes(shown):
    screen = shown()
    screen.keys("?")
    help_text = screen.wait("the next kernel, by its part of the time")
    for key in ("n", "p", "Esc", "+ =", "- _", "Left h", "r", "w", "q"):
        assert re.search(rf"^.*\s{re.escape(key)}\s{{2,}}\S", help_text, re.M), key
    screen.keys("x", "w")
    screen.wait("handed to the browser")
    assert (pathlib.Path(screen.socket).parent / "page-opened").read_text() == "opened"
    for columns, rows in ((40, 12), (10, 4), (180, 50), (100, 30)):
        screen.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        screen.wait("too small" if rows < 8 else "FLOP/s")


def test_without_utf8_all_is_ascii(shown):
    screen = shown(LC_ALL="C")
    drawn = screen.wait("4 kernels")
    assert drawn.isascii() and "* gather_indices" in drawn and "-----" in drawn and "....." in drawn


@pytest.mark.parametrize("content, text", [("", "0 kernels, 0 roofs"), ("point 1 1 1e9 alone\n", "headroom unknown"), ("peak 1e9 P\npoint 1 1 5e9 beyond\n", "above the roof P")])
def test_odd_charts(shown, tmp_path, content, text):
    (tmp_path / "odd.points").write_text("title odd\n" + content)
    screen = shown(points=tmp_path / "odd.points")
    screen.keys("n")
    if content:
        screen.wait(text)
    else:
        screen.wait("there is no kernel to show")
        screen.keys("+")
        screen.wait(text)


def test_pictures(viewer, tmp_path):
    subprocess.run([viewer, str(POINTS), str(tmp_path / "out.svg"), "light"], check=True, timeout=60)
    texts = [element.text for element in xml.etree.ElementTree.parse(tmp_path / "out.svg").iter("{http://www.w3.org/2000/svg}text")]
    for text in ("Roofline of solver", "FMA 2 TFLOP/s", "DRAM 200 GB/s", "dgemm_kernel", "6.67 times", "arithmetic intensity (FLOP/byte)"):
        assert text in texts, texts
    done = subprocess.run([viewer, str(POINTS), str(tmp_path / "out.png")], capture_output=True, text=True, timeout=60)
    if "without cairo" in done.stderr:
        pytest.skip("built without cairo")
    width, height, rows = pixels_of(tmp_path / "out.png")
    assert (width, height) == (1800, 1120) and len(set(zip(*[iter(rows)] * 97))) > 100, done.stderr


# --- images ------------------------------------------------------------------------------------------------------------


def on_a_terminal(viewer, keys, answers, environment):
    """What it writes to a terminal of 80 x 24 cells of 10 x 20 pixels; each key is typed once the answer before it is there."""
    pid, terminal = pty.fork()
    if pid == 0:
        for name in ("TMUX", "NO_COLOR", "TERM_PROGRAM", "COLORTERM"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 800, 480))
        os.execv(viewer, [viewer, str(POINTS)])
    out, end = b"", time.monotonic() + 60
    try:
        for key, answer in zip(keys, answers):
            while not re.search(answer, out, re.S):
                assert time.monotonic() < end and select.select([terminal], [], [], 30)[0], (key, out[-2000:])
                out += os.read(terminal, 65536)
            os.write(terminal, key)
        while select.select([terminal], [], [], 30)[0]:
            more = os.read(terminal, 65536)
            if not more:
                break
            out += more
    except OSError:  # it is closed: the program ended
        pass
    finally:
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    assert status == 0
    return out


@pytest.fixture(scope="session")
def kitty(tmp_path_factory):
    """Terminfo of Kitty, which few machines have: that of xterm below its name."""
    folder = tmp_path_factory.mktemp("terminfo")
    text = subprocess.run(["infocmp", "xterm-256color"], capture_output=True, text=True, timeout=60)
    if text.returncode:
        pytest.skip("no terminfo of xterm-256color")
    (folder / "source").write_text(re.sub(r"^xterm-256color\|[^,]*,", "xterm-kitty|made for a test,", text.stdout, flags=re.M))
    subprocess.run(["tic", "-x", "-o", str(folder), str(folder / "source")], check=True, capture_output=True, timeout=60)
    return {"TERM": "xterm-kitty", "TERMINFO": str(folder)}


def without_images(viewer):
    libraries = subprocess.run(["ldd", viewer], capture_output=True, text=True, timeout=60).stdout
    return "libchafa" not in libraries or "libcairo" not in libraries


def test_an_image_on_kitty(viewer, kitty, tmp_path):
    if without_images(viewer):
        pytest.skip("built without chafa or cairo")
    image = rb"\x1b_Ga=T.*?m=0;[^\x1b]*\x1b\\"
    out = on_a_terminal(viewer, [b"n", b"q"], [image, image + rb".*" + image], kitty)
    frames = re.findall(rb"\x1b_Ga=T,f=100,q=2,C=1,c=80,r=20,(.*?m=0;[^\x1b]*)\x1b\\", out, re.S)
    assert len(frames) == 2 and frames[0] != frames[1]  # without and with a crosshair
    png = b"".join(base64.b64decode(chunk) for chunk in re.findall(rb"m=[01];([^\x1b]*)", frames[1]))
    (tmp_path / "kitty.png").write_bytes(png)
    width, height, rows = pixels_of(tmp_path / "kitty.png")
    assert (width, height) == (800, 400) and len(set(zip(*[iter(rows)] * 97))) > 100
    assert out.rindex(b"\x1b_Ga=d\x1b\\") > out.rindex(b"\x1b_Ga=T"), "an image is left on the screen"


def test_an_image_on_iterm2(viewer, tmp_path):
    if without_images(viewer):
        pytest.skip("built without chafa or cairo")
    image = rb"\x1b\]1337;File=inline=1;size=(\d+);width=80;height=20;[^:]*:([^\a]*)\a"
    out = on_a_terminal(viewer, [b"q"], [image], {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"})
    size, content = re.search(image, out).groups()
    (tmp_path / "iterm2.png").write_bytes(base64.b64decode(content))
    assert len(base64.b64decode(content)) == int(size) and pixels_of(tmp_path / "iterm2.png")[:2] == (800, 400)


def test_an_image_as_sixels(viewer):
    if without_images(viewer):
        pytest.skip("built without chafa or cairo")
    out = on_a_terminal(viewer, [b"?", b"q"], [rb"\x1bP[0-9;]*q.*\x1b\\", rb"the next kernel"], {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"})
    image = re.search(rb"\x1bP[0-9;]*q\"1;1;(\d+);(\d+)(.*?)\x1b\\", out, re.S)
    assert image and int(image[1]) == 800 and 394 < int(image[2]) <= 400 and image[3].count(b"#") > 50
    assert b"\x1bP" not in out[out.index(b"the next kernel"):], "the help lies below an image"


@pytest.mark.parametrize("environment", [{"TERM": "xterm-256color"}, {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "NO_COLOR": "1"},
                                         {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/nothing,1,0"}])
def test_characters_where_no_image_can_be_shown(viewer, environment):
    out = on_a_terminal(viewer, [b"q"], [rb"\? keys"], environment)
    assert b"\x1bP" not in out and b"\x1b_G" not in out and b"1337" not in out and b"dgemm_kernel" in out
