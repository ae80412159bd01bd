# SPDX-License-Identifier: MIT
"""The NCCL profiler plugin, driven as NCCL drives it (tests/fakes/nccl_drive): operations, their kernels, their times."""
import json
import os
import pathlib
import subprocess

import pytest

RANKS, COLLECTIVES = 3, 8


@pytest.fixture(scope="module")
def record(hprofiler, apps):
    drive = apps.parent / "fakes/nccl_drive"
    if not drive.exists() or not (pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_nccl.so").exists():
        pytest.skip("the NCCL plugin or its driver is not built")

    def run(path, *arguments):
        environment = {key: value for key, value in os.environ.items() if key != "NCCL_PROFILER_PLUGIN"}
        done = subprocess.run([hprofiler, "run", "--no-summary", "-o", path, "--", drive, *map(str, arguments)],
                              env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done
    return run


@pytest.fixture(scope="module", params=[4, 5, 6])
def trace(request, record, tmp_path_factory):
    path = tmp_path_factory.mktemp("nccl") / "trace.hpt"
    done = record(path, request.param, RANKS, COLLECTIVES)
    assert done.stdout.startswith(f"collectives {RANKS * COLLECTIVES}\n")
    return path


@pytest.fixture
def query(hprofiler):
    def ask(trace, sql):
        done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)
    return ask


def test_each_rank_has_each_collective_once_with_its_sizes(trace, query):
    rows = [json.loads(row["args"]) for row in query(trace, "select args from spans where kind = 'collective' and category = 'nccl'")]
    assert sorted(row["sequence"] for row in rows) == sorted(list(range(COLLECTIVES)) * RANKS)
    assert {(row["comm"], row["bytes_sent"], row["algorithm"], row["protocol"], row["channels"]) for row in rows} == {
        (0xabcdef, 4096, "RING", "LL", 2)}


def test_a_collective_lasts_until_its_kernel_has_ended(trace, query):
    lengths = [row["n"] for row in query(trace, "select end_ns - begin_ns as n from spans where kind = 'collective'")]
    assert min(lengths) >= 400_000  # two pauses of 200 us lie between enqueuing and the channels' end
    kernels = [row["n"] for row in query(trace, "select end_ns - begin_ns as n from spans where kind = 'kernel'")]
    assert len(kernels) == RANKS * COLLECTIVES and min(kernels) >= 200_000


def test_kernels_times_are_placed_within_their_operations(trace, query):
    pairs = query(trace, "select o.begin_ns as ob, o.end_ns as oe, k.begin_ns as kb, k.end_ns as ke from spans o join tracks ot on ot.id = o.track "
                  "join tracks kt on kt.kind = 'stream' and kt.stream = ot.stream and kt.id != ot.id join spans k on k.track = kt.id "
                  "where o.kind = 'collective' and k.kind = 'kernel' and k.begin_ns < o.end_ns and k.end_ns > o.begin_ns")
    error = int(query(trace, "select value from metadata where key like 'clock.device.%.error_ns'")[0]["value"])
    assert len(pairs) >= RANKS * COLLECTIVES
    inside = [row for row in pairs if row["kb"] >= row["ob"] - error and row["ke"] <= row["oe"] + error]
    assert len(inside) >= RANKS * COLLECTIVES


def test_ranks_of_one_collective_are_a_group(trace, query):
    rows = query(trace, "select g.sequence as sequence, count(*) as n, count(distinct m.rank) as ranks from groups g join members m on m.\"group\" = g.id "
                 "where g.kind = 'collective' group by g.id")
    assert sorted(row["sequence"] for row in rows) == list(range(COLLECTIVES))
    assert {(row["n"], row["ranks"]) for row in rows} == {(RANKS, RANKS)}


def test_nothing_is_lost(trace, query):
    assert query(trace, "select * from ledger where lost > 0") == []


def test_a_kernel_that_outlives_its_communicator_ends_no_other_operation(record, query, tmp_path):
    record(tmp_path / "trace.hpt", 5, "late")
    lengths = [row["n"] for row in query(tmp_path / "trace.hpt", "select end_ns - begin_ns as n from spans where kind = 'collective' order by begin_ns")]
    assert len(lengths) == 2
    assert lengths[1] >= 20_000_000  # its own channels end after that long
