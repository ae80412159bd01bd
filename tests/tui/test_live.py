# SPDX-License-Identifier: MIT
"""A run that goes on, in the UI: tui_live_driver starts a real program on a pty; the test says which traces come when."""
import os
import pathlib
import re
import signal
import time

import pytest

SCREENS = pathlib.Path(__file__).resolve().parent / "screens_live"
MONO, ASCII = {"NO_COLOR": "1"}, {"NO_COLOR": "1", "LC_ALL": "C"}
WAITS = "echo ready; read line"


class Live:
    def __init__(self, screen, driver, program):
        self.screen, self.folder = screen, pathlib.Path(screen.socket).parent
        script = self.folder / "program"
        script.write_text(f"#!/bin/bash\n{program}\n")
        script.chmod(0o755)
        screen.keys((f"clear; {driver} . ./program",), "Enter")
        screen.wait("? keys" if screen.columns >= 60 else "1 ")

    def tell(self, name, content=""):
        """What the driver shall see, at once and whole."""
        (self.folder / "new").write_text(str(content))
        (self.folder / "new").rename(self.folder / name)

    def until_file(self, name):
        self.screen.until(lambda _: (self.folder / name).exists(), f"file {name}")
        return (self.folder / name).read_text()


@pytest.fixture(scope="session")
def driver(hprofiler):
    path = os.environ.get("HPROFILER_LIVE_DRIVER") or str(pathlib.Path(hprofiler).parents[1] / "tests/tui_live_driver")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built")
    return path


@pytest.fixture
def live(open_screen, driver):
    def start(program=WAITS, columns=80, rows=24, **environment):
        screen = open_screen(columns, rows, **(environment or MONO))
        screen.columns = columns
        return Live(screen, driver, program)
    return start


def test_resident_memory_of_a_recording_that_goes_on(open_screen, hprofiler):
    screen = open_screen(80, 70, **MONO)
    screen.keys((f"clear; {hprofiler} run --live -o live.hpt -- sleep 600",), "Enter")
    screen.wait("1 System")
    screen.keys("v", "1")  # hides what the program writes
    screen.until(lambda text: re.search(r"^ *sleep \d+ +last [\d.]+ [KM]iB, at most [\d.]+ [KM]iB$", text, re.M), "what is resident")
    assert "the program runs: this is what is recorded so far" in screen.capture()
    screen.keys("q")
    screen.until(lambda text: "System" not in text, "the program's terminal")
    screen.keys("C-c")
    screen.until(lambda text: text.rstrip().endswith("READY>"), "its end")


def bottom(shown):
    return shown.rstrip("\n").split("\n")[-1]


def title_line(shown):
    return shown.split("\n")[1]


def elapsed_s(shown):
    found = re.search(r"^ running ([\d.]+) s", bottom(shown))
    return float(found.group(1)) if found else 0


def age_s(shown):
    found = re.search(r"data ([\d.]+) s old", bottom(shown))
    return float(found.group(1)) if found else float("inf")


# --- traces that come --------------------------------------------------------------------------------------------------


def test_it_waits_for_data_and_shows_what_comes(live):
    run = live()
    shown = run.screen.wait("Waiting for the first data.")
    assert "no data yet" in bottom(shown) and "q leaves it running" in bottom(shown)
    run.tell("steps", 1)
    shown = run.screen.wait("step 0")
    assert "Waiting" not in shown
    run.tell("steps", 3)
    run.screen.wait("step 2")
    run.screen.until(lambda text: re.search(r"running [\d.]+ s, data [\d.]+ s old", bottom(text)), "state of the run")


def test_the_window_follows_the_end_until_one_zooms(live):
    run = live(columns=120)
    run.tell("steps", 2)
    run.screen.until(lambda text: bottom(text).endswith(" 199.00 ms"), "window of all")
    run.tell("steps", 4)
    run.screen.until(lambda text: bottom(text).endswith(" 399.00 ms"), "longer window")
    run.screen.keys("+")
    once = bottom(run.screen.until(lambda text: " from " in bottom(text), "zoomed window")).split()[-5:]
    run.screen.keys("+")
    window = bottom(run.screen.until(lambda text: bottom(text).split()[-5:] != once, "narrower window")).split()[-5:]
    told = time.monotonic()
    run.tell("steps", 5)
    run.screen.until(lambda text: age_s(text) < time.monotonic() - told - 0.1, "the newer trace")
    assert bottom(run.screen.capture()).split()[-5:] == window
    run.screen.keys("r")
    run.screen.until(lambda text: bottom(text).endswith(" 499.00 ms"), "window of all")


