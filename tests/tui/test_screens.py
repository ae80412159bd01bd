# SPDX-License-Identifier: MIT
"""What the UI shows after these keys. HP_REWRITE_SCREENS=1 writes the expected screens anew: look at what changed."""
import os
import pathlib
import re
import shlex
import subprocess

import pytest

SCREENS = pathlib.Path(__file__).resolve().parent / "screens"
MONO, ASCII = {"NO_COLOR": "1"}, {"NO_COLOR": "1", "LC_ALL": "C"}

# name: trace, size, environment, keys. A tuple is typed as it is.
SCENES = {
    "system": ("app.hpt", (80, 24), MONO, ["1"]),
    "profile": ("app.hpt", (80, 24), MONO, ["2"]),
    "profile-why": ("app.hpt", (100, 30), MONO, ["2", "End"]),
    "advice-to-timeline": ("app.hpt", (120, 40), MONO, ["2", "Enter"]),
    "advice-to-hotspots": ("app.hpt", (120, 40), MONO, ["2", "Down", "Enter"]),
    "timeline": ("app.hpt", (80, 24), MONO, []),
    "timeline-wide": ("app.hpt", (200, 50), MONO, []),
    "timeline-ascii": ("app.hpt", (80, 24), ASCII, []),
    "timeline-colours": ("app.hpt", (80, 24), {}, []),
    "timeline-light": ("app.hpt", (80, 24), {"HPROFILER_THEME": "light"}, []),
    "timeline-16-colours": ("app.hpt", (80, 24), {"TERM": "screen"}, []),
    "timeline-24-bit": ("app.hpt", (80, 24), {"COLORTERM": "truecolor", "TERM": "xterm-256color"}, []),
    "timeline-zoomed": ("app.hpt", (100, 30), MONO, ["+", "+", "+", "Left", "h", "Right"]),
    "timeline-selected": ("app.hpt", (120, 40), MONO, ["+", "+", ".", ".", ".", ","]),
    "timeline-outer": ("app.hpt", (120, 40), MONO, ["+", "+", ".", ".", "o"]),
    "timeline-fitted": ("app.hpt", (120, 40), MONO, ["+", "+", ".", ".", "z", "i"]),
    "timeline-measured": ("app.hpt", (120, 40), MONO, [".", "m", ".", ".", ".", "m"]),
    "timeline-folded": ("app.hpt", (80, 24), MONO, ["Space"]),
    "timeline-all-folded": ("app.hpt", (80, 24), MONO, ["c"]),
    "timeline-flat": ("app.hpt", (80, 24), MONO, ["d", "d"]),
    "timeline-busiest": ("app.hpt", (80, 24), MONO, ["s"]),
    "timeline-idle-hidden": ("app.hpt", (100, 30), MONO, ["+", "+", "+", "+", "+", "+", "+", "H"]),
    "timeline-idle-shown": ("app.hpt", (100, 30), MONO, ["+", "+", "+", "+", "+", "+", "+", "H", "H"]),
    "ten-thousand-lanes-idle": ("lanes.hpt", (80, 24), MONO, ["+", "+", "+", "H"]),
    "timeline-idle-found": ("app.hpt", (100, 30), MONO, ["+", "+", "+", "+", "+", "+", "+", "H", "/", ("saxpy",), "Enter"]),
    "timeline-search": ("app.hpt", (120, 40), {}, ["/", ("saxpy",), "Enter", "n", "n", "N"]),
    "timeline-filter": ("app.hpt", (120, 40), {}, ["f", ("kind=kernel",), "Enter"]),
    "timeline-link": ("app.hpt", (140, 40), {}, ["/", ("saxpy",), "Enter", "+", "+"]),
    "wrong-filter": ("app.hpt", (80, 24), MONO, ["f", ("nonsense",), "Enter"]),
    "wrong-search": ("app.hpt", (80, 24), MONO, ["/", ("(",), "Enter"]),
    "typing": ("app.hpt", (80, 24), MONO, ["/", ("abcd",), "BSpace", "BSpace"]),
    "hotspots": ("app.hpt", (80, 24), MONO, ["4"]),
    "hotspots-wide": ("app.hpt", (200, 50), {}, ["4"]),
    "hotspots-sorted": ("app.hpt", (120, 40), MONO, ["4", "s", "s", "s", "S"]),
    "hotspots-search": ("app.hpt", (120, 40), {}, ["4", "/", ("mpi",), "Enter", "n"]),
    "hotspots-window": ("app.hpt", (120, 40), MONO, ["+", "+", "+", "4"]),
    "hotspots-filter": ("app.hpt", (120, 40), MONO, ["4", "f", ("rank=1",), "Enter"]),
    "hotspot-to-timeline": ("app.hpt", (120, 40), MONO, ["4", "/", ("MPI_Recv",), "Enter", "Enter"]),
    "and-back": ("app.hpt", (120, 40), MONO, ["4", "/", ("MPI_Recv",), "Enter", "Enter", "b"]),
    "hotspot-to-call-tree": ("app.hpt", (120, 40), MONO, ["4", "/", ("^exp",), "Enter", "Enter"]),
    "call-tree": ("app.hpt", (80, 24), MONO, ["5"]),
    "call-tree-bottom-up": ("app.hpt", (120, 40), {}, ["5", "u", "Right", "Right"]),
    "call-tree-closed": ("app.hpt", (80, 24), MONO, ["5", "c", "Space", "Down"]),
    "flame": ("app.hpt", (80, 24), {}, ["6"]),
    "flame-ascii": ("app.hpt", (80, 24), ASCII, ["6"]),
    "flame-zoomed": ("app.hpt", (120, 40), {}, ["6", "Down", "Down", "Down", "Space", "Down"]),
    "flame-zoomed-out": ("app.hpt", (120, 40), MONO, ["6", "Down", "Down", "Down", "Space", "Down", "BSpace"]),
    "flame-search": ("app.hpt", (120, 40), {}, ["6", "/", ("exp",), "Enter"]),
    "flame-bottom-up": ("app.hpt", (120, 40), MONO, ["6", "u", "Down", "Right"]),
    "calls": ("calls.hpt", (80, 24), MONO, ["5"]),
    "calls-counted": ("calls.hpt", (120, 40), MONO, ["5", "m"]),
    "calls-device-time": ("calls.hpt", (120, 40), {}, ["5", "m", "m", "u"]),
    "calls-flame": ("calls.hpt", (120, 40), {}, ["6"]),
    "call-to-its-stack": ("calls.hpt", (120, 40), MONO, ["4", "/", ("MPI_Recv",), "Enter", "Enter", "Enter"]),
    "kernel-to-its-stack": ("calls.hpt", (120, 40), MONO, ["/", ("saxpy",), "Enter", "Enter"]),
    "no-calls": ("app.hpt", (80, 24), MONO, ["5", "m"]),
    "flame-against": ("app.hpt --against FOLDER/before.hpt", (120, 40), {}, ["Down", "Down", "Down"]),
    "flame-against-ascii": ("app.hpt --against FOLDER/before.hpt", (80, 24), ASCII, ["Down", "Down", "Down"]),
    "flame-before": ("app.hpt --against FOLDER/before.hpt", (120, 40), {}, ["D", "/", ("check",), "Enter"]),
    "flame-plain-again": ("app.hpt --against FOLDER/before.hpt", (80, 24), MONO, ["Down", "Down", "D", "D"]),
    "path": ("app.hpt", (120, 40), MONO, ["7"]),
    "path-blame": ("app.hpt", (120, 40), MONO, ["7", "/", ("waited for",), "Enter", "n"]),
    "path-narrow": ("app.hpt", (80, 24), MONO, ["7", "Down", "Down", "Down"]),
    "path-to-timeline": ("app.hpt", (120, 40), MONO, ["7", "/", ("MPI_Wait",), "Enter", "Enter"]),
    "path-code-to-timeline": ("app.hpt", (120, 40), MONO, ["7", "/", ("[(]code[)]",), "Enter", "Enter"]),
    "path-function": ("app.hpt", (120, 40), MONO, ["7", "/", ("cpu smooth",), "Enter", "Enter"]),
    "timeline-to-path": ("app.hpt", (120, 40), MONO, ["/", ("MPI_Init",), "Enter", "P"]),
    "search-in-a-long-name": ("app.hpt", (120, 40), MONO, ["4", "/", ("::push",), "Enter"]),
    "timeline-with-path": ("app.hpt", (120, 40), {}, ["7", "3"]),
    "help": ("app.hpt", (80, 24), MONO, ["?"]),
    "help-further": ("app.hpt", (80, 24), MONO, ["?", "Down", "Down", "PageDown"]),
    "help-marks": ("app.hpt", (120, 60), MONO, ["?"]),
    "help-flame": ("app.hpt", (120, 60), {}, ["6", "?"]),
    "empty": ("empty.hpt", (80, 24), MONO, []),
    "empty-hotspots": ("empty.hpt", (80, 24), MONO, ["4"]),
    "empty-flame": ("empty.hpt", (80, 24), MONO, ["6"]),
    "empty-path": ("empty.hpt", (80, 24), MONO, ["7"]),
    "one-span": ("one.hpt", (80, 24), MONO, ["."]),
    "ten-thousand-lanes": ("lanes.hpt", (80, 24), MONO, []),
    "ten-thousand-lanes-end": ("lanes.hpt", (80, 24), MONO, ["G"]),
    "long-program-name": ("ranks.hpt", (80, 24), MONO, []),
    "odd-names": ("names.hpt", (80, 24), MONO, ["Down"]),
    "odd-names-ascii": ("names.hpt", (80, 24), ASCII, ["Down"]),
    "odd-names-hotspots": ("names.hpt", (80, 24), MONO, ["4"]),
    "odd-name-selected": ("names.hpt", (80, 30), MONO, [".", "Down", "."]),
}


