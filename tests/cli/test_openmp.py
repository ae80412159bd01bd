# SPDX-License-Identifier: MIT
"""OpenMP through OMPT: what a runtime reports is counted exactly with 1, 2 and 8 threads, constructs are named by the lines of
their source, what belongs together is tied together, and programs run as they do without us."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

APPS = pathlib.Path(__file__).resolve().parents[1] / "apps"
SOURCE = (APPS / "openmp_constructs.c").read_text().splitlines()
OPENMP = ["-b", "openmp"]


def team(threads, regions=1, barriers=0):
    """A team of one has no barrier at its region's end."""
    return {"parallel": regions, "implicit_task": regions * threads, "barrier": (regions * threads if threads > 1 else 0) + barriers * threads}


# What each mode of openmp_constructs makes with n threads, by kind of span.
EXPECTED = {
    "smooth": lambda n: {**team(n, 3), "loop": 3 * n},
    "sweep": lambda n: {**team(n, 1, 1), "loop": n, "single": 1, "masked": 1},
    "split": lambda n: {**team(n), "sections": n},
    "guard": lambda n: {**team(n), "critical": 7 * n},
    "in_order": lambda n: {**team(n), "loop": n, "ordered": 12},
    "lock": lambda n: {**team(n), "lock": 15 * n + 2},
    "recurse": lambda n: {**team(n), "single": 1, "task": 66, "task_create": 66, "taskwait": 33},
    "chain": lambda n: {**team(n, 1, 1), "single": 1, "task": 10, "task_create": 10},
    "group": lambda n: {**team(n), "single": 1, "task": 13, "task_create": 13, "taskgroup": 2, "loop": 1},
    "untied": lambda n: {**team(n), "single": 1, "task": 6, "task_create": 6},
    "nested": lambda n: {"parallel": 1 + n, "implicit_task": 3 * n, "barrier": 2 * n + (n if n > 1 else 0)},
    "cancel": lambda n: {"parallel": 1, "implicit_task": 1, "loop": 1, "barrier": 1},
}


def app(apps, name):
    path = apps / name
    if not path.exists():
        pytest.skip(f"{name} is not built: no clang with an OpenMP runtime (Debian: clang libomp-dev)")
    return path


def spans(profiled):
    rows = profiled.query("select id, kind, name, track, begin_ns, end_ns, args from spans where category = 'openmp' order by begin_ns")
    for row in rows:
        row["args"] = json.loads(row["args"]) if isinstance(row["args"], str) else row["args"] or {}
    return rows


def count(rows):
    """By kind; tasks by their ids, as a task that is put back and taken up again has several stretches."""
    counts = {}
    for row in rows:
        counts[row["kind"]] = counts.get(row["kind"], 0) + 1
    if "task" in counts:
        counts["task"] = len({row["args"]["task"] for row in rows if row["kind"] == "task"})
    return counts


def expected(mode, threads):
    return {kind: number for kind, number in EXPECTED[mode](threads).items() if number}


def run(runner, apps, threads, *modes, options=()):
    _, profiled = runner.compare([app(apps, "openmp_constructs"), threads, *modes], [*OPENMP, *options], env={"OMP_CANCELLATION": "true"})
    return profiled


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_construct_is_counted(runner, apps, threads):
    for mode in EXPECTED:
        assert count(spans(run(runner, apps, threads, mode))) == expected(mode, threads), mode


def test_counts_add_up_and_nothing_is_lost(runner, apps):
    profiled = run(runner, apps, 4, *EXPECTED)
    sums = {}
    for mode in EXPECTED:
        for kind, number in expected(mode, 4).items():
            sums[kind] = sums.get(kind, 0) + number
    assert count(spans(profiled)) == sums
    assert not [row for row in profiled.summary()["ledger"] if row["lost"]]


def marked_lines():
    """Names that the source promises: `/* parallel for in smooth() */` at line 24 is `openmp_constructs.c:24 parallel for in smooth()`."""
    names = set()
    for number, line in enumerate(SOURCE, 1):
        mark = re.search(r"/\* ([a-z ]+ in \w+\(\)) \*/", line)
        if mark:
            names.add(f"openmp_constructs.c:{number} " + re.sub(r"^master\b", "masked", mark.group(1)))
    return names