def test_a_call_that_has_not_ended_is_shown_and_time_goes_on(live):
    run = live(columns=120)
    run.tell("waits", 260)
    run.tell("now", 400)
    run.tell("steps", 2)
    run.screen.until(lambda text: "MPI_Recv, not ended" in text and bottom(text).endswith(" 400.00 ms"), "the open call")
    run.tell("now", 1000)  # nothing new is known
    shown = run.screen.until(lambda text: bottom(text).endswith(" 1.000 s"), "the time that went on")
    lane = next(line for line in shown.splitlines() if "MPI_Recv" in line)
    assert lane.endswith("▶") and len(lane) == 120
    run.screen.keys("j", ".", ".")
    run.screen.wait("takes 740.00 ms so far: it has not ended")
    run.tell("now", 1260)
    run.screen.wait("takes 1.000 s so far: it has not ended")
    run.screen.keys("+")
    window = bottom(run.screen.until(lambda text: " from " in bottom(text), "zoomed window")).split()[-5:]
    run.tell("now", 2000)
    run.screen.wait("takes 1.740 s so far")
    assert bottom(run.screen.capture()).split()[-5:] == window
    run.tell("waits", 0)
    run.tell("steps", 5)
    run.screen.keys("r")
    run.screen.until(lambda text: "not ended" not in text and bottom(text).endswith(" 2.000 s"), "the end of the call")


def test_what_one_chose_stays(live):
    run = live(columns=120, rows=40)
    run.tell("steps", 3)
    run.screen.wait("step 2")
    run.screen.keys("d", ".")  # the timeline: 12 levels, a span
    run.screen.until(lambda text: text.count("step 1") > 1, "details of a span")
    run.screen.keys("6", "Down", "Down", "Down", "Right", "Space")  # the flame graph: zoomed into `solve`
    run.screen.until(lambda text: re.search(r"^ solve +75\.00 ms", text, re.M), "zoomed flame graph")
    run.screen.keys("5", "c", "Down")  # the call tree: all closed
    run.screen.keys("4")  # hotspots: sorted by another column
    titles = title_line(run.screen.wait("category"))
    for _ in range(3):
        run.screen.keys("s")
        titles = title_line(run.screen.until(lambda text, before=titles: title_line(text) != before, "another order"))
    run.screen.keys("/", ("mult",), "Enter")
    run.screen.until(lambda text: "/mult" in bottom(text), "what is looked for")
    run.tell("steps", 4)
    shown = run.screen.until(lambda text: "150.00" in text, "the newer trace")
    assert title_line(shown) == titles and "/mult" in bottom(shown)
    run.screen.keys("6")
    run.screen.until(lambda text: re.search(r"^ solve +150\.00 ms", text, re.M), "the same frame, with more time")
    assert "assemble" not in run.screen.capture()
    run.screen.keys("3")
    run.screen.until(lambda text: "step 3" in text and text.count("step 1") > 1, "details of the same span")


def test_flame_graph_keeps_its_order(live):
    """`assemble` has most of the time at first, `solve` in the end: their places do not change."""
    run = live(columns=100, rows=30)
    run.tell("steps", 2)
    run.screen.keys("6")
    run.screen.until(lambda text: re.search(r"assemble.*solve", text), "flame graph")
    run.tell("steps", 9)
    run.screen.until(lambda text: re.search(r" 900\.00 ms", text), "newer flame graph")
    assert re.search(r"assemble.*solve", run.screen.capture())


def test_pausing(live):
    run = live()
    run.tell("steps", 1)
    run.screen.wait("step 0")
    run.screen.keys("p")
    run.screen.wait("paused")
    run.tell("steps", 2)
    run.screen.keys("4")
    run.screen.wait("Functions")
    run.screen.keys("3")
    began = elapsed_s(run.screen.wait("step 0"))
    assert "step 1" not in run.screen.until(lambda text: elapsed_s(text) > began + 1, "a later time")
    run.screen.keys("p")
    run.screen.wait("step 1")


# --- how it ends -------------------------------------------------------------------------------------------------------


