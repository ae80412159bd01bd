# SPDX-License-Identifier: MIT
"""`run` and what can be done with its trace: summary in three formats, view, export, query, recover; failures that keep the data."""
import csv
import io
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

FUNCTION_KEYS = ["source", "name", "category", "module", "count", "total_ns", "self_ns", "min_ns", "max_ns", "percent"]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("summary")


def run(hprofiler, *arguments, cwd, **how):
    how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60, **how}
    return subprocess.run([hprofiler, *map(str, arguments)], cwd=cwd, **how)


@pytest.fixture(scope="module")
def demo(hprofiler):
    path = pathlib.Path(hprofiler).parents[1] / "examples/demo"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


def record_demo(hprofiler, demo, folder):
    """The example under `run`, with stacks: its own measurement, and the trace."""
    done = run(hprofiler, "run", "--perf-callgraph", "dwarf", "--", demo, cwd=folder)
    assert done.returncode == 0, done.stderr
    own = {name: float(share) for share, name in re.findall(r"([\d.]+) %  (\w+) +\(result", done.stdout)}
    assert len(own) == 3
    return done, own, folder / "demo.hprofiler.json"


@pytest.fixture(scope="module")
def recorded(hprofiler, demo, work):
    return record_demo(hprofiler, demo, work)


def summary(hprofiler, trace, *arguments):
    done = run(hprofiler, "summary", trace, "--format", "json", *arguments, cwd=trace.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_run_prints_target_output_then_summary_and_names_the_trace(recorded):
    done, _, trace = recorded
    assert done.stdout.startswith("The program's own measurement")
    assert "\nFunctions  in " in done.stdout and "\nCallers  in " in done.stdout and "\nLedger" in done.stdout and "own cost" in done.stdout
    assert f"trace written to {trace.name}" in done.stderr
    assert trace.exists()


def far_off(hprofiler, recorded):
    """Functions whose share is not the program's own: (name, found, its own, how far they may be apart)."""
    _, own, trace = recorded
    functions = {function["name"]: function for function in summary(hprofiler, trace)["functions"] if function["source"] == "samples"}
    samples = sum(function["count"] for function in functions.values() if function["self_ns"])
    rows = []
    for name, share in own.items():
        # Three standard deviations of a share among n samples, and a percent for what the program's own clock leaves out.
        bound = 1 + 300 * (share / 100 * (1 - share / 100) / max(samples, 1)) ** 0.5
        found = 100 * functions[name]["total_ns"] / sum(f["self_ns"] for f in functions.values())
        rows += [(name, found, share, bound)] if abs(found - share) >= bound else []
    return rows


def test_shares_agree_with_the_programs_own_measurement(hprofiler, recorded, demo, tmp_path, measured):
    """One of a hundred recordings of three functions is outside by chance, so that more than one is asked."""
    wrong = far_off(hprofiler, recorded)
    for number in range(2):
        if not wrong:
            break
        (tmp_path / str(number)).mkdir()
        wrong = far_off(hprofiler, record_demo(hprofiler, demo, tmp_path / str(number)))
    assert not wrong


def test_json_is_the_contract(hprofiler, recorded):
    result = summary(hprofiler, recorded[2])
    assert result["exit_status"] == 0
    for key in ("duration_ns", "overhead_ns"):
        assert type(result[key]) is int and result[key] > 0
    assert result["functions"] and result["ledger"] and result["processes"]
    for function in result["functions"]:
        assert list(function) == FUNCTION_KEYS + ["callers"]
        assert sum(caller["self_ns"] for caller in function["callers"]) <= function["self_ns"]
        assert function["source"] in ("samples", "spans")
        for key in ("count", "total_ns", "self_ns"):
            assert type(function[key]) is int
        assert function["self_ns"] <= function["total_ns"]
        if function["source"] == "samples":
            assert function["min_ns"] is None and function["max_ns"] is None
    for entry in result["ledger"]:
        assert list(entry) == ["source", "seen", "recorded", "lost", "reason"]
    samples = next(entry for entry in result["ledger"] if entry["source"] == "cpu samples")
    assert samples["recorded"] == result["sampling"]["samples"]
    assert sum(function["percent"] for function in result["functions"] if function["source"] == "samples") == pytest.approx(100, abs=0.1)
    names = {thread["name"] for thread in result["threads"]}
    assert {"demo", "solver-0", "solver-1", "painter"} <= names


def test_callers_say_who_calls_the_hot_function(hprofiler, recorded):
    functions = {function["name"]: function for function in summary(hprofiler, recorded[2])["functions"] if function["source"] == "samples"}
    for name, caller in (("image_smooth", "paint"), ("is_attacked", "place_queens"), ("digest", "main")):
        assert functions[name]["callers"][0]["name"] == caller
        assert functions[name]["callers"][0]["self_ns"] > 0.9 * functions[name]["self_ns"]
    text = recorded[0].stdout
    assert re.search(r"^ +[\d.]+ +[\d.]+  image_smooth +paint$", text, re.M)
    callers = text[text.index("\nCallers  in "):text.index("\nModules")]
    assert "place_queens" in callers and not re.search(r" (_start|clone3?|start_thread|__libc_start\w*)$", callers, re.M)


def test_csv_has_the_same_rows(hprofiler, recorded):
    trace = recorded[2]
    functions = summary(hprofiler, trace)["functions"]
    done = run(hprofiler, "summary", trace, "--format", "csv", cwd=trace.parent)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == FUNCTION_KEYS
    assert [row["name"] for row in rows] == [function["name"] for function in functions]
    assert [int(row["self_ns"]) for row in rows] == [function["self_ns"] for function in functions]
    assert all(row["min_ns"] == "" for row in rows if row["source"] == "samples")


def test_top_limits_each_source(hprofiler, recorded):
    result = summary(hprofiler, recorded[2], "--top", "2")
    assert sum(function["source"] == "samples" for function in result["functions"]) == 2
    done = run(hprofiler, "summary", recorded[2], "--top", "1", cwd=recorded[2].parent)
    assert re.search(r"\d+ more functions \(--top 0 shows all\)", done.stdout)


def test_where_picks_threads_and_names(hprofiler, recorded):
    trace = recorded[2]
    painter = summary(hprofiler, trace, "--where", "thread=painter")
    assert {thread["name"] for thread in painter["threads"]} == {"painter"}
    assert painter["functions"][0]["name"] == "image_smooth"
    assert painter["sampling"]["samples"] < summary(hprofiler, trace)["sampling"]["samples"]
    nothing = run(hprofiler, "summary", trace, "--where", "thread=nobody", cwd=trace.parent)
    assert nothing.returncode == 0 and "Nothing in the trace matches" in nothing.stdout
    assert "no thread has the name or number 'nobody'" in nothing.stderr
    wrong = run(hprofiler, "summary", trace, "--where", "tread=x", cwd=trace.parent)
    assert wrong.returncode == 2 and "thread" in wrong.stderr


def test_view_shows_the_summary(hprofiler, recorded):
    trace = recorded[2]
    assert run(hprofiler, "view", trace, cwd=trace.parent).stdout == run(hprofiler, "summary", trace, cwd=trace.parent).stdout


def test_every_format_exports_and_native_reads_back(hprofiler, recorded, work):
    trace = recorded[2]
    listing = run(hprofiler, "export", "--help", cwd=work).stdout.split("Formats (")[1]
    formats = re.findall(r"^  ([a-z][a-z-]+) +(\.[\w.]+)", listing, re.M)
    assert {"native", "chrome", "folded", "speedscope", "flamegraph-html", "csv"} <= {name for name, _ in formats}
    for name, ending in formats:
        target = work / f"exported-{name}{ending}"
        done = run(hprofiler, "export", trace, "--to", name, "-o", target, cwd=work)
        assert done.returncode == 0 and not done.stdout, (name, done.stderr)
        assert target.stat().st_size > 100
    native = summary(hprofiler, work / "exported-native.hpt")
    assert native["functions"] == summary(hprofiler, trace)["functions"]


def test_export_to_stdout_and_by_ending(hprofiler, recorded, work):
    trace = recorded[2]
    folded = run(hprofiler, "export", trace, "--to", "folded", cwd=work).stdout
    assert any("place_queens;place_queens" in line for line in folded.splitlines())
    assert run(hprofiler, "export", trace, "-o", "by-ending.folded", cwd=work).returncode == 0
    assert (work / "by-ending.folded").read_text() == folded


@pytest.mark.parametrize("arguments, said", [
    (["--to", "pprof"], "use one of"), ([], "which format?"), (["--to", "folded", "--window", "3"], "FROM:TO"),
    (["--to", "folded", "--window", "3:1"], "ends before it begins"), (["--to", "folded", "--where", "x=y"], "x"),
    (["--to", "folded", "-o", "/none/there"], "/none/there"),
])
def test_export_refuses_with_a_reason(hprofiler, recorded, work, arguments, said):
    done = run(hprofiler, "export", recorded[2], *arguments, cwd=work)
    assert done.returncode == (1 if "-o" in arguments else 2) and said in done.stderr and not done.stdout


def test_window_keeps_what_overlaps_it(hprofiler, recorded, work):
    trace = recorded[2]

    def weight(*arguments):
        text = run(hprofiler, "export", trace, "--to", "folded", *arguments, cwd=work).stdout
        return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
    whole, part = weight(), weight("--window", "100ms:300ms")
    assert 0 < part < whole / 2
    assert weight("--window", "1h:") == 0


def test_query_answers_in_three_formats(hprofiler, recorded, work):
    trace, sql = recorded[2], "select name, pid from tracks where kind = 'thread' order by tid limit 2"
    rows = json.loads(run(hprofiler, "query", trace, sql, "--format", "json", cwd=work).stdout)
    assert len(rows) == 2 and list(rows[0]) == ["name", "pid"] and rows[0]["name"] == "demo"
    table = list(csv.DictReader(io.StringIO(run(hprofiler, "query", trace, sql, "--format", "csv", cwd=work).stdout)))
    assert [row["name"] for row in table] == [row["name"] for row in rows]
    text = run(hprofiler, "query", trace, sql, cwd=work).stdout.splitlines()
    assert text[0].split() == ["name", "pid"] and text[1].split()[0] == "demo"
    wrong = run(hprofiler, "query", trace, "select nothing from nowhere", cwd=work)
    assert wrong.returncode == 1 and "nowhere" in wrong.stderr


def test_run_passes_on_the_exit_status_and_signals(hprofiler, work):
    def status(*target):
        return run(hprofiler, "run", "--no-summary", "-o", "status.hpt", "--", *target, cwd=work).returncode
    assert status("sh", "-c", "exit 7") == 7
    assert status("sh", "-c", "kill -TERM $$") == 128 + signal.SIGTERM
    assert status("/none/such") == 127
    assert status("/etc/passwd") == 126


@pytest.mark.parametrize("output, said", [("/none/there/x.hpt", "No such file or directory"), (".", "names no format"),
                                          ("/proc/x.hpt", "can't be written")])
def test_unwritable_output_is_found_before_the_run(hprofiler, work, output, said):
    mark = work / "it-ran"
    done = run(hprofiler, "run", "-o", output, "--", "touch", mark, cwd=work)
    assert done.returncode == 125 and said in done.stderr
    assert not mark.exists()


def test_format_of_run_is_that_of_the_summary(hprofiler, work):
    done = run(hprofiler, "run", "--format", "json", "-o", "f.hpt", "--", "sh", "-c", "exit 3", cwd=work)
    assert done.returncode == 3
    assert json.loads(done.stdout)["exit_status"] == 3


def test_no_summary_leaves_stdout_to_the_target(hprofiler, work):
    done = run(hprofiler, "run", "--no-summary", "-o", "quiet.hpt", "--", "echo", "data", cwd=work)
    assert done.stdout == "data\n"


def test_full_disk_at_the_end_keeps_the_session(hprofiler, work, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        sessions = tmp_path / "sessions"
        sessions.mkdir()
        done = run(hprofiler, "run", "--session-dir", sessions, "-o", small / "t.json", "--perf-callgraph", "dwarf", "--",
                   "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", cwd=work)
        assert done.returncode == 125 and "No space left" in done.stderr
        command = shlex.split(done.stderr.partition("go on with: ")[2])
        assert command[:2] == ["hprofiler", "recover"] and command[3:] == ["-o", "FILE"], done.stderr
        listing = json.loads(run(hprofiler, "recover", "--session-dir", sessions, "--format", "json", cwd=work).stdout)["sessions"]
        assert [pathlib.Path(session["path"]).name for session in listing] == [pathlib.Path(command[2]).name]
        assert not listing[0]["live"]
        saved = run(hprofiler, "recover", command[2], "-o", tmp_path / "saved.hpt", cwd=work)
        assert saved.returncode == 0, saved.stderr
        assert summary(hprofiler, tmp_path / "saved.hpt")["sampling"]["samples"] > 0
        assert not pathlib.Path(command[2]).exists()
    finally:
        subprocess.run(["umount", small], check=True)


def test_python_functions_are_said_to_be_unseen(hprofiler, work):
    """The interpreter that runs this test, without a map of its functions."""
    loop = "import time\nwhile time.process_time() < 0.5: sum(range(1000))"
    done = run(hprofiler, "run", "--no-summary", "-o", "py.hpt", "--", os.path.realpath(sys.executable), "-c", loop, cwd=work)
    assert done.returncode == 0, done.stderr
    modules = summary(hprofiler, work / "py.hpt")["modules"]
    hottest = os.path.basename(modules[0]["name"])
    text = run(hprofiler, "summary", "py.hpt", cwd=work).stdout
    assert ("python3 -X perf" in text) == hottest.startswith(("python", "libpython"))


def test_the_critical_path_of_plain_threads_says_who_is_not_in_it(hprofiler, work):
    program = ("import hashlib, threading\nblock = bytes(1 << 20)\ndef many():\n for _ in range(400): hashlib.sha256(block)\n"
               "threads = [threading.Thread(target=many) for _ in range(2)]\n[one.start() for one in threads]\n[one.join() for one in threads]")
    done = run(hprofiler, "run", "--no-summary", "-o", "threads.hpt", "--", os.path.realpath(sys.executable), "-c", program, cwd=work)
    assert done.returncode == 0, done.stderr
    text = run(hprofiler, "critical-path", "threads.hpt", cwd=work).stdout
    assert re.search(r"not in it +2 other threads that computed [\d.]+ m?s: nothing records what threads wait for", text), text


def test_attach_records_a_running_process(hprofiler, demo, work):
    process = subprocess.Popen([demo, "200"], stdout=subprocess.DEVNULL)
    try:
        for seconds in (0.5, 2, 8): # who gets no CPU has no samples
            time.sleep(0.3)
            done = run(hprofiler, "attach", "-p", process.pid, "--duration", seconds, "-o", "attached.hpt", cwd=work)
            assert done.returncode == 0, done.stderr
            assert process.poll() is None
            assert " attached for " in done.stdout.splitlines()[0] and " ran " not in done.stdout.splitlines()[0]
            result = summary(hprofiler, work / "attached.hpt")
            if {"place_queens", "image_smooth"} & {function["name"] for function in result["functions"]}:
                break
    finally:
        process.kill()
        process.wait()
    assert {"place_queens", "image_smooth"} & {function["name"] for function in result["functions"]}
    assert result["processes"][0]["attached"] is True
    gone = run(hprofiler, "attach", "-p", process.pid, cwd=work)
    assert gone.returncode == 1 and f"no process {process.pid}" in gone.stderr
    assert run(hprofiler, "attach", cwd=work).returncode == 2


def test_recover_of_nothing_says_what_it_wants(hprofiler, tmp_path):
    assert "nothing to recover" in run(hprofiler, "recover", "--session-dir", tmp_path, cwd=tmp_path).stdout
    done = run(hprofiler, "recover", tmp_path / "none", cwd=tmp_path)
    assert done.returncode == 1 and "none" in done.stderr


def test_a_file_that_is_no_trace_is_refused_with_its_name(hprofiler, tmp_path):
    (tmp_path / "x.json").write_text("hello")
    for command in (["summary"], ["view"], ["export", "--to", "folded"], ["query"]):
        more = ["select 1"] if command[0] == "query" else []
        done = run(hprofiler, command[0], tmp_path / "x.json", *more, *command[1:], cwd=tmp_path)
        assert done.returncode == 1 and "x.json" in done.stderr and not done.stdout


def test_no_progress_bar_for_what_is_quick_or_not_on_a_terminal(hprofiler, recorded, work):
    import pty
    trace = recorded[2]
    for _ in range(5):
        parent, child = pty.openpty()
        began = time.monotonic()
        done = run(hprofiler, "summary", trace, cwd=work, capture_output=False, stdout=subprocess.PIPE, stderr=child)
        if time.monotonic() - began < 1: # nothing is shown for what is done by then
            break
        os.close(parent)
        os.close(child)
    else:
        pytest.skip("nothing is quick here")
    os.set_blocking(parent, False)
    os.close(child)
    try:
        shown = os.read(parent, 4096)
    except (BlockingIOError, OSError):
        shown = b""
    os.close(parent)
    assert done.returncode == 0 and shown == b""
    assert "\r" not in run(hprofiler, "export", trace, "--to", "chrome", "-o", "again.json", cwd=work).stderr


def test_a_full_stdout_of_run_is_told_and_the_trace_is_kept(hprofiler, work):
    for status, expected in ((0, 125), (5, 5)):  # the target's own failure is never covered up
        with open("/dev/full", "w") as full:
            done = run(hprofiler, "run", "-o", "full.hpt", "--", "sh", "-c", f"exit {status}", cwd=work, capture_output=False,
                       stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == expected and "No space left on device" in done.stderr
        assert summary(hprofiler, work / "full.hpt")["exit_status"] == status
