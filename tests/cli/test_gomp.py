# SPDX-License-Identifier: MIT
"""OpenMP of GCC's compilers: what the wrappers before libgomp record is counted exactly, with 1, 2 and 8 threads, and programs run
as they do without us."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

APPS = pathlib.Path(__file__).resolve().parents[1] / "apps"
OPENMP = ["-b", "openmp"]

# What each mode of gomp_counts makes with n threads, by kind of span. `iterations`: handed out to all threads together.
EXPECTED = {
    "regions": lambda n: {"parallel": 7, "implicit_task": 7 * n, "barrier": 7 * n},
    "dynamic": lambda n: {"loop": n, "barrier": n, "iterations": 100},
    "combined": lambda n: {"loop": n, "barrier": n, "iterations": 50},
    "guided": lambda n: {"loop": n, "barrier": n, "iterations": 100},
    "runtime": lambda n: {"loop": n, "barrier": n, "iterations": 60},
    "wide": lambda n: {"loop": n, "barrier": n, "iterations": 10},
    "ordered": lambda n: {"loop": n, "barrier": n, "ordered": 20, "iterations": 20},
    "doacross": lambda n: {"loop": n, "barrier": n, "ordered": 97, "iterations": 7},
    "sections": lambda n: {"parallel": 2, "implicit_task": 2 * n, "sections": 2 * n, "barrier": 3 * n, "iterations": 7},
    "single": lambda n: {"single": 4, "barrier": 5 * n},
    "copyprivate": lambda n: {"single": 1, "barrier": 3 * n},
    "criticals": lambda n: {"critical": 15 * n, "barrier": n},
    "locks": lambda n: {"lock": 9 * n + 1, "barrier": n},
    "barriers": lambda n: {"barrier": 7 * n},
    "tasks": lambda n: {"single": 1, "task": 24, "task_create": 24, "taskwait": 1, "taskgroup": 1, "barrier": n},
    "taskloop": lambda n: {"single": 1, "task": 12, "loop": 3, "taskgroup": 2, "barrier": 2 * n},
    "depend": lambda n: {"single": 1, "task": 13, "task_create": 13, "barrier": 2 * n},
    "detach": lambda n: {"single": 1, "task": 1, "task_create": 1, "taskwait": 1, "barrier": n},
    "nested": lambda n: {"parallel": 1 + n, "implicit_task": 3 * n, "barrier": 3 * n},
}
# What clang's code makes more or less of, with two threads: docs/openmp-libgomp.md says why.
DIFFERENT = {
    "dynamic": {"barrier": 2}, "wide": {"barrier": 2}, "doacross": {"barrier": 2, "ordered": -97},
    "tasks": {"barrier": 2}, "detach": {"barrier": 2}, "taskloop": {"task_create": 12},
}


def expected(mode, threads):
    return {"parallel": 1, "implicit_task": threads, **EXPECTED[mode](threads)}


def app(apps, name):
    path = apps / name
    if not path.exists():
        pytest.skip(f"{name} is not built: its compiler, or that compiler's OpenMP, is not installed")
    return path


def spans(profiled):
    rows = profiled.query("select kind, name, track, begin_ns, end_ns, args from spans where category = 'openmp'")
    for row in rows:
        row["args"] = json.loads(row["args"]) if isinstance(row["args"], str) else row["args"] or {}
    return rows


def count(rows):
    """By kind; tasks by their ids, as OMPT has a span for each of their stretches."""
    counts = {}
    for row in rows:
        counts[row["kind"]] = counts.get(row["kind"], 0) + 1
    if "task" in counts:
        counts["task"] = len({row["args"]["task"] for row in rows if row["kind"] == "task"})
    handed = sum(row["args"].get("iterations_done", 0) for row in rows if row["kind"] in ("loop", "sections"))
    return {**counts, "iterations": handed} if handed else counts


@pytest.mark.parametrize("mode", list(EXPECTED))
def test_each_construct_is_counted(runner, apps, mode):
    _, profiled = runner.compare([app(apps, "gomp_counts"), 2, mode], OPENMP)
    rows = spans(profiled)
    assert count(rows) == expected(mode, 2)
    for row in rows:
        assert row["end_ns"] >= row["begin_ns"]
        if row["kind"] == "parallel":
            assert row["args"]["hook"] == "gomp" and row["args"]["requested"] == row["args"]["threads"] == 2


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_counts_add_up_with_any_number_of_threads(runner, apps, threads):
    _, profiled = runner.compare([app(apps, "gomp_counts"), threads, *EXPECTED], OPENMP)
    sums = {}
    for mode in EXPECTED:
        for kind, number in expected(mode, threads).items():
            sums[kind] = sums.get(kind, 0) + number
    assert count(spans(profiled)) == sums
    assert not [row for row in profiled.summary()["ledger"] if row["lost"] and row["source"] != "records"]


@pytest.mark.parametrize("mode", list(EXPECTED))
def test_the_same_source_by_clang_has_the_same_structure(runner, apps, mode):
    gcc, clang = (count(spans(runner.profiled([app(apps, name), 2, mode], OPENMP))) for name in ("gomp_counts", "gomp_counts-clang"))
    if not clang:
        pytest.skip("this machine's libomp reports nothing through OMPT")
    wanted = dict(gcc)
    for kind, more in DIFFERENT.get(mode, {}).items():
        wanted[kind] = wanted.get(kind, 0) + more
    for counts in (wanted, clang):
        counts.pop("iterations", None)  # only newer versions of libomp tell
    assert {kind: number for kind, number in wanted.items() if number} == clang


def test_parts_of_a_region_end_with_it(runner, apps):
    rows = spans(runner.profiled([app(apps, "gomp_counts"), 4, "regions", "barriers"], OPENMP))
    regions = {row["args"]["region"]: row for row in rows if row["kind"] == "parallel"}
    assert len(regions) == 8
    for identity, region in regions.items():
        parts = [row for row in rows if row["kind"] == "implicit_task" and row["args"]["region"] == identity]
        assert sorted(part["args"]["thread"] for part in parts) == [0, 1, 2, 3]
        assert all(region["begin_ns"] <= part["begin_ns"] and part["end_ns"] == region["end_ns"] for part in parts)
        last = [row for row in rows if row["kind"] == "barrier" and row["args"]["region"] == identity and row["args"]["type"] == "parallel"]
        assert len(last) == 4 and len({row["args"]["sequence"] for row in last}) == 1
        assert all(row["end_ns"] == region["end_ns"] and abs(row["args"]["wait_ns"] - row["end_ns"] + row["begin_ns"]) <= 2 for row in last)


def test_work_is_named_by_its_schedule(runner, apps):
    rows = spans(runner.profiled([app(apps, "gomp_counts"), 2, "dynamic", "guided", "runtime", "ordered"], OPENMP))
    loops = {(row["args"]["schedule"], row["args"]["iterations"], row["args"].get("chunk")) for row in rows if row["kind"] == "loop"}
    assert loops == {("dynamic", 100, 3), ("guided", 100, 2), ("runtime", 60, None), ("ordered dynamic", 20, 1)}


def test_critical_blocks_and_locks_are_told_apart(runner, apps):
    rows = spans(runner.profiled([app(apps, "gomp_counts"), 2, "criticals", "locks"], OPENMP))
    uses = {}
    for row in rows:
        if row["kind"] in ("critical", "lock"):
            key = row["args"]["type"], row["args"]["lock"]
            uses[key] = uses.get(key, 0) + 1
            assert row["args"]["wait_ns"] >= 0 and row["args"]["held_ns"] >= 0
    assert sorted((name, number) for (name, _), number in uses.items()) == [("critical", 10), ("critical", 20), ("lock", 17), ("nest lock", 2)]


def test_tasks_are_known_from_creation_to_end(runner, apps):
    rows = spans(runner.profiled([app(apps, "gomp_counts"), 2, "tasks"], OPENMP))
    created = {row["args"]["task"]: row for row in rows if row["kind"] == "task_create"}
    run = {row["args"]["task"]: row for row in rows if row["kind"] == "task"}
    assert created.keys() == run.keys() and len(run) == 24
    assert all(run[task]["begin_ns"] >= created[task]["begin_ns"] for task in run)
    types = [row["args"]["type"] for row in created.values()]
    assert sum("untied" in text for text in types) == 1 and sum("final" in text for text in types) == 1
    assert sum("undeferred" in text for text in types) >= 2  # if(0), and the one inside of final
    inner = [row for row in created.values() if row["args"]["parent"] in created]
    assert len(inner) == 1 and inner[0]["args"]["type"] == "explicit undeferred"


def links(profiled):
    return {row["kind"]: row["n"] for row in profiled.query("select kind, count(*) n from links where confidence = 'certain' group by kind")}


def test_what_waits_for_what_is_linked(runner, apps):
    depend = runner.profiled([app(apps, "gomp_counts"), 2, "depend"], OPENMP)
    # A chain of 10 tasks, two that read its end, one that reads what those wrote.
    assert links(depend) == {"fork": 2, "join": 2, "task": 13, "depend": 9 + 2 + 2}
    order = depend.query("select a.end_ns as first, b.begin_ns as second from links l join spans a on a.id = l.from_span "
                         "join spans b on b.id = l.to_span where l.kind = 'depend'")
    assert len(order) == 13 and all(row["first"] <= row["second"] for row in order)
    taskloop = runner.profiled([app(apps, "gomp_counts"), 2, "taskloop"], OPENMP)
    # From the taskloop to each of its tasks; all tasks but those of nogroup end into their taskgroup.
    assert links(taskloop) == {"fork": 2, "join": 2 + 5 + 3, "task": 5 + 4 + 3}


def test_constructs_are_named_by_the_source(runner, apps):
    rows = spans(runner.profiled([app(apps, "gomp_counts"), 2, "regions", "dynamic", "tasks"], OPENMP))
    names = {(row["kind"], re.sub(r":\d+ ", ":N ", row["name"])) for row in rows}
    assert {("parallel", "gomp_counts.c:N parallel in regions()"), ("loop", "gomp_counts.c:N for in dynamic_loop()"),
            ("task", "gomp_counts.c:N task in tasks()"), ("taskwait", "gomp_counts.c:N taskwait in tasks()")} <= names


def test_fortran(runner, apps):
    for threads in (1, 2, 8):
        _, profiled = runner.compare([app(apps, "gomp_fortran"), threads], OPENMP)
        assert count(spans(profiled)) == {
            "parallel": 2, "implicit_task": 2 * threads, "loop": 2 * threads, "iterations": 100 + 12 + 2, "lock": 7 * threads, "critical": threads,
            "single": 1, "task": 10, "task_create": 10, "ordered": 12, "sections": threads, "barrier": 6 * threads}


def test_objects_and_exceptions_of_c_plus_plus(runner, apps):
    for threads in (1, 2, 8):
        _, profiled = runner.compare([app(apps, "gomp_objects"), threads], OPENMP)
        assert count(spans(profiled)) == {
            "parallel": 4, "implicit_task": 4 * threads, "single": 4, "task": 76, "task_create": 69, "loop": 1, "taskgroup": 1, "critical": threads,
            "barrier": 8 * threads}


def test_calls_of_older_compilers(runner, apps):
    for threads in (1, 2, 8):
        _, profiled = runner.compare([app(apps, "gomp_older"), threads], OPENMP)
        assert count(spans(profiled)) == {
            "parallel": 3, "implicit_task": 3 * threads, "loop": 2 * threads, "sections": threads, "iterations": 50 + 50 + 6, "critical": threads,
            "barrier": 4 * threads}


def test_calls_that_few_constructs_bring(runner, apps):
    for threads in (1, 2, 8):
        _, profiled = runner.compare([app(apps, "gomp_rare"), threads], OPENMP)
        counts = count(spans(profiled))
        counts.pop("iterations")  # what a loop that shares out by itself hands to itself is not known
        assert counts == {
            "parallel": 6, "implicit_task": 5 * threads + 2, "loop": 3 * threads, "sections": threads, "single": 2, "workshare": threads,
            "task": 14, "task_create": 14, "taskwait": 1, "ordered": 100 + 80, "target": 6, "barrier": 15 * threads}


@pytest.mark.parametrize("way, wanted", [
    ("fork-before", {"parallel": 7, "implicit_task": 16, "loop": 16}), ("fork-after", {"parallel": 7, "implicit_task": 10, "loop": 10}),
    ("fork-inside", {"parallel": 1, "implicit_task": 2, "barrier": 6}), ("exit-inside", {"barrier": None}),
    ("teams", {"parallel": 20, "implicit_task": 6 * (2 + 3 + 4) + 2 * 4}), ("cancelled", {"parallel": 3, "implicit_task": 9, "single": 1}),
    ("jump-inside", {"critical": 10, "parallel": 1}), ("jump-out", {"parallel": None}), ("signals", {"parallel": None}),
    ("crowd", {"parallel": 1, "implicit_task": 24, "barrier": 48}), ("killed", {"critical": 2}),
])
def test_programs_that_fork_end_jump_or_cancel_go_the_same_way(runner, apps, way, wanted):
    _, profiled = runner.compare([app(apps, "gomp_ways"), way], OPENMP, env={"OMP_CANCELLATION": "true"})
    counts = count(spans(profiled))
    for kind, number in wanted.items():
        assert counts.get(kind) == number if number else counts.get(kind, 0) > 0, (kind, counts)


def renamed_libgomp(folder, name):
    """A copy of this machine's libgomp that is called otherwise, inside as well: as packages bring it along."""
    path = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(path):
        path = next((line.split("=> ")[1] for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines()
                     if "libgomp.so.1 " in line and "x86-64" in line or "libgomp.so.1 " in line and "AArch64" in line), "")
    if not os.path.exists(path):
        pytest.skip("no libgomp.so.1 to copy")
    assert len(name) == len("libgomp.so.1")
    (folder / name).write_bytes(pathlib.Path(path).read_bytes().replace(b"libgomp.so.1\0", name.encode() + b"\0"))


