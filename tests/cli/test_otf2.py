# SPDX-License-Identifier: MIT
"""Archives of another tool (EZTrace), recorded here of a program whose critical path is known: what is in them, and the path."""
import collections
import json
import os
import shutil
import subprocess

import pytest

LAUNCHER = ["mpirun.openmpi", "-np", "2"]
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@pytest.fixture(scope="module")
def archive(apps, hprofiler, tmp_path_factory):
    """The anchor file; EZTrace leaves its archive where the program runs."""
    program = apps / "otf2_chain-openmpi"
    if not shutil.which("eztrace") or not shutil.which(LAUNCHER[0]) or not program.exists():
        pytest.skip("needs eztrace and Open MPI")
    folder = tmp_path_factory.mktemp("otf2")
    done = subprocess.run([*LAUNCHER, "eztrace", "-t", "openmpi", program], cwd=folder, env={**os.environ, **ROOT}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    anchors = list(folder.glob("*/*.otf2"))
    if done.returncode or not anchors:
        pytest.skip(f"eztrace records nothing here: {done.stderr.strip()[-200:]}")
    shown = subprocess.run([hprofiler, "summary", anchors[0]], capture_output=True, text=True, timeout=60)
    if "built without OTF2" in shown.stderr:
        pytest.skip("hprofiler was built without the OTF2 library")
    return anchors[0]


def rows(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_regions_messages_and_collectives(hprofiler, archive):
    ranks = rows(hprofiler, archive, "select rank, count(*) as n from tracks where kind = 'thread' group by rank order by rank")
    assert ranks == [{"rank": 0, "n": 1}, {"rank": 1, "n": 1}]
    kinds = rows(hprofiler, archive, "select name, kind, count(*) as n from spans where category = 'mpi' group by name, kind order by name")
    assert {(row["name"], row["kind"]): row["n"] for row in kinds} == {
        ("MPI_Allreduce", "collective"): 2, ("MPI_Barrier", "collective"): 2, ("MPI_Bcast", "collective"): 2, ("MPI_Irecv", "recv"): 2,
        ("MPI_Isend", "send"): 2, ("MPI_Recv", "recv"): 10, ("MPI_Send", "send"): 10, ("MPI_Waitall", "wait"): 2}
    links = rows(hprofiler, archive, "select f.name as source, t.name as target, l.confidence, count(*) as n from links l join spans f on f.id = l.from_span "
                                     "join spans t on t.id = l.to_span where l.kind = 'message' group by 1, 2, 3")
    assert links == [{"source": "MPI_Send", "target": "MPI_Recv", "confidence": "certain", "n": 10}]
    groups = rows(hprofiler, archive, 'select g.name, count(*) as n from members m join groups g on g.id = m."group" group by g.id order by g.name')
    assert groups == [{"name": name, "n": 2} for name in ("MPI_Allreduce", "MPI_Barrier", "MPI_Bcast")]
    sizes = rows(hprofiler, archive, "select distinct json_extract(args, '$.send_bytes') as bytes from spans where kind = 'send'")
    assert sizes == [{"bytes": 4}]


def test_durations_are_the_programs_own(hprofiler, archive):
    """Rank 1 waits for rank 0's 60 ms, five times, and rank 0 for rank 1's 40. A busy machine lets each sleep longer, but no longer than the run."""
    waits = rows(hprofiler, archive, "select t.rank, min(s.end_ns - s.begin_ns) as least from spans s join tracks t on t.id = s.track "
                                     "where s.name = 'MPI_Recv' group by t.rank order by t.rank")
    whole, = rows(hprofiler, archive, "select max(end_ns) - min(begin_ns) as ns from spans")
    assert 40e6 <= waits[0]["least"] < whole["ns"] / 5, waits
    assert 55e6 <= waits[1]["least"] < whole["ns"] / 5, waits


def path_of(hprofiler, archive):
    done = subprocess.run([hprofiler, "critical-path", archive, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def working_on(path, rank):
    return sum(row["time_ns"] for row in path["composition"] if row["name"] == "Working" and row["lane"].startswith(f"rank {rank} "))


def test_the_path_is_the_known_one(hprofiler, archive):
    """EZTrace lets each process begin its clock at its own start: they are aligned by the messages. The path takes turns: five times rank 0's 60 ms
    and rank 1's 40, each of which the other one waits for."""
    path = path_of(hprofiler, archive)
    assert working_on(path, 0) >= 5 * 60e6 and working_on(path, 1) >= 5 * 40e6, path["composition"]
    assert not any(row["name"] == "MPI_Recv" for row in path["composition"]), "no rank waits on the path"
    turns = collections.Counter()
    for hop in path["hops"]:
        if hop["name"] == "Working" and hop["duration_ns"] / hop["repeats"] > 30e6:
            turns[hop["lane"][:6]] += hop["repeats"]
    assert turns == {"rank 0": 5, "rank 1": 5}


def test_what_if_half_of_one_ranks_turns(hprofiler, archive):
    done = subprocess.run([hprofiler, "what-if", archive, "--scale", "name=Working,rank=1:0.5", "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["replayed_ns"] == found["measured_ns"]
    turns_ns = working_on(path_of(hprofiler, archive), 1)
    assert turns_ns >= 5 * 40e6
    assert found["measured_ns"] - found["predicted_ns"] == pytest.approx(turns_ns / 2, rel=0.05), found


def test_merge_nodes_aligns_an_archives_clocks(hprofiler, archive, tmp_path):
    merged = tmp_path / "merged.hpt"
    done = subprocess.run([hprofiler, "merge-nodes", archive, "-o", merged, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["messages"] == 10
    assert rows(hprofiler, merged, "select count(*) as n from links where kind = 'message'") == [{"n": 10}]
    assert rows(hprofiler, merged, "select count(*) as n from processes") == [{"n": 2}]


def test_a_damaged_archive_is_an_error(hprofiler, archive, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(archive.parent, copy)
    for file in copy.glob("*.def"):
        file.write_bytes(file.read_bytes()[:40])
    done = subprocess.run([hprofiler, "summary", copy / archive.name], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "cannot read the OTF2 archive" in done.stderr, done.stderr
