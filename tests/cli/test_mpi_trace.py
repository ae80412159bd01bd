# SPDX-License-Identifier: MIT
"""Real MPI programs around a launcher, with every MPI that is installed: messages, requests, collectives and windows are joined across
ranks, and ranks that die leave what they did."""
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "apps/mpi_trace.c"
RANKS = 3
FLAGS = {"openmpi": ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": []}


class Mpi:
    """One MPI of this machine, and the program built with it."""

    def __init__(self, family, hprofiler, folder):
        self.launcher, self.hprofiler, self.folder, self.runs = [f"mpirun.{family}", *FLAGS[family]], hprofiler, folder, 0
        self.program = folder / "mpi_trace"
        subprocess.run([f"mpicc.{family}", "-O1", "-g", "-w", "-o", self.program, SOURCE], check=True, timeout=120)

    def launch(self, *arguments, ranks=RANKS):
        return [*self.launcher, "-np", str(ranks), str(self.program), *arguments]

    def trace(self, *arguments, status=0, ranks=RANKS, options=()):
        self.runs += 1
        trace = self.folder / f"run{self.runs}.hpt"
        done = subprocess.run([self.hprofiler, "run", "--backend", "mpi", "--no-summary", *options, "-o", trace, "--", *self.launch(*arguments, ranks=ranks)],
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stderr
        return Trace(self.hprofiler, trace)


class Trace:
    def __init__(self, hprofiler, path):
        self.hprofiler, self.path = hprofiler, path

    def rows(self, sql):
        done = subprocess.run([self.hprofiler, "query", "--format", "csv", str(self.path), sql], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return sorted(tuple(line.split(",")) for line in done.stdout.splitlines()[1:])

    def number(self, sql):
        return int(self.rows(sql)[0][0])

    def links(self, kind):
        """How often (name, rank) leads to (name, rank), with the confidence."""
        return {(*row[:4], row[4]): int(row[5]) for row in self.rows(
            "SELECT f.name, ft.rank, t.name, tt.rank, l.confidence, count(*) FROM links l JOIN spans f ON f.id = l.from_span JOIN spans t ON t.id = l.to_span "
            f"JOIN tracks ft ON ft.id = f.track JOIN tracks tt ON tt.id = t.track WHERE l.kind = '{kind}' GROUP BY 1, 2, 3, 4, 5")}

    def lost(self, source):
        return self.rows(f"SELECT reason, lost FROM ledger WHERE source LIKE '{source}' AND lost > 0")


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request, hprofiler, tmp_path_factory):
    if not shutil.which(f"mpicc.{request.param}") or not shutil.which(f"mpirun.{request.param}"):
        pytest.skip(f"{request.param} is not installed")
    if not (pathlib.Path(hprofiler).parents[1] / f"lib/libhprofiler_mpi-{request.param}.so").exists():
        pytest.skip(f"the collector for {request.param} is not built")
    return Mpi(request.param, hprofiler, tmp_path_factory.mktemp(request.param))


def test_messages_of_a_ring(mpi):
    trace = mpi.trace("ring")
    assert trace.links("message") == {("MPI_Send", str(rank), "MPI_Recv", str((rank + 1) % RANKS), "certain"): 10 for rank in range(RANKS)}
    assert trace.lost("MPI%") == []
    late = trace.number("SELECT count(*) FROM links l JOIN spans f ON f.id = l.from_span JOIN spans t ON t.id = l.to_span "
                        "WHERE l.kind = 'message' AND t.end_ns < f.begin_ns")
    assert late == 0, "nothing is received before it is sent"


def test_a_receive_from_nobody_takes_no_message(mpi):
    trace = mpi.trace("nobody", ranks=2)
    assert trace.links("message") == {("MPI_Send", "0", "MPI_Recv", "1", "certain"): 1}
    assert trace.rows("SELECT json_extract(args, '$.receive_from'), json_extract(args, '$.receive_bytes') FROM spans WHERE name = 'MPI_Irecv'") == [("-1", "0")]


def test_ranks_and_communicators_have_names(mpi):
    trace = mpi.trace("groups")
    assert trace.rows("SELECT DISTINCT t.name, t.rank FROM tracks t JOIN spans s ON s.track = t.id WHERE s.category = 'mpi'") == [
        (f"rank {rank}", str(rank)) for rank in range(RANKS)]
    assert trace.rows("SELECT value FROM metadata WHERE key = 'mpi.world_size'") == [(str(RANKS),)]
    comms = trace.rows("SELECT json_extract(value, '$.size'), replace(json_extract(value, '$.ranks'), ',', '+') FROM metadata "
                       "WHERE key LIKE 'mpi.comm.%' AND json_extract(value, '$.kind') = 'communicator'")
    for members in [("3", "0-2"), ("2", "0+2"), ("1", "1")]:
        assert members in comms
    assert comms.count(("3", "0-2")) == 2, "the world and its copy"


def test_collectives_are_joined(mpi):
    trace = mpi.trace("groups")
    groups = trace.rows("SELECT g.name, count(*), count(DISTINCT m.rank) FROM groups g JOIN members m ON m.\"group\" = g.id "
                        "WHERE g.kind = 'collective' GROUP BY g.id")
    sizes = {}
    for name, members, ranks in groups:
        assert members == ranks
        sizes.setdefault(name, []).append(int(members))
    assert sizes["MPI_Bcast"] == [3, 3]
    assert sizes["MPI_Allreduce"] == [2]
    assert sizes["MPI_Comm_split"] == [3] and sizes["MPI_Comm_dup"] == [3]
    assert trace.lost("MPI%") == []


def test_requests_lead_to_their_wait_and_wildcards_are_resolved(mpi):
    trace = mpi.trace("requests")
    everybody = [(str(source), str(target)) for source in range(RANKS) for target in range(RANKS)]
    assert trace.links("message") == {("MPI_Isend", source, "MPI_Irecv", target, "certain"): 1 for source, target in everybody}
    requests = trace.links("request")
    for rank in map(str, range(RANKS)):
        assert requests["MPI_Irecv", rank, "MPI_Waitall", rank, "certain"] == RANKS
        assert requests["MPI_Isend", rank, "MPI_Waitall", rank, "certain"] == RANKS
        assert requests["MPI_Irecv", rank, "MPI_Wait", rank, "certain"] == 1
    sources = trace.rows("SELECT t.rank, json_extract(s.args, '$.receive_from') FROM spans s JOIN tracks t ON t.id = s.track "
                         "WHERE s.name = 'MPI_Irecv' AND json_extract(s.args, '$.receive_tag') = 5")
    assert sources == sorted((target, source) for source, target in everybody)
    assert trace.lost("MPI message ends") == [("it was cancelled", str(RANKS))]


def test_accesses_lead_to_what_completes_them(mpi):
    trace = mpi.trace("windows")
    assert trace.links("sync") == {("MPI_Put", rank, closing, rank, confidence): 1 for rank in map(str, range(RANKS)) for closing, confidence in
                                   [("MPI_Win_fence", "certain"), ("MPI_Win_flush", "high"), ("MPI_Win_unlock", "high")]}
    assert trace.rows("SELECT count(*), count(DISTINCT m.rank) FROM groups g JOIN members m ON m.\"group\" = g.id "
                      "WHERE g.name = 'MPI_Win_fence' GROUP BY g.id") == [("3", "3"), ("3", "3")]
    assert trace.lost("MPI%") == []


def test_windows_opened_to_groups_join_both_sides(mpi):
    trace = mpi.trace("exposures")
    expected = {("MPI_Put", str(rank), "MPI_Win_complete", str(rank), "certain"): 2 for rank in range(RANKS)}
    for rank in range(RANKS):
        left, right = str((rank - 1) % RANKS), str((rank + 1) % RANKS)
        expected["MPI_Win_post", str(rank), "MPI_Win_start", left, "certain"] = 2
        for end in ("MPI_Win_wait", "MPI_Win_test"):
            expected["MPI_Win_complete", str(rank), end, right, "certain"] = 1
    assert trace.links("sync") == expected
    assert trace.lost("MPI%") == []


@pytest.mark.parametrize("end", ["kill", "abort", "segfault"])
def test_what_ranks_did_before_one_died_is_there(mpi, end):
    bare = subprocess.run(mpi.launch(end), cwd=mpi.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    trace = mpi.trace(end, status=128 - bare.returncode if bare.returncode < 0 else bare.returncode)
    assert bare.returncode != 0
    assert trace.links("message") == {("MPI_Send", str(rank), "MPI_Recv", str((rank + 1) % RANKS), "certain"): 5 for rank in range(RANKS)}
    whole = trace.number("SELECT count(*) FROM (SELECT 1 FROM groups g JOIN members m ON m.\"group\" = g.id WHERE g.name = 'MPI_Barrier' "
                         f"GROUP BY g.id HAVING count(*) = {RANKS})")
    assert whole >= 5


def test_a_flight_recorder_shifts_no_message(mpi):
    count = 60000
    trace = mpi.trace("many", str(count), ranks=2, options=["--buffer-limit", "6M"])
    kept = trace.number("SELECT count(*) FROM spans WHERE name = 'MPI_Recv'")
    assert 0 < kept < count, "the limit must bite, and leave some of either rank"
    # The n-th send has the n-th number of its process, and so has the n-th receive.
    assert trace.number("SELECT count(*) FROM links l JOIN spans f ON f.id = l.from_span JOIN spans t ON t.id = l.to_span WHERE l.kind = 'message' "
                        "AND json_extract(f.args, '$.order') <> json_extract(t.args, '$.order')") == 0
    links = trace.links("message")
    assert set(links) == {("MPI_Send", "0", "MPI_Recv", "1", "high")}
    assert trace.lost("MPI message ends")


def test_the_summary_has_ranks_and_communicators(mpi):
    trace = mpi.trace("ring")
    text = subprocess.run([mpi.hprofiler, "summary", str(trace.path)], capture_output=True, text=True, timeout=60).stdout
    assert f"{RANKS} ranks" in text and "MPI_COMM_WORLD" in text