def test_runtimes_that_packages_bring_along_are_each_served(runner, apps, tmp_path):
    host = app(apps, "gomp_host")
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    plugins = []
    for letter in "ab":
        renamed_libgomp(tmp_path, f"libg{letter}mp.so.1")
        plugins.append(tmp_path / f"plugin_{letter}.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-g", "-fopenmp", "-c", str(APPS / "gomp_plugin.c"), "-o", f"{plugins[-1]}.o"], check=True)
        subprocess.run(["gcc", "-shared", "-o", str(plugins[-1]), f"{plugins[-1]}.o", f"-L{tmp_path}", f"-l:libg{letter}mp.so.1",
                        "-Wl,-rpath,$ORIGIN"], check=True)
    _, profiled = runner.compare([host, *plugins], OPENMP)
    assert profiled.stdout == b"1:2\n2:3\n" * 3  # each its own runtime's threads
    assert count(spans(profiled)) == {"parallel": 6, "implicit_task": 15, "critical": 15, "barrier": 30, "single": 6, "task": 18, "task_create": 18}


@pytest.mark.parametrize("how", ["preloaded", "linked", "asked for"])
def test_a_program_on_llvm_s_runtime_is_recorded_through_it(runner, apps, tmp_path, how):
    """LLVM's libomp has libgomp's functions, too. With the program on it, OMPT tells, and the wrappers let everything pass."""
    found = sorted(pathlib.Path("/usr/lib").glob("**/libomp.so.5"))
    if not found:
        pytest.skip("no libomp is installed (Debian: libomp5)")
    program = app(apps, "gomp_counts")
    ours = runner.profiled([program, 2, "regions", "criticals", "locks"], OPENMP)
    if how == "linked":
        program, source = tmp_path / "linked", str(APPS / "gomp_counts.c")
        subprocess.run(["gcc", "-std=gnu17", "-O1", "-g", "-fopenmp", "-c", source, "-o", f"{program}.o"], check=True)
        subprocess.run(["gcc", "-o", str(program), f"{program}.o", str(found[0])], check=True)
    env = {"LD_PRELOAD": str(found[0])} if how == "preloaded" else None
    options = [*OPENMP, "--openmp-runtime", str(found[0])] if how == "asked for" else OPENMP
    theirs = runner.profiled([program, 2, "regions", "criticals", "locks"], options, env=env)
    assert theirs.status == 0 and theirs.stdout == ours.stdout, theirs.stderr
    rows = spans(theirs)
    assert rows, (theirs.stderr, theirs.summary()["ledger"])
    assert {row["args"]["hook"] for row in rows if row["kind"] == "parallel"} == {"ompt"}
    assert count(rows) == count(spans(ours))
    places = theirs.query("select name from spans where kind = 'parallel'")
    codes = [{row["args"]["code"] for row in rows if row["kind"] == kind} for kind in ("parallel", "lock")]
    libraries = [line for line in places if "libhprofiler" in line["name"]]
    assert len(codes[0]) == 3 and len(codes[1]) == 3 and not libraries  # the program's own addresses, not those of the wrappers