def test_constructs_are_named_by_the_user_s_source(runner, apps):
    wanted = marked_lines()
    assert len(wanted) > 15
    rows = spans(run(runner, apps, 2, *EXPECTED))
    names = {row["name"] for row in rows}
    assert wanted <= names, sorted(wanted - names)
    # libomp 14 gives an address of its own for taskloop: only the function around is known.
    names = {name for name in names if name not in ("taskloop in group()", "task in group()", "task create in group()")}
    for name in names:
        assert re.fullmatch(r"openmp_constructs\.c:\d+ [a-z ]+ in \w+\(\)", name), name
    # A name's line is that of a pragma, of the loop under it, or of a lock's call.
    for line in {int(re.match(r".*?:(\d+)", name).group(1)) for name in names}:
        assert re.search(r"#pragma omp|omp_\w+_lock|for \(", SOURCE[line - 1]), (line, SOURCE[line - 1])


def links(profiled, kind):
    return profiled.query(f"select f.kind as f, t.kind as t, f.begin_ns as fb, f.end_ns as fe, t.begin_ns as tb, t.end_ns as te, confidence from links l "
                          f"join spans f on f.id = l.from_span join spans t on t.id = l.to_span where l.kind = '{kind}'")


def test_regions_fork_and_join_their_team(runner, apps):
    profiled = run(runner, apps, 3, "smooth", "sweep")
    rows = spans(profiled)
    forks, joins = links(profiled, "fork"), links(profiled, "join")
    assert len(forks) == len(joins) == 12 and {row["confidence"] for row in forks + joins} == {"certain"}
    assert all((row["f"], row["t"]) == ("parallel", "implicit_task") for row in forks)
    assert all((row["f"], row["t"]) == ("implicit_task", "parallel") for row in joins)
    regions = {row["args"]["region"]: row for row in rows if row["kind"] == "parallel"}
    assert all(region["args"]["threads"] == 3 and region["args"]["level"] == 1 and region["args"]["hook"] == "ompt" for region in regions.values())
    parts = [row for row in rows if row["kind"] in ("implicit_task", "loop", "barrier")]
    for part in parts:
        region = regions[part["args"]["region"]]
        assert region["begin_ns"] <= part["begin_ns"] <= part["end_ns"] <= region["end_ns"]
    for region in regions:
        assert sorted(row["args"]["thread"] for row in rows if row["kind"] == "implicit_task" and row["args"]["region"] == region) == [0, 1, 2]


def test_a_team_s_parts_of_a_barrier_are_one_group(runner, apps):
    profiled = run(runner, apps, 4, "smooth", "sweep")
    groups = profiled.query("select g.id, g.sequence, count(*) as parts, count(distinct s.track) as threads from groups g join members m on m.\"group\" = g.id "
                            "join spans s on s.id = m.span where g.kind = 'barrier' group by g.id")
    assert len(groups) == 3 + 2  # smooth's regions, sweep's barrier and its region's end
    assert all(group["parts"] == group["threads"] == 4 for group in groups)
    assert sorted(group["sequence"] for group in groups) == [0, 0, 0, 0, 1]
    for row in spans(profiled):
        if row["kind"] == "barrier":
            assert row["args"]["wait_start_ns"] + row["args"]["wait_ns"] <= row["end_ns"] - row["begin_ns"] + 2


def test_tasks_follow_their_creation_and_dependences(runner, apps):
    profiled = run(runner, apps, 4, "chain", "recurse")
    rows = spans(profiled)
    created = {row["args"]["task"]: row for row in rows if row["kind"] == "task_create"}
    ran = [row for row in rows if row["kind"] == "task"]
    assert {row["args"]["task"] for row in ran} == created.keys()
    assert all(row["begin_ns"] >= created[row["args"]["task"]]["begin_ns"] and row["args"]["end"] == "complete" and row["args"]["part"] == 0 for row in ran)
    starts = [link for link in links(profiled, "task") if link["f"] == "task_create"]
    assert len(starts) == 76
    depends = links(profiled, "depend")
    assert len(depends) <= 9 and all(link["fe"] <= link["tb"] for link in depends)
    chain = [row for row in ran if row["name"].endswith("in chain()")]
    assert len(chain) == 10 and all(before["end_ns"] <= after["begin_ns"] for before, after in zip(chain, chain[1:]))
    assert all(link["te"] >= link["fe"] for link in links(profiled, "join") if link["t"] == "taskwait")
    # A task's children are those whose parent it is: fib() makes two each.
    parents = [row["args"]["parent"] for row in created.values() if "fib()" in row["name"]]
    assert all(parents.count(parent) == 2 for parent in set(parents)) and len(set(parents)) == 33


