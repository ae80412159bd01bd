# SPDX-License-Identifier: MIT
"""No trace is lost by a careless command line, no empty one stands for what could not be traced, and one line says what was written."""
import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

from conftest import open_to_all

BUSY = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]


@pytest.fixture
def call(hprofiler, tmp_path):
    def run(*arguments, **how):
        how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60, "cwd": tmp_path, **how}
        return subprocess.run([hprofiler, *map(str, arguments)], **how)
    return run


@pytest.fixture
def trace(call, tmp_path):
    done = call("run", "--no-summary", "-o", "app.hpt", "--", *BUSY)
    assert done.returncode == 0, done.stderr
    return tmp_path / "app.hpt"


def news(done):
    return [line for line in done.stderr.splitlines() if "written" in line]


@pytest.mark.parametrize("names, missing", [("likwid", "likwid"), ("hwc", "likwid"), ("cpu,likwid", "likwid"), ("auto,likwid", "likwid")])
def test_a_backend_that_is_not_there_is_refused_before_anything_runs(call, tmp_path, names, missing):
    status = next(each for each in json.loads(call("backends", "--format", "json").stdout)["backends"] if each["name"] == missing)
    if status["available"]:
        pytest.skip(f"{missing} is available here")
    done = call("run", "-b", names, "--", "touch", "ran")
    assert done.returncode == 125 and f"backend '{missing}' is not available: {status['reason']}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_auto_takes_what_there_is(call):
    done = call("run", "-b", "auto", "--no-summary", "--", "true")
    assert done.returncode == 0 and news(done) == ["hprofiler: trace written to true.hprofiler.json"]


def test_an_earlier_trace_of_the_default_name_is_kept(call, tmp_path):
    assert call("run", "--no-summary", "--", "true").returncode == 0
    first = (tmp_path / "true.hprofiler.json").read_bytes()
    done = call("run", "--no-summary", "--", "true")
    assert news(done) == ["hprofiler: trace written to true.hprofiler.json; the earlier one is now true.hprofiler.json.old"]
    assert (tmp_path / "true.hprofiler.json.old").read_bytes() == first
    assert (tmp_path / "true.hprofiler.json").read_bytes() != first


def test_an_earlier_trace_that_can_not_be_kept_is_not_replaced(call, tmp_path):
    assert call("run", "--no-summary", "--", "true").returncode == 0
    first = (tmp_path / "true.hprofiler.json").read_bytes()
    (tmp_path / "true.hprofiler.json.old" / "folder").mkdir(parents=True)
    done = call("run", "--no-summary", "--session-dir", tmp_path, "--", "true")
    assert done.returncode == 125 and "can't be kept" in done.stderr and "hprofiler recover" in done.stderr
    assert (tmp_path / "true.hprofiler.json").read_bytes() == first


def test_a_named_output_is_replaced_and_that_is_said(call, tmp_path):
    for expected in ("hprofiler: trace written to x.hpt", "hprofiler: trace written to x.hpt (replaced)"):
        assert news(call("run", "--no-summary", "-o", "x.hpt", "--", "true")) == [expected]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.hpt"]


