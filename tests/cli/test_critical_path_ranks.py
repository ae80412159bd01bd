# SPDX-License-Identifier: MIT
"""`critical-path` of several traces, one a rank: the answer is that of the merged trace, to the byte."""
import json
import os
import shutil
import subprocess

import pytest

RANKS = 3
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": ["mpirun.mpich"]}
PROGRAMS = ["any", "fence", "hybrid"]


def call(*command, status=0):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module", params=LAUNCHERS)
def record(request, hprofiler, apps, tmp_path_factory):
    """Records one of graph_mpi's programs under each launcher, a trace a rank."""
    program = apps / f"graph_mpi-{request.param}"
    if not program.exists() or not shutil.which(LAUNCHERS[request.param][0]):
        pytest.skip(f"no MPI program or launcher of {request.param}")
    folder = tmp_path_factory.mktemp("ranks")

    def make(what, ending="hpt"):
        traces = [folder / f"{what}.{rank}.{ending}" for rank in range(RANKS)]
        if traces[0].exists():
            return traces
        call(*LAUNCHERS[request.param], "-np", RANKS, hprofiler, "run", "-b", "cpu,mpi,openmp" if what == "hybrid" else "cpu,mpi", "--no-summary",
             "-o", folder / f"{what}.%r.{ending}", "--", program, what, 3)
        return traces
    yield make
    shutil.rmtree(folder, ignore_errors=True)


def merged(hprofiler, traces, folder):
    whole = folder / "whole.hpt"
    call(hprofiler, "merge-nodes", *traces, "-o", whole)
    return whole


@pytest.mark.parametrize("what", PROGRAMS)
def test_ranks_have_the_path_of_the_whole(hprofiler, record, tmp_path, what):
    traces = record(what)
    whole = merged(hprofiler, traces, tmp_path)
    texts = {}
    for options in ("--format json", "--top 5 --by function"):
        texts[options] = call(hprofiler, "critical-path", *traces, *options.split()).stdout
        assert texts[options] == call(hprofiler, "critical-path", whole, *options.split()).stdout
    path = json.loads(texts["--format json"])
    # Edges lead from trace to trace: no rank alone has as many, nor waits that are explained.
    assert {"collective"} <= {row["rule"] for row in path["edges"]}
    alone = [json.loads(call(hprofiler, "critical-path", trace, "--format", "json").stdout) for trace in traces]
    assert path["graph"]["edges"] > sum(one["graph"]["edges"] for one in alone)
    assert path["graph"]["unexplained_ns"] < sum(one["graph"]["unexplained_ns"] for one in alone)


def test_the_track_of_ranks_is_that_of_the_whole(hprofiler, record, tmp_path):
    traces = record("exchange", "hprofiler.json")
    whole = merged(hprofiler, traces, tmp_path)
    call(hprofiler, "critical-path", *traces, "-o", tmp_path / "ranks.hprofiler.json")
    call(hprofiler, "critical-path", whole, "-o", tmp_path / "of_whole.hprofiler.json")
    assert (tmp_path / "ranks.hprofiler.json").read_bytes() == (tmp_path / "of_whole.hprofiler.json").read_bytes()


def test_what_is_no_run_is_refused(hprofiler, record, tmp_path):
    traces = record("any")
    copy = tmp_path / "copy.hpt"
    shutil.copy(traces[0], copy)
    assert "rank 0 is in" in call(hprofiler, "critical-path", traces[0], copy, status=1).stderr
    assert "merged already" in call(hprofiler, "critical-path", merged(hprofiler, traces, tmp_path), traces[1], status=1).stderr
    assert "hprofiler merge-nodes" in call(hprofiler, "efficiency", *traces, status=1).stderr
    before = traces[2].read_bytes()
    assert "lost" in call(hprofiler, "critical-path", *traces, "-o", traces[2], status=2).stderr
    assert traces[2].read_bytes() == before
