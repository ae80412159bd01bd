# SPDX-License-Identifier: MIT
"""merge-nodes: traces of ranks become one. Nodes with clocks of their own are made by tests/cluster/run (network and time namespaces, and a
preloaded library that lets clocks drift): what the clocks really are is known there, and compared with what is found."""
import fractions
import json
import os
import pathlib
import random
import shutil
import subprocess
import time

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
CLUSTER = TESTS / "cluster/run"
RANKS = 4
OFFSETS_S = [0, 100, 2000, 50000]
DRIFTS_PPM = [0, 100, -50, 20]
QUICK_BOUND_NS = 20000  # a machine on which round trips take longer is too busy to be judged
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": ["mpirun.mpich"]}


def call(*command, status=0, timeout=120, **how):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, **how)
    assert done.returncode == status, done.stderr
    return done


class Merger:
    def __init__(self, hprofiler, folder):
        self.hprofiler, self.folder, self.count = hprofiler, folder, 0

    def merge(self, traces, *options, ending="hpt"):
        self.count += 1
        trace = self.folder / f"merged{self.count}.{ending}"
        done = call(self.hprofiler, "merge-nodes", *traces, "-o", trace, "--format", "json", *options)
        return trace, json.loads(done.stdout), done.stderr

    def refuses(self, traces, *options, status=1):
        return call(self.hprofiler, "merge-nodes", *traces, "-o", self.folder / "never.hpt", *options, status=status).stderr

    def rows(self, trace, sql):
        return [list(row.values()) if isinstance(row, dict) else row for row in self.objects(trace, sql)]

    def objects(self, trace, sql):
        answer = json.loads(call(self.hprofiler, "query", "--format", "json", trace, sql).stdout)
        return answer["rows"] if isinstance(answer, dict) else answer

    def metadata(self, trace, key):
        found = self.rows(trace, f"SELECT value FROM metadata WHERE key = '{key}'")
        return found[0][0] if found else None

    def lost(self, trace):
        return self.rows(trace, "SELECT source, reason, lost FROM ledger WHERE source LIKE 'MPI%' AND lost > 0")

    def late(self, trace):
        """Messages that come in before they went out. (A call that returns at once ends before its message comes.)"""
        return self.rows(trace, "SELECT count(*) FROM links l JOIN spans f ON f.id = l.from_span JOIN spans t ON t.id = l.to_span "
                                "WHERE l.kind = 'message' AND t.end_ns < f.begin_ns AND t.name NOT LIKE 'MPI_I%'")[0][0]

    def messages(self, trace):
        return {tuple(row[:4]): row[4] for row in self.rows(
            trace, "SELECT f.name AS a, ft.rank AS b, t.name AS c, tt.rank AS d, count(*) FROM links l JOIN spans f ON f.id = l.from_span JOIN spans t ON t.id = l.to_span "
                   "JOIN tracks ft ON ft.id = f.track JOIN tracks tt ON tt.id = t.track WHERE l.kind = 'message' GROUP BY 1, 2, 3, 4")}


@pytest.fixture
def merger(hprofiler, tmp_path):
    return Merger(hprofiler, tmp_path)


def build_program(family, folder):
    if not shutil.which(f"mpicc.{family}") or not shutil.which(f"mpirun.{family}"):
        pytest.skip(f"{family} is not installed")
    program = folder / f"mpi_trace-{family}"
    call(f"mpicc.{family}", "-O1", "-g", "-w", "-o", program, TESTS / "apps/mpi_trace.c")
    return program


def need_collector(hprofiler, family):
    if not (pathlib.Path(hprofiler).parents[1] / f"lib/libhprofiler_mpi-{family}.so").exists():
        pytest.skip(f"the collector for {family} is not built")