def attributes(state, codes):
    """What SGR codes make of a state: {"text": ..., "fill": ..., and attributes}."""
    codes = [code or "0" for code in codes.replace(":", ";").split(";")]
    while codes:
        code = codes.pop(0)
        if code == "0":
            state.clear()
        elif code in ("38", "48"):
            count = 2 if codes[0] == "5" else 4
            state["text" if code == "38" else "fill"] = ";".join([code, *codes[:count]])
            del codes[:count]
        elif code in ("39", "49"):
            state.pop("text" if code == "39" else "fill", None)
        elif re.fullmatch("[39][0-7]", code):
            state["text"] = code
        elif re.fullmatch("4[0-7]|10[0-7]", code):
            state["fill"] = code
        else:
            state[code] = code
    return state


def same_way(screen):
    """One of the many ways to write the same colours: blanks have no colour of text, and codes stand where something changes."""
    out, state, written = [], {}, ""
    for piece in re.split(r"(\x1b\[[0-9;:]*m|\n| +)", screen):
        match = re.fullmatch(r"\x1b\[([0-9;:]*)m", piece)
        if match:
            attributes(state, match.group(1))
            continue
        seen = {key: code for key, code in state.items() if piece.strip() or key in ("fill", "4", "7")} if piece != "\n" else {}
        codes = ";".join(sorted(seen.values()))
        if piece and codes != written:
            out.append(f"\x1b[{'0;' + codes if codes else '0'}m")
            written = codes
        out.append(piece)
    return "".join(out)


