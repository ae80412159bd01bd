# SPDX-License-Identifier: MIT
"""What people read of efficiency and critical-path: whole at any width, the same run time everywhere, and what hides behind latencies said."""
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATTERNS = {name: (text, remedy) for name, text, remedy in re.findall(
    r'WAIT_PATTERN\(\w+, "([^"]*)", \w+,\s*"([^"]*)",\s*"([^"]*)"\)', (ROOT / "src/analysis/wait_patterns.def").read_text())}


@pytest.fixture
def trace(waiting_threads):
    return waiting_threads


def ask(hprofiler, *arguments, columns=80):
    done = subprocess.run([hprofiler, *map(str, arguments)], capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_efficiency_says_in_full_what_would_remove_waits(hprofiler, trace, columns):
    text = ask(hprofiler, "efficiency", trace, columns=columns)
    assert all(len(line) <= columns for line in text.splitlines()[1:]), "the first is the file"
    flat = " ".join(text.split())
    found = [row["pattern"] for row in json.loads(ask(hprofiler, "efficiency", trace, "--format", "json"))["runs"][0]["patterns"]]
    assert found
    for pattern in found:
        assert f"{pattern}: {PATTERNS[pattern][0]} -> {PATTERNS[pattern][1]}" in flat


def test_efficiency_names_the_code_that_was_late_or_says_that_nobody_saw_it(hprofiler, trace):
    run = json.loads(ask(hprofiler, "efficiency", trace, "--format", "json"))["runs"][0]
    samples = json.loads(ask(hprofiler, "query", trace, "select count(*) as n from samples", "--format", "json"))[0]["n"]
    text = ask(hprofiler, "efficiency", trace, "--top", 0, columns=400).split("What others waited for")[1]
    code = [row for row in run["delays"] if row["activity"] is None]
    blocked = [row for row in code if row["blocked_share"] > 0.5]
    unseen = [row for row in code if not row["function"] and row not in blocked]
    assert all(row["samples"] >= 5 for row in code if row["function"]) and not any(row["function"] for row in blocked)
    assert len(re.findall(r"code outside of calls", text.split("What the patterns are")[0])) == len(unseen)
    assert text.count("(no samples there)") == (sum(not row["samples"] for row in unseen) if samples else 0)
    assert len(re.findall(r"\(\d+ % of its time, \d+ samples\)", text)) == len(code) - len(unseen) - len(blocked)
    assert len(re.findall(r"off the processor \(blocked \d+ %\)", text)) == len(blocked)


def test_summary_and_critical_path_say_the_same_run_time(hprofiler, trace):
    ran = [re.search(r"ran ([\d.]+ m?s)", ask(hprofiler, command, trace, columns=200).splitlines()[0]).group(1) for command in ("summary", "critical-path")]
    assert ran[0] == ran[1]
    makespan = json.loads(ask(hprofiler, "critical-path", trace, "--format", "json"))["makespan_ns"]
    looked = re.search(r"looked at +([\d.]+) (m?s):", ask(hprofiler, "critical-path", trace, columns=200))
    assert float(looked.group(1)) * (1e6 if looked.group(2) == "ms" else 1e9) == pytest.approx(makespan, rel=0.01)


def test_efficiency_tells_time_without_a_processor_apart(hprofiler, trace):
    text, run = ask(hprofiler, "efficiency", trace, columns=200), json.loads(ask(hprofiler, "efficiency", trace, "--format", "json"))["runs"][0]
    preempted = [thread["preempted_ns"] for thread in run["threads"]]
    records = json.loads(ask(hprofiler, "query", trace, "select count(*) as n from spans s join tracks t on t.id = s.track where t.kind = 'sched'",
                             "--format", "json"))[0]["n"]
    if records:
        assert "they had work but no processor: not useful, counted apart (V)" in text
        value = next(row["value"] for row in run["inputs"] if row["symbol"] == "V")
        assert value == pytest.approx(sum(preempted) / len(preempted), abs=1)
    else:
        assert "no records of the scheduler" in text and set(preempted) == {None}
    for thread in run["threads"]:
        whole = sum(thread[key] or 0 for key in ("useful_ns", "preempted_ns", "mpi_ns", "openmp_ns", "device_ns", "idle_ns"))
        assert whole == run["end_ns"] - run["begin_ns"]


def test_efficiency_prints_what_applies_and_json_has_all(hprofiler, trace):
    """The threads of this run call no MPI: factors of it are rows of JSON, and in the text one line a model."""
    run = json.loads(ask(hprofiler, "efficiency", trace, "--format", "json"))["runs"][0]
    text = ask(hprofiler, "efficiency", trace, columns=200).split("\nWaiting")[0]
    assert not re.search(r"^ .* - +not applicable", text, re.M)
    left_out = [sum(not factor["applicable"] for factor in model["factors"]) for model in run["models"] if model["factors"][0]["applicable"]]
    assert any(left_out) and all(f"  {count} more not applicable: " in text for count in left_out if count)
