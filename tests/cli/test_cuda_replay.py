# SPDX-License-Identifier: MIT
"""The CUDA collector on what a real CUPTI said: counts, payloads, lanes and links of tests/gpu/cuda_counts' runs."""
import collections
import gzip
import json
import os
import pathlib
import subprocess

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/cupti"


@pytest.fixture(scope="module")
def replay(hprofiler, apps, tmp_path_factory):
    """A function: the trace of a recorded run."""
    fakes = apps.parent / "fakes"
    collector = pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_cuda.so"
    if not (fakes / "cupti_play").exists() or not collector.exists():
        pytest.skip("the CUDA collector or its stand-in CUPTI is not built")
    folder = tmp_path_factory.mktemp("cuda")

    def run(mode, *options):
        recording, trace = folder / f"{mode}.rec", folder / f"{mode}.hpt"
        recording.write_bytes(gzip.decompress((DATA / f"{mode}.rec.gz").read_bytes()))
        environment = {**os.environ, "CUPTI_RECORDING": str(recording), "HPROFILER_CUPTI": str(fakes / "libcupti_fake.so")}
        environment.pop("CUDA_INJECTION64_PATH", None)
        done = subprocess.run([hprofiler, "run", "--no-summary", *options, "-o", trace, "--", fakes / "cupti_play"], env=environment,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return trace

    return run


@pytest.fixture(scope="module")
def plain(replay):
    return replay("plain")


@pytest.fixture
def query(hprofiler):
    def ask(trace, sql):
        done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)
    return ask


def counts(query, trace):
    rows = query(trace, "select kind, count(*) as n from spans where category = 'cuda' group by kind")
    return {row["kind"]: row["n"] for row in rows}


def test_every_kernel_copy_and_fill_of_a_run_is_there_once(plain, query):
    found = counts(query, plain)
    assert {kind: found[kind] for kind in ("kernel", "copy", "fill", "launch")} == {"kernel": 1000, "copy": 201, "fill": 50, "launch": 1000}


def test_kernels_have_peoples_names_and_their_launch(plain, query):
    assert query(plain, "select distinct name from spans where kind = 'kernel'") == [{"name": "add_kernel"}]
    links = query(plain, "select a.name as launch, b.kind as kind, l.confidence as confidence, count(*) as n from links l "
                  "join spans a on a.id = l.from_span join spans b on b.id = l.to_span where l.kind = 'launch' group by 1, 2, 3")
    assert {(row["launch"], row["kind"], row["n"]) for row in links} == {
        ("cudaLaunchKernel", "kernel", 1000), ("cudaMemcpyAsync", "copy", 200), ("cudaMemcpy", "copy", 1), ("cudaMemsetAsync", "fill", 50)}
    assert {row["confidence"] for row in links} == {"certain"}


def test_sizes_and_addresses_come_from_where_they_are_known(plain, query):
    kernel = json.loads(query(plain, "select args from spans where kind = 'kernel' limit 1")[0]["args"])
    assert (kernel["grid_x"], kernel["block_x"], kernel["context"]) == (256, 256, 1) and kernel["registers"] > 0
    copies = collections.Counter()
    for row in query(plain, "select args from spans where kind = 'copy'"):
        copy = json.loads(row["args"])
        copies[copy["direction"], copy["source_memory"], copy["destination_memory"]] += copy["bytes"]
    assert copies == {("host-to-device", "pinned", "device"): 100 * 4096, ("device-to-host", "device", "pinned"): 100 * 8192 + 262144}
    allocated = json.loads(query(plain, "select args from spans where name = 'cudaMalloc'")[0]["args"])
    freed = json.loads(query(plain, "select args from spans where name = 'cudaFree'")[0]["args"])
    assert allocated["bytes"] == 262144 and allocated["address"] == freed["address"] != 0


def test_each_stream_is_a_lane_of_its_device(plain, query):
    lanes = query(plain, "select t.name, t.device, count(*) as n from spans s join tracks t on t.id = s.track where t.kind = 'stream' "
                  "group by t.id order by n desc")
    assert sum(row["n"] for row in lanes) == 1251 and {row["device"] for row in lanes} == {0}
    assert len(lanes) == 4 and lanes[-1] == {"name": "stream 7 (default), context 1", "device": 0, "n": 1}


def test_nodes_of_a_graph_are_spans_of_their_own(replay, query):
    trace = replay("graph")
    found = counts(query, trace)
    assert (found["kernel"], found["fill"]) == (200, 20)
    nodes = query(trace, "select count(distinct json_extract(args, '$.graph_node')) as n from spans where kind = 'kernel'")
    assert nodes == [{"n": 10}]
    launches = query(trace, "select a.name, count(*) as n from links l join spans a on a.id = l.from_span where l.kind = 'launch' group by 1")
    assert launches == [{"name": "cudaGraphLaunch", "n": 220}]


def test_nothing_is_lost_or_refused(plain, query):
    assert query(plain, "select * from ledger where lost > 0") == []
    device = query(plain, "select seen, recorded from ledger where source = 'cuda device records'")
    assert device == [{"seen": 1251, "recorded": 1251}]
