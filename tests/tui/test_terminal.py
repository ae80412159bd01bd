# SPDX-License-Identifier: MIT
"""The terminal is given back as it was, whatever happens; sizes and keys of all sorts are survived."""
import csv
import os
import pathlib
import re
import signal
import struct
import subprocess
import time
import xml.etree.ElementTree
import zlib

import pytest


def left_as_it_was(screen):
    """In the shell again: the first screen, a cursor, no mouse, and the line discipline of before."""
    screen.until(lambda _: screen.state("alternate_on") == "0", "first screen")
    screen.keys(("stty -a >after; cmp before after && echo sa''me",), "Enter")
    screen.wait("same")
    assert screen.state("cursor_flag") == "1" and screen.state("mouse_any_flag") == "0"


@pytest.fixture
def started(open_screen, hprofiler, traces):
    def start(trace="app.hpt", *size, **environment):
        screen = open_screen(*(size or (80, 24)), **environment)
        screen.keys(("stty -a >before",), "Enter", (f"clear; {hprofiler} view {traces / trace}; echo status=$?",), "Enter")
        screen.wait("? keys")
        assert screen.state("alternate_on") == "1"
        return screen
    return start


def ui_pid(screen):
    """The UI is the shell's only child."""
    shell = screen.state("pane_pid")
    return int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