def test_locks_tell_waiting_and_holding(runner, apps):
    for _ in range(3):
        profiled = run(runner, apps, 3, "lock", "guard")
        late = told_late(spans(profiled))
        assert all(link["confidence"] == "certain" for link in links(profiled, "lock"))
        if late <= 2:
            return
    pytest.fail(f"{late} releases were told after the next one had the lock")


def told_late(rows):
    """How many releases: the runtime tells of one after it, so that who loses the processor in between tells late."""
    uses = {}
    for row in rows:
        if row["kind"] in ("lock", "critical"):
            uses.setdefault((row["args"]["type"], row["args"]["lock"]), []).append(row)
            assert 0 <= row["args"]["wait_ns"] <= row["end_ns"] - row["begin_ns"] + 2 and row["args"]["held_ns"] >= 0
    assert sorted((kind, len(taken)) for (kind, _), taken in uses.items()) == [("critical", 21), ("lock", 16), ("lock", 16), ("nest lock", 15)]
    late = 0
    for taken in uses.values():
        taken.sort(key=lambda row: row["begin_ns"] + row["args"]["wait_ns"])
        for before, after in zip(taken, taken[1:]):  # one at a time
            released = before["begin_ns"] + before["args"]["wait_ns"] + before["args"]["held_ns"]
            late += released > after["begin_ns"] + after["args"]["wait_ns"] + 50
    return late


def test_call_tree_gives_constructs_their_stacks(runner, apps):
    profiled = run(runner, apps, 2, "smooth", "guard", "recurse", options=["--call-tree"])
    assert count(spans(profiled)) == {kind: sum(EXPECTED[mode](2).get(kind, 0) for mode in ("smooth", "guard", "recurse"))
                                      for kind in ("parallel", "implicit_task", "barrier", "loop", "critical", "single", "task", "task_create", "taskwait")}
    names = {row["name"] for row in spans(profiled)}
    assert any(name.endswith("parallel for in smooth()") for name in names)


@pytest.mark.parametrize("way, wanted", [
    ("fork-before", {"parallel": 7, "loop": 16}), ("fork-after", {"parallel": 7, "loop": 10}), ("fork-inside", {"parallel": 1, "implicit_task": 2}),
    ("exit-inside", {}), ("teams", {"parallel": 20, "implicit_task": 6 * (2 + 3 + 4) + 2 * 4}), ("cancelled", {"parallel": 3, "implicit_task": 9, "single": 1}),
    ("jump-inside", {"critical": 10, "parallel": 1}), ("jump-out", {}), ("signals", {"parallel": 400}), ("crowd", {"parallel": 1, "implicit_task": 24}),
    ("killed", {"critical": 2}),
])
def test_programs_that_fork_end_jump_or_cancel_go_the_same_way(runner, apps, way, wanted):
    _, profiled = runner.compare([app(apps, "gomp_ways-clang"), way], OPENMP, env={"OMP_CANCELLATION": "true"})
    counts = count(spans(profiled))
    for kind, number in wanted.items():
        assert counts.get(kind) == number, (kind, counts)


def test_a_user_s_tool_goes_before_us(runner, apps, tmp_path):
    """It stands in OMP_TOOL_LIBRARIES; the runtime takes one tool, and it is the user's."""
    header = subprocess.run(["clang", "-print-file-name=include/omp-tools.h"], capture_output=True, text=True).stdout.strip() if shutil.which("clang") else ""
    if not os.path.isabs(header):
        pytest.skip("no omp-tools.h (Debian: libomp-dev)")
    tool = tmp_path / "tool.so"
    source = '''#include <omp-tools.h>
#include <stdio.h>
static int start(ompt_function_lookup_t lookup, int device, ompt_data_t *data) { puts("theirs"); fflush(stdout); return 1; }
static void end(ompt_data_t *data) { }
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{ static ompt_start_tool_result_t result = {start, end, {0}}; return &result; }
'''
    subprocess.run(["clang", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tool)], input=source, text=True, check=True)
    _, profiled = runner.compare([app(apps, "openmp_constructs"), 2, "smooth"], OPENMP, env={"OMP_TOOL_LIBRARIES": str(tool)})
    assert profiled.stdout.startswith(b"theirs\n") and not spans(profiled)


def test_disabled_tools_stay_disabled(runner, apps):
    _, profiled = runner.compare([app(apps, "openmp_constructs"), 2, "smooth"], OPENMP, env={"OMP_TOOL": "disabled"})
    assert not [row for row in spans(profiled) if row["args"].get("hook") == "ompt"]