def clean(screen, traces):
    lines = [line.rstrip() for line in same_way(screen).replace(str(traces), "FOLDER").split("\n")]
    return "\n".join(lines).rstrip("\n") + "\n"


@pytest.mark.parametrize("name", SCENES)
def test_screen(view, traces, name):
    trace, size, environment, keys = SCENES[name]
    colours = "NO_COLOR" not in environment
    path = SCREENS / f"{name}.txt"
    screen = view(trace, *size, **environment)
    screen.keys(*keys)
    if os.environ.get("HP_REWRITE_SCREENS"):
        path.write_text(clean(screen.settle(colours), traces), encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8")
    screen.until(lambda shown: clean(shown, traces) == expected, f"screen as in {path.name}, which is\n{expected}\n", colours)


def test_every_scene_has_its_screen_and_none_is_left_over():
    assert {path.stem for path in SCREENS.glob("*.txt")} == set(SCENES)


def test_a_growing_trace_is_followed(open_screen, hprofiler, make_traces, tmp_path):
    grower = subprocess.Popen([make_traces, str(tmp_path), "grow"])
    try:
        screen = open_screen(80, 24, **MONO)
        growing = shlex.quote(f"{tmp_path}/growing.hpt")
        screen.keys((f"until test -s {growing}; do sleep 0.1; done; {hprofiler} view {growing}",), "Enter")
        screen.wait("first")
        (tmp_path / "go").touch()
        assert "first" in screen.wait("second")
    finally:
        grower.kill()
        grower.wait()