def test_nothing_is_recorded_before_a_delay(runner, apps):
    started = time.monotonic()
    profiled = runner.profiled([app(apps, "gomp_counts"), 2, *EXPECTED], [*OPENMP, "--delay", "60"])
    assert profiled.status == 0 and time.monotonic() - started < 60
    assert not spans(profiled)


SPINNING = """
#include <stdlib.h>
double spin(long rounds) { volatile double x = 1; for (long i = 0; i < rounds; i++) x = x * 1.0000001 + 0.1; return x; }
int main(void) { double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += spin(100000000);
    return sum < 0; }
"""


def test_call_trees_leave_our_wrappers_out(runner, tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    program, source, folded = tmp_path / "spinning", tmp_path / "spinning.c", tmp_path / "spinning.folded"
    source.write_text(SPINNING)
    subprocess.run(["gcc", "-O1", "-g", "-fno-inline", "-fno-optimize-sibling-calls", "-fopenmp", source, "-o", program], check=True)
    profiled = runner.profiled([program], [*OPENMP, "-b", "openmp,cpu", "--perf-callgraph", "dwarf"])
    ours = {row["function"] for row in profiled.query("select distinct f.name function from frames f where f.module like '%/libhprofiler_%'")}
    assert ours  # the threads of a region go through our wrapper to the region's code
    subprocess.run([profiled.hprofiler, "export", str(profiled.trace), "-o", str(folded)], check=True, capture_output=True)
    paths = [line.rpartition(" ")[0].split(";") for line in folded.read_text().splitlines()]
    spinning = [path for path in paths if "spin" in path and "[truncated stack]" not in path]
    assert any("GOMP_parallel" in path and path.count("GOMP_parallel") == 1 for path in spinning)
    names = ours - {"GOMP_parallel"}
    assert names and not [path for path in paths if names & set(path)]
    callers = profiled.text_summary().partition("Callers")[2]
    assert "spin" in callers and not [name for name in names if name in callers.partition("Spans")[0]]
