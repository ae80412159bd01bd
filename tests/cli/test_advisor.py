# SPDX-License-Identifier: MIT
"""The advisor on real programs and recordings: what it says is what queries of the same trace say; and docs/advisor.md is its table of rules."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
APPS = TESTS / "apps"
RULES_TEXT = re.sub(r'"\s*\n\s*"', "", (ROOT / "src/analysis/advice_rules.def").read_text())
NEEDS = {name: (what, missing) for name, what, missing in re.findall(r'^ADVICE_NEED\((\w+), "([^"]*)", "([^"]*)"\)', RULES_TEXT, re.M)}
RULE = r'^ADVICE_RULE\(\w+, "([^"]*)", (\w+), (\d+), "([^"]*)", "([^"]*)",\s*"([^"]*)", "([^"]*)",\s*"([^"]*)"\)'
RULES = [dict(zip(("id", "need", "threshold", "basis", "title", "reason", "bound", "remedy"), rule)) for rule in re.findall(RULE, RULES_TEXT, re.M)]
PAGE = (ROOT / "docs/advisor.md").read_text()


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def summary(hprofiler):
    def ask(trace, *arguments):
        return json.loads(run(hprofiler, "summary", trace, "--format", "json", *arguments))
    return ask


@pytest.fixture
def query(hprofiler):
    def ask(trace, sql):
        return json.loads(run(hprofiler, "query", trace, sql, "--format", "json"))
    return ask


def by_rule(result):
    return {advice["rule"]: {**advice, "numbers": {row["name"]: row["value"] for row in advice["evidence"]}} for advice in result["advice"]}


# --- the page ---------------------------------------------------------------------------------------------------------------

def test_the_page_has_every_rule_as_the_program_has_it():
    sections = re.findall(r"^### ([a-z-]+)\n\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
    assert len(RULES) == RULES_TEXT.count("\nADVICE_RULE(") and len(RULES) > 20
    assert [name for name, _ in sections] == [rule["id"] for rule in RULES]
    for rule, (name, text) in zip(RULES, sections):
        assert text.lower().startswith(rule["title"].lower() + "."), name
        for line in (f"- Needs: {NEEDS[rule['need']][0]}", f"- Told from: {rule['threshold']} % of the {rule['basis']} on; {rule['reason']}",
                     f"- Bound: {rule['bound']}", f"- What to do: {rule['remedy']}"):
            assert line + "\n" in text, (name, line)


def test_the_page_has_every_need_as_the_program_has_it():
    assert re.findall(r"^\| ([^|]*) \| (no [^|]*|fewer [^|]*|the trace says [^|]*) \|$", PAGE, re.M) == list(NEEDS.values())


def test_the_page_has_the_limits_of_the_program():
    header = (ROOT / "src/analysis/advice.h").read_text()
    for limit in re.findall(r"define ADVICE_\w+_SPANS UINT64_C\((\d+)\)", header):
        assert f"{int(limit):,} spans" in PAGE or f"to {int(limit):,}," in PAGE, limit


# --- recordings of CUDA programs ----------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def recorded(hprofiler, apps, tmp_path_factory):
    fakes, collector = apps.parent / "fakes", pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_cuda.so"
    if not (fakes / "cupti_play").exists() or not collector.exists():
        pytest.skip("the CUDA collector or its stand-in CUPTI is not built")
    folder, traces = tmp_path_factory.mktemp("cuda"), {}

    def trace_of(mode):
        if mode not in traces:
            recording, traces[mode] = folder / f"{mode}.rec", folder / f"{mode}.hpt"
            recording.write_bytes(gzip.decompress((TESTS / f"data/cupti/{mode}.rec.gz").read_bytes()))
            environment = {**os.environ, "CUPTI_RECORDING": str(recording), "CUPTI_RECORDING_PACE": "1", "HPROFILER_CUPTI": str(fakes / "libcupti_fake.so")}
            environment.pop("CUDA_INJECTION64_PATH", None)
            run(hprofiler, "run", "--no-summary", "-o", traces[mode], "--", fakes / "cupti_play", env=environment)
        return traces[mode]

    return trace_of


LENGTH = "sum(s.end_ns - s.begin_ns)"
LANES = "from spans s join tracks t on t.id = s.track where t.kind in ('stream', 'device')"


def judged(result, rule):
    need = next(NEEDS[known["need"]][0] for known in RULES if known["id"] == rule)
    return need not in [row["needs"] for row in result["advice_rules"]["not_judged"]]


def assert_as_expected(result, rule, share_percent):
    """The rule speaks with this share, or is silent as it is below the threshold."""
    known = next(known for known in RULES if known["id"] == rule)
    assert judged(result, rule)
    found = by_rule(result).get(rule)
    if share_percent >= float(known["threshold"]):
        assert found and found["share_percent"] == pytest.approx(share_percent, abs=0.01), rule
    else:
        assert not found, (rule, share_percent)
    return found


def run_ns(query, trace):
    rows = query(trace, "select min(begin_ns) as a, max(end_ns) as b from (select begin_ns, end_ns from spans union all select time_ns, time_ns from samples "
                 "union all select time_ns, time_ns from counters union all select time_ns, time_ns from instants)")
    return rows[0]["b"] - rows[0]["a"]


@pytest.mark.parametrize("mode", ["plain", "managed", "stalls", "pools"])
def test_copies_are_those_of_the_recording(recorded, summary, query, mode):
    trace = recorded(mode)
    result, whole = summary(trace), run_ns(query, recorded(mode))
    memory = "json_extract(s.args, '$.source_memory')", "json_extract(s.args, '$.destination_memory')"
    rules = {
        "pageable-copies": f"'pageable' in ({memory[0]}, {memory[1]})",
        "page-migration": f"({memory[0]} = 'managed' and {memory[1]} = 'managed')",
    }
    for rule, where in rules.items():
        kinds = "s.kind = 'copy'"
        if rule == "page-migration":
            where += " or (s.kind = 'fault' and json_extract(s.args, '$.count') is not null)"
            kinds = "s.kind in ('copy', 'fault')"
        rows = query(trace, f"select s.track as track, count(*) as n, {LENGTH} as time {LANES} and {kinds} and ({where}) group by 1 order by 3 desc")
        found = assert_as_expected(result, rule, 100 * rows[0]["time"] / whole if rows else 0)
        if found:
            assert found["time_ns"] == rows[0]["time"]
            assert sum(row["n"] for row in rows) in found["numbers"].values()


@pytest.mark.parametrize("mode", ["plain", "order", "whole"])
def test_devices_idle_as_the_summary_has_them(recorded, summary, query, mode):
    trace = recorded(mode)
    result, whole = summary(trace), run_ns(query, recorded(mode))
    devices = result["devices"]
    assert devices
    assert_as_expected(result, "host-late", 100 * max(device["idle"]["host_late_ns"] for device in devices) / whole)
    alone = max(min(device["busy_copy_ns"], device["busy_kernel_ns"] - device["overlap_ns"]) for device in devices)
    assert_as_expected(result, "copies-alone", 100 * alone / whole)
    waits = query(trace, "select s.track, sum(s.end_ns - s.begin_ns) as time from spans s join tracks t on t.id = s.track where t.kind = 'thread' and "
                  "s.category = 'cuda' and (s.kind = 'sync' or json_extract(s.args, '$.blocking') = 1 and s.kind = 'api') group by 1 order by 2 desc")
    waited = waits[0]["time"] if waits else 0
    assert_as_expected(result, "sync-blocks", 100 * min(waited, whole - waited) / whole)


# --- programs --------------------------------------------------------------------------------------------------------------

# How long the waits are, from run to run until they are a part of the run that is told: how long it takes to begin and end is the machine's.
STRETCHES = [1, 2, 4, 8]


def test_locks_and_barriers_of_openmp(hprofiler, apps, summary, query, tmp_path):
    """Threads that sleep for known times before a critical section and a barrier: most of the run is waiting."""
    program = apps / "waits_openmp-clang"
    if not program.exists():
        pytest.skip("clang with its OpenMP is not installed")
    trace = tmp_path / "t.hpt"
    for stretch in STRETCHES:
        run(hprofiler, "run", "--no-summary", "-o", trace, "--", program, "critical", "implicit_barrier", env={**os.environ, "WAITS_STRETCH": str(stretch)})
        found = by_rule(summary(trace))
        if {"lock-waits", "region-imbalance"} <= set(found):
            break
    whole = run_ns(query, trace)
    locks = query(trace, "select track, sum(json_extract(args, '$.wait_ns')) as time, count(*) as n from spans where category = 'openmp' and kind in "
                  "('critical', 'lock', 'ordered') group by 1 order by 2 desc")
    assert found["lock-waits"]["time_ns"] == locks[0]["time"]
    assert found["lock-waits"]["share_percent"] == pytest.approx(100 * locks[0]["time"] / whole, abs=0.01)
    assert found["lock-waits"]["numbers"]["of all threads"] == sum(row["time"] for row in locks)
    barriers = query(trace, "select sum(json_extract(args, '$.wait_ns')) as time from spans where category = 'openmp' and kind = 'barrier' and "
                     "json_extract(args, '$.region') in (select json_extract(args, '$.region') from spans where kind = 'parallel')")
    assert found["region-imbalance"]["time_ns"] == pytest.approx(barriers[0]["time"] / 3, abs=50)
    assert "late-senders" not in found and found["lock-waits"]["remedy"].startswith("shorter critical sections")


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_waits_of_ranks(family, hprofiler, summary, query, tmp_path):
    """Three ranks sleep until their deadlines: who waits, for whom, as `efficiency` has it."""
    if not shutil.which(f"mpicc.{family}") or not shutil.which(f"mpirun.{family}"):
        pytest.skip(f"{family} is not installed")
    if not (pathlib.Path(hprofiler).parents[1] / f"lib/libhprofiler_mpi-{family}.so").exists():
        pytest.skip(f"the collector for {family} is not built")
    flags = {"openmpi": ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": []}[family]
    trace, program = tmp_path / "t.hpt", tmp_path / "waits_mpi"
    run(f"mpicc.{family}", "-O1", "-g", "-w", "-D_GNU_SOURCE", "-o", program, APPS / "waits_mpi.c")
    for stretch in STRETCHES:
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 700_000_000 * stretch
        environment = {**os.environ, "WAITS_START": str(start), "WAITS_CALLS": str(tmp_path / "calls"), "WAITS_STRETCH": str(stretch)}
        run(hprofiler, "run", "--backend", "mpi", "--no-summary", "-o", trace, "--", f"mpirun.{family}", *flags, "-np", "3", program,
            "late_sender", "late_receiver", "barrier", env=environment)
        result = summary(trace)
        found = by_rule(result)
        if set(found) & {"late-senders", "late-receivers", "collective-waits"}:
            break
    waits = json.loads(run(hprofiler, "efficiency", trace, "--format", "json"))["runs"][0]["waits"]
    patterns = {"late-senders": ["late sender"], "late-receivers": ["late receiver"], "collective-waits": ["wait at barrier"]}
    for rule, names in patterns.items():
        by_victim, by_cause = {}, {}
        for row in waits:
            if row["pattern"] in names:
                by_victim[row["victim_lane"]] = by_victim.get(row["victim_lane"], 0) + row["time_ns"]
                by_cause[row["cause_lane"]] = by_cause.get(row["cause_lane"], 0) + row["time_ns"]
        assert judged(result, rule)
        # Deadlines are 100 ms and more apart; how long the run around them is depends on the machine.
        if rule in found:
            assert found[rule]["time_ns"] == max(by_victim.values())
            assert f"rank {found[rule]['numbers']['mostly for rank']}" == max(by_cause, key=by_cause.get)
        else:
            assert max(by_victim.values(), default=0) < 0.05 * 1.01 * run_ns(query, trace)
    assert set(found) & set(patterns)
    assert "lock-waits" not in found


def test_a_function_that_takes_most_time_is_named(hprofiler, summary, tmp_path):
    source = tmp_path / "hot.c"
    source.write_text("static volatile double sink; __attribute__((noinline)) void hot_loop(void) { for (long i = 0; i < 100000000; i++) sink = sink * 0.5 + i; }\n"
                      "int main(void) { hot_loop(); return 0; }\n")
    run("cc", "-O1", "-g", "-o", tmp_path / "hot", source)
    trace = tmp_path / "t.hpt"
    run(hprofiler, "run", "--no-summary", "-o", trace, "--", tmp_path / "hot")
    result = summary(trace)
    if not judged(result, "hot-function"):
        pytest.skip("the machine does not let programs be sampled")
    hot = next(function for function in result["functions"] if function["name"] == "hot_loop")
    found = by_rule(result)["hot-function"]
    assert found["name"] == "hot_loop" and found["time_ns"] == hot["self_ns"]
    assert found["share_percent"] == pytest.approx(100 * hot["self_ns"] / (result["sampling"]["sampled_ns"] - result["sampling"]["excluded_ns"]), abs=0.01)
    assert "kernel-time" not in by_rule(result)


# --- how it is said --------------------------------------------------------------------------------------------------------

KEYS = ["rule", "severity", "time_ns", "run_percent", "share_percent", "threshold_percent", "share_of", "name", "lane", "evidence", "text", "remedy"]


@pytest.fixture(scope="module")
def generated(hprofiler, tmp_path_factory):
    """Ranks of which one is late by construction: there is advice, on any machine."""
    trace = tmp_path_factory.mktemp("generated") / "late_sender.hpt"
    run(pathlib.Path(hprofiler).parents[1] / "tests/trace_generator", "--kind", "late_sender", "--no-what-if", "-o", trace)
    return trace


def test_json_has_the_documented_keys(generated, summary):
    result = summary(generated)
    metrics = (ROOT / "docs/metrics.md").read_text()
    assert result["advice"]
    for advice in result["advice"]:
        assert list(advice) == KEYS
        assert all(list(row) == ["name", "value", "unit"] for row in advice["evidence"]) and advice["evidence"]
        assert advice["share_percent"] >= advice["threshold_percent"]
    times = [-1 if advice["time_ns"] is None else advice["time_ns"] for advice in result["advice"]]
    assert times == sorted(times, reverse=True)
    assert list(result["advice_rules"]) == ["judged", "count", "reason", "not_judged"]
    assert result["advice_rules"]["count"] == len(RULES) == result["advice_rules"]["judged"] + sum(row["count"] for row in result["advice_rules"]["not_judged"])
    row = next(line for line in metrics.splitlines() if line.startswith("| `advice[]`"))
    rules = next(line for line in metrics.splitlines() if line.startswith("| `advice_rules`"))
    assert re.findall(r"`(\w+)`", row.split("|")[2]) == [*KEYS[:10], "name", "value", "unit", *KEYS[10:]]
    assert re.findall(r"`(\w+)`", rules.split("|")[2]) == ["judged", "count", "reason", "not_judged", "needs", "count", "reason"]


def test_text_says_what_was_judged_and_fits_the_terminal(hprofiler, generated):
    environment = {**os.environ, "COLUMNS": "80"}
    text = run(hprofiler, "summary", generated, env=environment)
    advice = text[text.index("\nAdvice  "):]
    assert all(len(line) <= 80 for line in advice.splitlines())
    flat = " ".join(advice.split())
    assert re.search(rf"\d+ of {len(RULES)} rules judged, \d+ of them speaks?; not judged: ", flat)
    assert NEEDS["OPENMP"][1] in flat


def test_advice_is_for_whole_runs_that_ask_for_it(hprofiler, recorded, summary):
    trace = recorded("plain")
    for arguments, reason in ((["--advice", "none"], "not asked for"), (["--where", "kind=kernel"], "of whole runs only: without --where")):
        result = summary(trace, *arguments)
        assert result["advice"] == [] and result["advice_rules"]["reason"] == reason and result["advice_rules"]["judged"] is None
    assert summary(trace, "--advice", "all")["advice"] == summary(trace)["advice"]
    assert "\nAdvice" not in run(hprofiler, "summary", trace, "--advice", "none")
    assert subprocess.run([hprofiler, "summary", trace, "--advice", "some"], capture_output=True, check=False).returncode != 0