def test_an_export_onto_its_own_trace_is_refused(call, trace, tmp_path):
    before = trace.read_bytes()
    (tmp_path / "link.csv").symlink_to(trace)
    os.link(trace, tmp_path / "hard.csv")
    for output in ("app.hpt", "./app.hpt", "link.csv", "hard.csv"):
        done = call("export", "app.hpt", "--to", "csv", "-o", output)
        assert done.returncode == 2 and "is the trace itself" in done.stderr
    with open(trace, "ab") as out:
        done = call("export", "app.hpt", "--to", "csv", capture_output=False, stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 2 and "standard output" in done.stderr
    assert trace.read_bytes() == before


def test_an_export_to_a_file_says_what_was_written(call, trace, tmp_path):
    done = call("export", "app.hpt", "-o", "app.csv")
    lines = (tmp_path / "app.csv").read_text().splitlines()
    spans, samples = (sum(line.startswith(kind) for line in lines) for kind in ("span,", "sample,"))
    assert done.returncode == 0 and samples
    assert done.stderr == f"hprofiler: app.csv written from {spans:,} span{'s' * (spans != 1)} and {samples:,} sample{'s' * (samples != 1)}\n"
    assert call("export", "app.hpt", "--to", "csv").stderr == ""


def test_an_export_counts_what_the_filter_leaves(call, trace, tmp_path):
    done = call("export", "app.hpt", "-o", "app.csv", "--where", "kind=blocked")
    lines = (tmp_path / "app.csv").read_text().splitlines()
    spans, samples = (sum(line.startswith(kind) for line in lines) for kind in ("span,", "sample,"))
    assert f"from {spans:,} span" in done.stderr and f"and {samples:,} sample" in done.stderr


def test_an_ending_that_disagrees_with_the_format_is_warned_of(call, trace):
    done = call("export", "app.hpt", "--to", "csv", "-o", "x.html")
    assert done.returncode == 0 and "the ending of 'x.html' is that of flamegraph-html, but it is written as csv" in done.stderr
    for name, format in (("y.csv", "csv"), ("y.txt", "csv"), ("y.json", "speedscope"), ("y.hprofiler.json", "chrome")):
        assert "ending" not in call("export", "app.hpt", "--to", format, "-o", name).stderr


def test_a_filter_or_window_that_leaves_nothing_says_so(call, trace):
    for arguments, said in ((["--where", "name=no_such_function"], "matches --where: no function and no span is called 'no_such_function'"), (["--window", "1000000:"], "lies in --window")):
        done = call("export", "app.hpt", "--to", "csv", *arguments)
        assert done.returncode == 0 and f"no span and no sample of the trace {said}" in done.stderr
    done = call("summary", "app.hpt", "--where", "name=no_such_function", "--format", "csv")
    assert done.returncode == 0 and "nothing in the trace matches --where" in done.stderr
    assert "nothing" not in call("summary", "app.hpt").stderr


def test_recover_of_something_else_says_what_is_missing(call, trace, tmp_path):
    (tmp_path / "folder").mkdir()
    done = call("recover", "folder")
    assert done.returncode == 1 and done.stderr == "hprofiler recover: 'folder' is not a session directory (its header is missing)\n"
    assert "hprofiler summary" in call("recover", "app.hpt").stderr
    assert "No such file" in call("recover", "none").stderr
    assert (tmp_path / "folder").is_dir()


def test_a_recording_that_was_cut_off_is_listed_with_its_command_and_called_interrupted(call, hprofiler, tmp_path):
    process = subprocess.Popen([hprofiler, "run", "--session-dir", tmp_path, "--", "sh", "-c", "echo $$; exec sleep 60"], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    target = int(process.stdout.readline())
    time.sleep(0.3)
    process.kill()
    os.kill(target, signal.SIGKILL)
    process.wait()
    session = next(tmp_path.glob("hprofiler-*"))
    assert f"hprofiler recover {shlex.quote(str(session))}\n" in call("recover", "--session-dir", tmp_path).stdout
    done = call("recover", session, "-o", "saved.hpt")
    assert done.returncode == 0 and "interrupted" in done.stdout.splitlines()[0]
    assert "interrupted" in call("summary", "saved.hpt").stdout.splitlines()[0]
    call("run", "--no-summary", "-o", "whole.hpt", "--", "true")
    assert "interrupted" not in call("summary", "whole.hpt").stdout


def test_a_folder_that_may_not_be_looked_into_does_not_make_a_program_found(call, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "text").write_text("no program")
    (tmp_path / "plain").chmod(0o755)  # whatever the umask is
    locked.chmod(0)
    as_other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    open_to_all(tmp_path)
    path = f"{locked}:{tmp_path / 'plain'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TMPDIR": str(tmp_path)}
    try:
        missing = call("run", "-o", "/tmp/none.hpt", "--", "no-such-program", env=environment, **as_other)
        text = call("run", "-o", "/tmp/none.hpt", "--", "text", env=environment, **as_other)
    finally:
        locked.chmod(0o700)
    assert missing.returncode == 127 and "No such file" in missing.stderr
    assert text.returncode == 126 and "is it executable?" in text.stderr


def test_no_ui_yet_but_scripts_hold(call):
    done = call("run", "--ui", "--no-summary", "--", "true")
    assert done.returncode == 0 and "no terminal UI" in done.stderr
    done = call("run", "--no-ui", "--no-summary", "--", "true")
    assert done.returncode == 0 and "terminal UI" not in done.stderr
    assert re.search(r"--\[no-\]ui", call("help", "run").stdout)