# --- one machine, one clock --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=LAUNCHERS)
def ranks(request, hprofiler, tmp_path_factory):
    """Records a program, one trace a rank; gives their paths."""
    need_collector(hprofiler, request.param)
    folder = tmp_path_factory.mktemp(request.param)
    program = build_program(request.param, folder)

    def record(*arguments, count=3):
        names = [folder / f"{'-'.join(arguments)}.{rank}.hpt" for rank in range(count)]
        if not names[0].exists():
            subprocess.run([*LAUNCHERS[request.param], "-np", str(count), hprofiler, "run", "--backend", "mpi", "--no-summary", "-o",
                            str(folder / f"{'-'.join(arguments)}.%r.hpt"), "--", str(program), *arguments],
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return names
    return record


def test_ranks_of_one_machine_are_one_node(ranks, merger):
    trace, report, _ = merger.merge(ranks("ring"))
    assert [(node["ranks"], node["source"], node["bound_ns"]) for node in report["nodes"]] == [("0-2", "reference", 0)]
    assert merger.messages(trace) == {("MPI_Send", rank, "MPI_Recv", (rank + 1) % 3): 10 for rank in range(3)}
    assert report["messages"] == 30 and report["collectives"] == 10
    assert report["unmatched_ends"] == report["incomplete_collectives"] == 0
    assert merger.lost(trace) == [] and merger.late(trace) == 0
    assert merger.rows(trace, "SELECT seen, lost FROM ledger WHERE source = 'MPI message ends'") == [[60, 0]]
    assert merger.rows(trace, "SELECT seen, lost FROM ledger WHERE source = 'MPI collectives'") == [[10, 0]]
    members = merger.rows(trace, "SELECT g.id, count(*), count(DISTINCT m.rank) FROM groups g JOIN members m ON m.\"group\" = g.id "
                                 "WHERE g.name = 'MPI_Barrier' GROUP BY 1")
    assert [row[1:] for row in members] == [[3, 3]] * 10


@pytest.mark.parametrize("what", ["requests", "groups", "windows"])
def test_the_whole_has_what_its_parts_have(ranks, merger, what):
    parts = ranks(what)
    trace, report, _ = merger.merge(parts)
    for table in ["spans", "instants", "samples", "processes", "tracks"]:
        counts = [merger.rows(part, f"SELECT count(*) FROM {table}")[0][0] for part in parts]
        assert merger.rows(trace, f"SELECT count(*) FROM {table}") == [[sum(counts)]], table
    assert report["unmatched_ends"] == report["incomplete_collectives"] == 0, merger.rows(trace, "SELECT * FROM ledger")
    assert {reason for _, reason, _ in merger.lost(trace)} <= {"it was cancelled"} and merger.late(trace) == 0
    shared = merger.rows(trace, "SELECT s.correlation, count(DISTINCT t.process) FROM spans s JOIN tracks t ON t.id = s.track "
                                "WHERE s.correlation != 0 GROUP BY 1 HAVING count(DISTINCT t.process) > 1")
    assert shared == []


def test_windows_opened_to_groups_join_both_sides(ranks, merger):
    trace, _, _ = merger.merge(ranks("exposures"))
    links = {tuple(row[:4]): row[4] for row in merger.rows(
        trace, "SELECT f.name AS a, ft.rank AS b, t.name AS c, tt.rank AS d, count(*) FROM links l JOIN spans f ON f.id = l.from_span JOIN spans t ON t.id = l.to_span "
               "JOIN tracks ft ON ft.id = f.track JOIN tracks tt ON tt.id = t.track WHERE l.kind = 'sync' AND l.confidence = 'certain' GROUP BY 1, 2, 3, 4")}
    expected = {("MPI_Put", rank, "MPI_Win_complete", rank): 2 for rank in range(3)}
    for rank in range(3):
        expected["MPI_Win_post", rank, "MPI_Win_start", (rank - 1) % 3] = 2
        expected["MPI_Win_complete", rank, "MPI_Win_wait", (rank + 1) % 3] = expected["MPI_Win_complete", rank, "MPI_Win_test", (rank + 1) % 3] = 1
    assert links == expected
    assert merger.lost(trace) == []


def test_times_of_one_clock_stay_what_they_were(ranks, merger):
    parts = ranks("ring")
    trace, _, _ = merger.merge(parts)
    starts = [int(merger.metadata(part, "start_monotonic_raw_ns")) for part in parts]
    first = int(merger.metadata(trace, "start_monotonic_raw_ns"))
    assert first == min(starts)
    query = "SELECT s.name, s.begin_ns, s.end_ns FROM spans s JOIN tracks t ON t.id = s.track WHERE t.rank = {} ORDER BY 2, 3, 1"
    for rank, part in enumerate(parts):
        own = [[name, begin + starts[rank] - first, end + starts[rank] - first] for name, begin, end in merger.rows(part, query.format(rank))]
        assert merger.rows(trace, query.format(rank)) == own


def test_a_missing_rank_is_said(ranks, merger):
    trace, report, warnings = merger.merge(ranks("ring")[1:])
    assert report["ranks"] == 2 and report["world_size"] == 3
    assert "1 of the program's 3 ranks are not in these traces" in warnings
    assert report["incomplete_collectives"] == 10 and report["messages"] == 10
    assert merger.lost(trace) == []  # nothing was lost: it is elsewhere
    assert merger.rows(trace, "SELECT reason, seen FROM ledger WHERE source = 'MPI message ends' AND reason != ''") == [
        ["the other process is not in the trace", 20]]


def test_a_trace_that_ends_early_has_what_it_has(ranks, merger):
    parts = ranks("ring")
    begins = merger.rows(parts[1], "SELECT begin_ns FROM spans WHERE name = 'MPI_Barrier' ORDER BY 1")
    short = merger.folder / "short.hpt"
    call(merger.hprofiler, "export", parts[1], "--window", f":{begins[5][0] - 1}ns", "--to", "native", "-o", short)
    trace, report, _ = merger.merge([parts[0], short, parts[2]])
    assert merger.messages(trace) == {("MPI_Send", 0, "MPI_Recv", 1): 6, ("MPI_Send", 1, "MPI_Recv", 2): 6, ("MPI_Send", 2, "MPI_Recv", 0): 10}
    assert report["unmatched_ends"] == 4 + 4 and report["incomplete_collectives"] == 5
    assert merger.late(trace) == 0
    assert merger.rows(trace, "SELECT sum(lost) FROM ledger WHERE source = 'MPI message ends'") == [[8]]


def test_one_rank_twice_is_refused(ranks, merger):
    parts = ranks("ring")
    assert "rank 1 is in" in merger.refuses([parts[0], parts[1], parts[1]])


def test_traces_of_two_runs_are_refused(ranks, merger):
    assert "of another run" in merger.refuses([ranks("ring")[0], ranks("groups")[1]])


def test_a_merged_trace_is_not_merged_again(ranks, merger):
    trace, _, _ = merger.merge(ranks("ring"))
    assert "was merged already" in merger.refuses([trace])


def test_a_foreign_trace_is_refused(merger, tmp_path):
    foreign = tmp_path / "foreign.json"
    foreign.write_text('[{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}]')
    assert "does not say which clock" in merger.refuses([foreign])


def test_an_input_is_not_overwritten(ranks, merger):
    part = ranks("ring")[0]
    done = call(merger.hprofiler, "merge-nodes", part, "-o", part, status=2)
    assert "is one of the traces" in done.stderr


@pytest.mark.parametrize("text", ["n1", "=1", "n1=", "n1=x", "n1=--1"])
def test_an_assumption_that_is_none_is_refused(merger, text):
    assert "--assume-offset needs" in merger.refuses(["x.hpt"], "--assume-offset", text, status=2)


# --- clocks that are said to be different -------------------------------------------------------------------------------


def other_clock(merger, part, ahead_ns, node="other", domain="another-boot:1"):
    """The trace as a node would have it whose clock is ahead: written as JSON, where times of all rows count from a start."""
    path = merger.folder / f"{part.stem}-{node}.json"
    call(merger.hprofiler, "export", part, "--to", "chrome", "-o", path)
    own, start = merger.metadata(part, "clock_domain"), int(merger.metadata(part, "start_monotonic_raw_ns"))
    text = path.read_text().replace(own, domain).replace(str(start), str(start + ahead_ns))
    text = text.replace(f'"name":"{os.uname().nodename}"', f'"name":"{node}"')
    path.write_text(text)
    assert merger.metadata(path, "start_monotonic_raw_ns") == str(start + ahead_ns)
    return path


def test_without_anything_to_go_by_it_is_refused(hprofiler, merger, tmp_path):
    for name in "ab":
        call(hprofiler, "run", "--backend", "cpu", "--no-summary", "-o", tmp_path / f"{name}.hpt", "--", "sleep", "0.05")
    ahead_ns = 5_000_000_000
    parts = [tmp_path / "a.hpt", other_clock(merger, tmp_path / "b.hpt", ahead_ns)]
    assert "nothing says how the clock of other stands to the others" in merger.refuses(parts)
    trace, report, _ = merger.merge(parts, "--assume-offset", "oth*=0")
    node = report["nodes"][1]
    assert node["source"] == "assumed" and node["bound_ns"] is None and abs(node["offset_ns"] + ahead_ns) < 100_000_000
    assert merger.metadata(trace, "clock.bound_ns.1") is None and merger.metadata(trace, "clock.bound_ns.0") == "0"
    _, shifted, warnings = merger.merge(parts, "--assume-offset", "other=-1.5", "--assume-offset", "nobody=0")
    assert shifted["nodes"][1]["offset_ns"] - node["offset_ns"] == 1_500_000_000
    assert "there is no such node" in warnings


def test_messages_align_what_nothing_else_does(ranks, merger):
    parts, ahead_ns = ranks("ring"), 7_000_000_000
    trace, report, _ = merger.merge([parts[0], other_clock(merger, parts[1], ahead_ns), parts[2]])
    node = next(node for node in report["nodes"] if node["name"] == "other")
    assert node["source"] == "messages" and node["ranks"] == "1"
    assert abs(node["offset_ns"] + ahead_ns) <= node["bound_ns"]
    assert report["causality"]["violations"] == 0 and merger.late(trace) == 0
    assert merger.metadata(trace, "clock.bound_ns.1") == str(node["bound_ns"])


# What a wrong probe does: the clock is off by more than its bound says, and messages come in too early.
WRONG_NS = 50_000_000


@pytest.fixture
def wrongly_probed(ranks, merger):
    parts = ranks("ring")
    part = other_clock(merger, parts[1], 0)
    start = int(merger.metadata(part, "start_monotonic_raw_ns"))
    for number, (when, time_ns) in enumerate([("begin", 1_000_000), ("end", 500_000_000)]):
        own = start + time_ns
        value = {"rank": 1, "peer": 0, "when": when, "time_ns": time_ns, "own_raw_ns": own, "peer_raw_ns": own - WRONG_NS, "error_ns": 5000, "trips": 20,
                 "own_domain": "00000000000000aa", "peer_domain": "00000000000000bb"}
        text = json.dumps(json.dumps(value, separators=(",", ":")))
        part.write_text(part.read_text().replace('["start_realtime_ns",', f'["clock.probe.1.{number}",{text}],\n["start_realtime_ns",', 1))
    assert merger.metadata(part, "clock.probe.1.1"), "the metadata of the JSON are written as they were when this test was"
    return [parts[0], part, parts[2]]


def test_violations_are_counted_and_nothing_is_moved(wrongly_probed, merger):
    trace, report, _ = merger.merge(wrongly_probed)
    node = report["nodes"][1]
    assert (node["source"], node["bound_ns"], node["offset_ns"]) == ("probes", 5000, -WRONG_NS)
    found = report["causality"]
    assert found["violations"] == found["beyond_bound"] > 0 and found["worst_ns"] < WRONG_NS
    assert report["settled_ns"] == 0 and "repaired" not in report
    assert merger.late(trace) > 0
    assert merger.metadata(trace, "causality.violations") == str(found["violations"])
    assert merger.rows(trace, "SELECT count(*) FROM tracks WHERE name = 'clock correction'") == [[0]]


@pytest.mark.parametrize("ending", ["hpt", "json"])
def test_a_repair_leaves_no_violation_and_keeps_the_raw_times(wrongly_probed, merger, ending):
    raw, _, _ = merger.merge(wrongly_probed)
    trace, report, _ = merger.merge(wrongly_probed, "--repair-causality", ending=ending)
    assert report["causality"]["violations"] > 0 and report["repaired"]["violations"] == 0
    assert report["moved_events"] > 0 and 0 < report["largest_shift_ns"] <= WRONG_NS
    assert merger.late(trace) == 0
    assert merger.metadata(trace, "causality.largest_shift_ns") == str(report["largest_shift_ns"])
    points = merger.rows(trace, "SELECT t.process, c.time_ns, c.value FROM counters c JOIN tracks t ON t.id = c.track WHERE t.name = 'clock correction' ORDER BY 1, 2")
    assert max(value for _, _, value in points) == report["largest_shift_ns"] and min(value for _, _, value in points) >= 0
    node_of = dict(merger.rows(trace, "SELECT id, node FROM processes"))
    query = "SELECT t.process, s.name, s.begin_ns, s.end_ns FROM spans s JOIN tracks t ON t.id = s.track ORDER BY t.process, t.id, s.begin_ns, s.end_ns DESC, s.name"
    before, after = merger.rows(raw, query), merger.rows(trace, query)
    assert len(before) == len(after) > 0
    moved = 0
    for (process, name, begin, end), (there, same, new_begin, new_end) in zip(before, after):
        assert (process, name) == (there, same)
        own = [(at, value) for owner, at, value in points if node_of[owner] == node_of[process]]
        for old, new in [(begin, new_begin), (end, new_end)]:
            assert abs(new - correction(own, new) - old) <= 1
            moved += new > old
    assert moved > 0


def correction(points, time_ns):
    if not points or time_ns <= points[0][0] or time_ns >= points[-1][0]:
        return points[0][1] if points and time_ns == points[0][0] else points[-1][1] if points and time_ns == points[-1][0] else 0
    for (left, low), (right, high) in zip(points, points[1:]):
        if left <= time_ns <= right:
            return low + (high - low) * (time_ns - left) / (right - left)
    raise AssertionError


def test_damaged_numbers_are_survived(ranks, merger):
    """Digits of a trace in JSON are changed: it is merged or refused, and nothing else happens."""
    parts, chosen = ranks("ring"), random.Random(7)
    text = other_clock(merger, parts[1], 0).read_bytes()
    digits = [place for place, byte in enumerate(text) if 48 <= byte <= 57]
    damaged = merger.folder / "damaged.json"
    for number in range(40):
        wrong = bytearray(text)
        for place in sorted(chosen.sample(digits, 4), reverse=True):
            wrong[place:place + 1] = chosen.choice([b"0", b"9", b"-", b"99999", b"9999999999999"])
        damaged.write_bytes(wrong)
        options = ["--repair-causality"] if number % 2 else []
        done = subprocess.run([merger.hprofiler, "merge-nodes", parts[0], damaged, parts[2], "-o", merger.folder / "whole.hpt", *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("hprofiler")), done.stderr


# --- a cluster ----------------------------------------------------------------------------------------------------------


class Cluster:
    def __init__(self, hprofiler, folder, library):
        self.hprofiler, self.folder, self.library, self.runs = hprofiler, folder, library, 0

    def record(self, program, *arguments, probes="1"):
        """Traces of the four ranks, and the moment from which clocks drift. Before others: round trips are to be short."""
        self.runs += 1
        epoch_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        call("nice", "-n", "-15", CLUSTER, "-n", RANKS, "-o", ",".join(map(str, OFFSETS_S)), "-s", ",".join(map(str, DRIFTS_PPM)), "-l", self.library, "--",
             "env", f"HPROFILER_MPI_PROBES={probes}", self.hprofiler, "run", "--backend", "mpi", "--no-summary", "-o",
             self.folder / f"run{self.runs}.%r.hpt", "--", program, *arguments, env={**os.environ, "HP_SKEW_EPOCH_NS": str(epoch_ns)})
        return [self.folder / f"run{self.runs}.{rank}.hpt" for rank in range(RANKS)], epoch_ns


@pytest.fixture(scope="module")
def cluster(hprofiler, tmp_path_factory):
    need_collector(hprofiler, "openmpi")
    if os.geteuid() != 0:
        pytest.skip("nodes with clocks of their own are made of namespaces: needs root")
    for tool in ["unshare", "ip", "cc"]:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("cluster")
    program = build_program("openmpi", folder)
    library = folder / "clock_skew.so"
    call("cc", "-O1", "-shared", "-fPIC", "-o", library, TESTS / "cluster/clock_skew.c")
    tried = subprocess.run([CLUSTER, "-n", "2", "-o", "0,5", "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if tried.returncode != 0:
        pytest.skip(f"no namespaces with network and clocks here: {tried.stderr.strip().splitlines()[-1:]}")
    return Cluster(hprofiler, folder, library), program


def errors_ns(merger, trace, report, epoch_ns):
    """(node, error, bound) at each point at which a clock was compared, against what the clock really was."""
    found = []
    for index, row in enumerate(report["nodes"]):
        node = int(row["name"].removeprefix("n"))
        for own, reference, bound in json.loads(merger.metadata(trace, f"clock.node.{index}")).get("points", []):
            million = 10 ** 6
            unskewed = fractions.Fraction(own * million + DRIFTS_PPM[node] * epoch_ns, million + DRIFTS_PPM[node])
            found.append((node, float(reference - (unskewed - OFFSETS_S[node] * 10 ** 9)), bound))
    return found


def test_clocks_of_four_nodes_by_probes(cluster, merger):
    machine, program = cluster
    judged = set()
    for _ in range(8):
        parts, epoch_ns = machine.record(program, "ring")
        trace, report, _ = merger.merge(parts)
        assert [(node["name"], node["ranks"], node["source"]) for node in sorted(report["nodes"], key=lambda node: node["name"])] == [
            ("n0", "0", "reference"), ("n1", "1", "probes"), ("n2", "2", "probes"), ("n3", "3", "probes")]
        assert report["messages"] == 40 and report["collectives"] == 10 and report["causality"]["checked"] == 80
        assert merger.messages(trace) == {("MPI_Send", rank, "MPI_Recv", (rank + 1) % RANKS): 10 for rank in range(RANKS)}
        errors = errors_ns(merger, trace, report, epoch_ns)
        assert [node for node, _, _ in sorted(errors)] == [1, 1, 2, 2, 3, 3]
        assert all(abs(error) <= bound for _, error, bound in errors), errors  # however busy the machine is
        quick = [bound < QUICK_BOUND_NS for _, _, bound in errors]
        assert all(abs(error) < 20000 for (_, error, _), judge in zip(errors, quick) if judge), errors
        assert report["causality"]["beyond_bound"] == 0
        if all(quick):
            assert report["causality"]["violations"] == 0 and merger.late(trace) == 0, report
        judged |= {(node, place % 2) for place, ((node, _, _), judge) in enumerate(zip(errors, quick)) if judge}
        if len(judged) == 6:
            return
    pytest.skip("round trips between the nodes take too long: the machine is too busy")


def test_clocks_of_four_nodes_by_messages(cluster, merger):
    machine, program = cluster
    parts, epoch_ns = machine.record(program, "ring", probes="0")
    trace, report, _ = merger.merge(parts)
    errors = errors_ns(merger, trace, report, epoch_ns)
    assert {node["source"] for node in report["nodes"]} == {"reference", "messages"}
    assert errors and all(abs(error) <= bound for _, error, bound in errors), errors
    repaired, report, _ = merger.merge(parts, "--repair-causality")
    assert report["repaired"]["violations"] == 0 and merger.late(repaired) == 0


def test_the_reference_may_be_missing(cluster, merger):
    machine, program = cluster
    parts, epoch_ns = machine.record(program, "ring")
    trace, report, _ = merger.merge(parts[1:])
    assert {node["source"] for node in report["nodes"]} == {"probes"}, "all were compared with rank 0's clock, which has no trace here"
    errors = errors_ns(merger, trace, report, epoch_ns)
    assert len(errors) == 6 and all(abs(error) <= bound for _, error, bound in errors), errors