def test_the_end_of_the_program(live):
    run = live("read line; exit 3")
    run.tell("steps", 1)
    run.screen.wait("step 0")
    run.screen.keys("C-]", "Enter")
    run.screen.wait("ended with status 3; making the whole trace")
    run.tell("steps", 2)
    run.tell("whole")
    assert "step 1" in run.screen.wait("ended with status 3, the whole trace")
    run.screen.keys("q")
    run.screen.wait("left, it had ended")


def test_no_data_any_more(live):
    run = live("exit 0")
    run.tell("failed")
    run.screen.wait("There will be no data.")
    run.screen.wait("no more data: the disk is full")


def test_leaving_lets_it_go_on(live):
    run = live("until test -e go; do sleep 0.05; done; exit 0")
    run.tell("steps", 1)
    run.screen.wait("step 0")
    run.screen.keys("q")
    run.screen.wait("left, it runs")
    run.tell("go")
    run.screen.wait("the program's status is 0")


def test_ending_the_program_asks_first(live):
    run = live("trap 'echo asked nicely' INT; while :; do sleep 0.05; done")
    run.screen.keys("K")
    run.screen.wait("end the program, as Ctrl-C would?")
    run.screen.keys("n")
    run.screen.until(lambda text: "running" in bottom(text), "going on")
    run.screen.keys("K", "y")
    run.screen.wait("asked nicely")
    run.screen.keys("K")
    run.screen.wait("kill the program at once?")
    run.screen.keys("y")
    run.screen.wait(f"ended by signal {int(signal.SIGKILL)}")


def test_the_run_can_close_it(live):
    run = live()
    run.tell("close")
    run.screen.wait("left, it runs")


# --- the program's terminal --------------------------------------------------------------------------------------------


def test_the_pane_is_shown_hidden_and_enlarged(live):
    run = live("echo one line; read line", rows=30)
    run.screen.wait("one line")
    run.screen.keys("v")
    run.screen.until(lambda text: "one line" not in text, "hidden pane")
    run.screen.keys("v")
    run.screen.wait("one line")
    run.screen.keys("V")
    shown = run.screen.until(lambda text: "Waiting" not in text and "V smaller" in text, "large pane")
    assert shown.split("\n")[2].startswith("one line")
    run.screen.keys("Escape")
    run.screen.wait("Waiting")


def test_the_keyboard_is_given_and_taken_back(live):
    run = live('read -p "name? " name; echo "hello $name"; trap "echo interrupted" INT; read line; sleep 600')
    run.screen.wait("name?")
    run.screen.keys("C-]")
    run.screen.wait("the keyboard is the program's")
    run.screen.keys(("qKv",), "BSpace", "Enter")
    run.screen.wait("hello qK")
    run.screen.keys("C-c")
    run.screen.wait("interrupted")
    run.screen.keys("C-]")
    run.screen.until(lambda text: "types into it" in text, "keyboard taken back")
    run.screen.keys("q")
    run.screen.wait("left, it runs")


def test_the_program_has_the_size_of_the_pane(live):
    run = live("trap 'stty size > size.new; mv size.new size' WINCH; while :; do stty size; sleep 0.1; done", rows=24)
    run.screen.wait("7 80")
    run.screen.tmux("resize-window", "-x", "100", "-y", "44")
    run.screen.until(lambda _: (run.folder / "size").exists() and (run.folder / "size").read_text() == "15 100\n", "new size")
    run.screen.keys("V")
    run.screen.until(lambda _: (run.folder / "size").read_text() == "41 100\n", "size of the large pane")


def test_it_never_blocks_the_program(live):
    run = live("sleep 0.2; head -c 500000 /dev/zero | tr '\\0' x | fold; touch written; read line")
    run.screen.keys("v")
    run.until_file("written")
    run.screen.keys("?")
    run.screen.wait("Keys in Timeline")


def test_scrolling_back(live):
    run = live("seq 1 9000; echo end; read line", rows=30)
    run.screen.until(lambda text: re.search("^end$", text, re.M), "the last line")
    run.screen.keys("V")
    run.screen.wait("V smaller")
    run.screen.keys("PPage")
    shown = run.screen.wait("lines back")
    assert not re.search("^(end|9000)$", shown, re.M) and "\n8970\n" in shown
    run.screen.keys("Home")
    run.screen.until(lambda text: re.search(r"^ .*\b(49\d\d|50\d\d) lines back", text, re.M), "the oldest line that is kept")
    run.screen.keys("End")
    run.screen.until(lambda text: re.search("^end$", text, re.M), "the newest line")