def test_quitting(started):
    screen = started()
    screen.keys("q")
    screen.wait("status=0")
    left_as_it_was(screen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_ends_it(started, number):
    screen = started()
    os.kill(ui_pid(screen), number)
    screen.wait("status=0")
    left_as_it_was(screen)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_crash(started, number):
    screen = started()
    os.kill(ui_pid(screen), number)
    screen.wait(f"status={128 + number}")
    left_as_it_was(screen)


def test_control_c(started):
    screen = started()
    screen.keys("C-c")
    screen.wait("status=")
    left_as_it_was(screen)


def test_suspend_and_resume(started):
    screen = started()
    before = screen.capture()
    screen.keys("C-z")
    screen.wait("Stopped")
    left_as_it_was(screen)
    screen.keys(("fg",), "Enter")
    screen.until(lambda shown: shown == before, "screen as before")
    screen.keys("q")
    screen.wait("READY>")


def test_resizing_while_it_draws(started):
    screen = started("lanes.hpt")
    for columns, rows in ((200, 50), (20, 5), (80, 24), (10, 3), (120, 40), (81, 25)):
        screen.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        screen.keys("+", "-", "Down")
    screen.keys("Home") # how far it has scrolled hangs on which key came at which size
    shown = screen.until(lambda text: "? keys" in text and "many 1" in text, "drawn screen")
    assert max(len(line) for line in shown.split("\n")) <= 81
    screen.keys("q")
    screen.wait("status=0")


def key_names():
    """Every key of the table, in tmux's words."""
    table = (pathlib.Path(__file__).resolve().parents[2] / "src/tui/keys.def").read_text()
    words = {"PageUp": "PPage", "PageDown": "NPage", "Backspace": "BSpace", "Esc": "Escape", "Shift-Tab": "BTab", "Ctrl-B": "C-b", "Ctrl-F": "C-f",
             "Ctrl-L": "C-l", "Ctrl-]": "C-]"}
    names = [name for keys in re.findall(r'^KEY\(\w+, "([^"]*)"', table, re.M) for name in keys.split()]
    return [words.get(name, name) for name in dict.fromkeys(names) if name != "q"]


def leave(screen):
    """Out of whatever is open. Escape and what follows are one key for who gets to read both at once: then they are sent again."""
    for patience_s in (10, 20, 40):
        screen.keys("Escape", "q")
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if "status=0" in screen.capture():
                screen.keys("C-u")  # what the shell got of them
                return
            time.sleep(0.05)
    screen.wait("status=0")


@pytest.mark.parametrize("tab", range(1, 8))
def test_every_key_in_every_tab_is_survived(started, tab):
    screen = started("app.hpt", 100, 30, NO_COLOR="1")
    for key in key_names():
        screen.keys(str(tab), key)
        if key in ("/", "f", "e"):
            screen.keys(("x",), "Enter")
        if key == "?":
            screen.keys("x")
    leave(screen)
    left_as_it_was(screen)


def test_copying_and_exporting(started, open_screen):
    screen = started()
    folder = pathlib.Path(screen.socket).parent
    screen.keys("4", "y")
    screen.wait("copied to the terminal's clipboard")
    assert "smooth" in (folder / "hprofiler-copied.txt").read_text()
    for ending, content in (("csv", "section,self_ns,total_ns,count,"), ("txt", "4 Hotspots")):
        screen.keys("e", (f"out.{ending}",), "Enter")
        screen.wait(f"written to out.{ending}")
        assert content in (folder / f"out.{ending}").read_text()
    screen.keys("3", "e", ("spans.csv",), "Enter")
    screen.wait("written to spans.csv")
    rows = list(csv.DictReader((folder / "spans.csv").open(newline="")))
    assert {"process", "lane", "depth", "name", "category", "kind", "begin_ns", "end_ns", "value"} == set(rows[0])
    sends = [row for row in rows if row["name"] == "MPI_Recv"]
    assert sends and all(0 <= int(row["begin_ns"]) < int(row["end_ns"]) and row["kind"] == "recv" for row in sends)
    assert any(row["kind"] == "counter" and float(row["value"]) > 0 for row in rows)
    screen.keys("e", ("out.pdf",), "Enter")
    screen.wait("must end in")


def test_an_export_leaves_the_files_that_are_there(started):
    screen = started()
    folder = pathlib.Path(screen.socket).parent
    (folder / "mine.csv").write_text("mine")
    for expected in ("mine-2.csv", "mine-3.csv"):
        screen.keys("4", "e", ("mine.csv",), "Enter")
        screen.wait(f"mine.csv is there: written to {expected}")
        assert "section,self_ns" in (folder / expected).read_text()
    assert (folder / "mine.csv").read_text() == "mine"


def damage_counters(trace, damaged):
    """A copy of a native trace, with another first byte in each block of counters: behind the header of its chunk."""
    content = bytearray(trace.read_bytes())
    chunks = [at for at in range(0, len(content) - 80, 64) if content[at:at + 8] == b"HPCK" + struct.pack("<HH", 3, 3)]
    assert chunks
    for at in chunks:
        content[at + 80] ^= 0x55
    damaged.write_bytes(content)


def test_rows_that_cannot_all_be_read_are_no_file(started, traces, tmp_path):
    damage_counters(traces / "app.hpt", tmp_path / "damaged.hpt")
    screen = started(tmp_path / "damaged.hpt", 120, 40)
    folder = pathlib.Path(screen.socket).parent
    screen.keys("3", "e", ("spans.csv",), "Enter")
    screen.wait("nothing is written")
    assert not list(folder.glob("spans.csv*"))
    leave(screen)


def texts_of(path):
    """The texts of an SVG, which must be XML."""
    tree = xml.etree.ElementTree.parse(path)
    return [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]


# by tab: what one must find in its picture, and how many texts at least
PICTURES = {"1": ("lost", 20), "2": ("smooth", 20), "3": ("MPI_Init", 40), "4": ("cudaStreamSynchronize", 60), "5": ("std::vector<int>::push_back(int&&)", 20), "6": ("smooth", 8),
            "7": ("Composition", 20)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_every_tab(started, theme):
    screen = started("app.hpt", HPROFILER_THEME=theme)
    folder = pathlib.Path(screen.socket).parent
    for tab, (text, count) in PICTURES.items():
        screen.keys(tab, "e", (f"{tab}.svg",), "Enter")
        screen.wait(f"written to {tab}.svg")
        texts = texts_of(folder / f"{tab}.svg")
        assert any(text in found for found in texts) and len(texts) >= count, (tab, texts)
        assert "of app.hpt" in texts[0] and "10 events lost" in texts[1]
        ground = (folder / f"{tab}.svg").read_text().split('<rect width="100%" height="100%" fill="')[1][:7]
        assert ground == ("#ffffff" if theme == "light" else "#14171c")


def test_lines_of_a_picture_stand_in_columns(started):
    screen = started("app.hpt")
    folder = pathlib.Path(screen.socket).parent
    screen.keys("7")
    screen.wait("makespan")
    screen.keys("e", ("path.svg",), "Enter")
    screen.wait("written to path.svg")
    elements = list(xml.etree.ElementTree.parse(folder / "path.svg").iter("{http://www.w3.org/2000/svg}text"))
    at = [[element.text for element in elements].index(name) for name in ("makespan", "length", "explained")]
    for column, anchor in ((1, "end"), (2, None)):
        cells = [elements[i + column] for i in at]
        assert {cell.get("text-anchor") for cell in cells} == {anchor} and len({cell.get("x") for cell in cells}) == 1, [cell.attrib for cell in cells]


def pixels_of(path):
    """(width, height, rows of bytes RGB) of a PNG as cairo writes it: 8 bits, no interlace."""
    data, at, packed = path.read_bytes(), 8, b""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        content = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlace = struct.unpack(">IIBBBBB", content)
            assert (depth, interlace) == (8, 0) and colours in (2, 6)
        packed += content if kind == b"IDAT" else b""
        at += 12 + length
    return width, height, zlib.decompress(packed)


def test_a_picture_as_png(started, hprofiler):
    screen = started("app.hpt")
    folder = pathlib.Path(screen.socket).parent
    screen.keys("3", "e", ("out.png",), "Enter")
    shown = screen.until(lambda shown: "written to out.png" in shown or "without cairo" in shown, "answer")
    if "without cairo" in shown:
        pytest.skip("built without cairo")
    width, height, rows = pixels_of(folder / "out.png")
    assert width == 2400 and 600 < height < 2000
    assert len(set(zip(*[iter(rows)] * 97))) > 100, "blank"


def test_a_picture_that_cannot_be_written(started):
    screen = started("one.hpt", 160, 24)
    screen.keys("e", ("/nowhere/at/all.svg",), "Enter")
    screen.wait("No such file or directory")
    if os.path.exists("/dev/full"):
        os.symlink("/dev/full", pathlib.Path(screen.socket).parent / "full.svg")
        screen.keys("e", ("full.svg",), "Enter")
        screen.wait("No space left on device")


def click(screen, x, y, button=0):
    """As tmux tells programs that know no other way."""
    screen.tmux("send-keys", "-l", f"\x1b[M{chr(32 + button)}{chr(32 + x)}{chr(32 + y)}\x1b[M#{chr(32 + x)}{chr(32 + y)}")


def test_mouse(started):
    screen = started()
    click(screen, 40, 1)  # on the tab bar
    screen.wait("by CPU samples")
    click(screen, 30, 1)
    screen.wait("500 ms")
    click(screen, 2, 3)  # a process: folds
    screen.until(lambda shown: "main 100" not in shown, "folded process")
    click(screen, 30, 4, button=64)  # the wheel
    screen.keys("q")
    screen.wait("status=0")


def test_not_on_a_terminal_it_prints_the_summary(hprofiler, traces):
    done = subprocess.run([hprofiler, "view", str(traces / "app.hpt")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "saxpy" in done.stdout and "\033" not in done.stdout


def test_a_terminal_that_cannot_place_the_cursor_gets_the_summary(open_screen, hprofiler, traces):
    screen = open_screen(100, 50, TERM="dumb")
    screen.keys((f"{hprofiler} view --ui {traces / 'one.hpt'}",), "Enter")
    shown = screen.wait("no terminal UI here")
    assert screen.state("alternate_on") == "0", shown


def test_run_opens_it_afterwards(open_screen, hprofiler):
    screen = open_screen(100, 30)
    screen.keys((f"{hprofiler} run --no-summary -o a.hpt -- true; echo status=$?",), "Enter")
    screen.wait("? keys")
    screen.keys("q")
    screen.wait("status=0")
    screen.keys((f"clear; {hprofiler} run --no-ui --no-summary -o a.hpt -- false; echo status=$?",), "Enter")
    screen.wait("status=1")


def test_the_page_lists_the_keys(hprofiler):
    """docs/ui.md has the table of `view --help`, which is the UI's own."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/ui.md").read_text().split("\n## Keys\n")[1].split("\n## ")[0]
    text = subprocess.run([hprofiler, "view", "--help"], capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "200"}).stdout
    rows = re.findall(r"^  (\S.*?)\s+(Timeline|Flame Graph|Call Tree|Critical Path|lists|live run|everywhere) +(\S.*(?:\n {20,}\S.*)*)$", text.split("Keys of the terminal UI")[1], re.M)
    assert len(rows) > 40
    for keys, place, does in rows:
        names = " ".join(f"`{key}`" for key in keys.split())
        assert f"| {names} | {place} | {' '.join(does.split())} |" in page
    assert page.count("\n| `") == len(rows)
