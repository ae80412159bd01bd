# SPDX-License-Identifier: MIT
"""Two traces side by side: what does not differ is not said to differ."""
import csv
import pathlib
import shutil
import subprocess

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
    assert "not there before" not in picture and "points (no change)" in picture
    assert picture.count("points (no change)") == picture.count(" points")


@pytest.mark.parametrize("name", ["app.hpt", "calls.hpt", "before.hpt", "twins.hpt"])
def test_a_trace_against_itself_shows_no_difference(open_screen, hprofiler, traces, name):
    assert_same(*against_itself(open_screen(120, 40, NO_COLOR="1"), hprofiler, traces / name))


def test_a_recorded_trace_against_itself_shows_no_difference(open_screen, hprofiler, recorded):
    assert_same(*against_itself(open_screen(120, 40, NO_COLOR="1"), hprofiler, recorded))