def test_control_sequences_stay_in_the_pane(live):
    run = live(r"printf '\033[5;40Hright\033]0;title\007 \033[?1049h\033[2J\033[Hother screen\033[31m red\033[0m'; read line")
    run.screen.wait("other screen red")
    run.tell("steps", 1)
    shown = run.screen.wait("step 0")
    assert "other screen red" in shown and "1 System" in shown and "title" not in run.screen.state("pane_title")


def test_colours_of_the_program(live):
    run = live(r"printf '\033[31mred\033[0m \033[1;44mblue\033[0m\n'; read line", TERM="xterm-256color")
    run.screen.until(lambda text: re.search(r"\x1b\[31m(\x1b\[[0-9;]*m)*red", text) and re.search(r"\x1b\[44m(\x1b\[[0-9;]*m)*blue", text), "colours", colours=True)


def test_resizing_while_it_runs(live):
    run = live("i=0; while :; do echo line $((i++)); sleep 0.01; done")
    run.tell("steps", 2)
    run.screen.wait("step 1")
    for columns, rows in ((200, 50), (20, 5), (80, 24), (10, 3), (40, 9), (120, 40), (81, 25)):
        run.screen.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        run.screen.keys("V", "6", "v", "3", "v")
    shown = run.screen.until(lambda text: "step 1" in text and "q leaves it running" in text, "drawn screen")
    assert max(len(line) for line in shown.split("\n")) <= 81
    run.screen.keys("q")
    run.screen.wait("left, it runs")


# --- with the recorder -------------------------------------------------------------------------------------------------


def test_a_real_run(open_screen, hprofiler):
    """From the first sample to the whole trace, with a program that asks for something."""
    screen = open_screen(100, 30, **MONO)
    program = pathlib.Path(screen.socket).parent / "program"
    program.write_text("#!/bin/bash\nread -p 'how far? ' far\nfor ((i = 0; i < far; i++)); do :; done\necho counted to $far\nread line\nexit 3\n")
    program.chmod(0o755)
    screen.keys((f"clear; {hprofiler} run --live --no-summary -o run.hpt -- ./program; echo status=$?",), "Enter")
    screen.wait("how far?")
    screen.keys("C-]", ("20000",), "Enter")
    screen.wait("counted to 20000")
    screen.until(lambda text: "Waiting" not in text and re.search(r"data [\d.]+ s old", bottom(text)), "data of the run")
    screen.keys("Enter")
    screen.wait("ended with status 3, the whole trace")
    screen.wait("program")
    screen.keys("5")
    screen.wait("no stacks were recorded: callers are unknown (--perf-callgraph)")
    screen.keys("6")
    screen.wait("100.0 %; no stacks were recorded: callers are unknown (--perf-callgraph)")
    screen.keys("q")
    screen.wait("status=3")


# --- as it looks -------------------------------------------------------------------------------------------------------

SCENES = {
    "waiting-ascii": (ASCII, 0, []),
    "timeline-ascii": (ASCII, 3, []),
    "flame-ascii": (ASCII, 3, ["6"]),
    "flame": (MONO, 3, ["6"]),
    "keyboard": (MONO, 3, ["4", "C-]"]),
    "large": (MONO, 3, ["V"]),
    "asked": (MONO, 3, ["K"]),
    "help": (MONO, 3, ["?"]),
}


def clean(shown):
    lines = [line.rstrip() for line in shown.split("\n")]
    return re.sub(r"^ running [^?q]*", " STATE ", "\n".join(lines).rstrip("\n") + "\n", flags=re.M)


@pytest.mark.parametrize("name", SCENES)
def test_screen(live, name):
    environment, steps, keys = SCENES[name]
    run = live("printf 'reading input\\nstep 1 of 8\\nstep 2 of 8\\n'; read line", **environment)
    if steps:
        run.tell("steps", steps)
        run.screen.wait("step 2 ")
        run.screen.wait("|step 2" if environment is ASCII else "▏step 2")
    run.screen.keys(*keys)
    path = SCREENS / f"{name}.txt"
    if os.environ.get("HP_REWRITE_SCREENS"):
        time.sleep(1)
        path.write_text(clean(run.screen.capture()), encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8")
    run.screen.until(lambda shown: clean(shown) == expected, f"screen as in {path.name}, which is\n{expected}\n")


def test_every_scene_has_its_screen():
    assert {path.stem for path in SCREENS.glob("*.txt")} == set(SCENES)
