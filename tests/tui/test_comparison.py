# SPDX-License-Identifier: MIT
"""Two traces side by side: what does not differ is not said to differ."""
import csv
import pathlib
import shutil
import subprocess
import xml.etree.ElementTree

import pytest


@pytest.fixture(scope="module")
def recorded(hprofiler, tmp_path_factory):
    """Samples of many short programs: stacks whose first frames have the same name, of the loader and of the program."""
    path = tmp_path_factory.mktemp("compared") / "recorded.hpt"
    loop = "i=0; while [ $i -lt 25 ]; do env true; i=$((i+1)); done; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    done = subprocess.run([hprofiler, "run", "--no-ui", "--no-summary", "--perf-callgraph", "dwarf", "--perf-freq", "2000", "-o", path, "--", "sh", "-c", loop],
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    tables = subprocess.run([hprofiler, "summary", path, "--format", "json"], capture_output=True, text=True, timeout=60).stdout
    if "_start" not in tables and "main" not in tables:
        pytest.skip(f"no samples with names could be taken here: {done.stderr[-400:]}")
    return path


def against_itself(screen, hprofiler, path):
    """What the flame graph of a trace against itself has in its rows and in its picture."""
    folder = pathlib.Path(screen.socket).parent
    shutil.copy(path, folder / "same.hpt")
    screen.keys((f"clear; {hprofiler} view same.hpt --against same.hpt",), "Enter")
    screen.wait("against same.hpt")
    for name in ("same.csv", "same.svg"):
        screen.keys("e", (name,), "Enter")
        screen.wait(f"written to {name}")
    with (folder / "same.csv").open(newline="") as file:
        return list(csv.DictReader(file)), (folder / "same.svg").read_text()


def assert_same(rows, picture):
    assert len(rows) > 3
    for row in rows:
        assert row["part_before"] == row["part_now"], row
        assert row["total_before_ns"] == row["total_now_ns"], row
    assert "; not there before" not in picture and "points (no change)" in picture
    assert picture.count("points (no change)") == picture.count(" points")


@pytest.mark.parametrize("name", ["app.hpt", "calls.hpt", "before.hpt", "twins.hpt"])
def test_a_trace_against_itself_shows_no_difference(open_screen, hprofiler, traces, name):
    assert_same(*against_itself(open_screen(120, 40, NO_COLOR="1"), hprofiler, traces / name))


def test_a_recorded_trace_against_itself_shows_no_difference(open_screen, hprofiler, recorded):
    assert_same(*against_itself(open_screen(120, 40, NO_COLOR="1"), hprofiler, recorded))


def texts_of(path):
    return [element.text for element in xml.etree.ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_what_is_exported_names_both_traces_and_says_what_signs_mean(view, traces):
    screen = view("app.hpt --against FOLDER/before.hpt", 120, 40, NO_COLOR="1")
    folder = pathlib.Path(screen.socket).parent
    screen.keys("e", ("now.svg",), "Enter")
    screen.wait("written to now.svg")
    shown = texts_of(folder / "now.svg")
    for text in ("app.hpt against before.hpt", "+ a larger part than before", "- a smaller part than before", "++ not there before", "no change"):
        assert text in shown, shown
    screen.keys("e", ("now.txt",), "Enter")
    screen.wait("written to now.txt")
    assert "against before.hpt  +more -less ++new same" in (folder / "now.txt").read_text()
    screen.keys("D", "e", ("then.svg",), "Enter")
    screen.wait("written to then.svg")
    shown = texts_of(folder / "then.svg")
    for text in ("as it was in before.hpt, against app.hpt", "+ a larger part now", "- a smaller part now", "-- gone now", "no change"):
        assert text in shown, shown
    screen.keys("D", "e", ("plain.svg",), "Enter")
    screen.wait("written to plain.svg")
    assert not any("before" in text for text in texts_of(folder / "plain.svg"))
