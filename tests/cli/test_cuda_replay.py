# SPDX-License-Identifier: MIT
"""The CUDA collector on what a real CUPTI said: counts, payloads, lanes and links of tests/gpu/cuda_counts' runs."""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
DATA = TESTS / "data/cupti"
sys.path.insert(0, str(TESTS / "gpu"))
import counts as gpu_counts  # the checks that are made on a machine with a GPU, too


@pytest.fixture(scope="module")
def replay(hprofiler, apps, tmp_path_factory):
    """A function: the trace of a recorded run."""
    fakes = apps.parent / "fakes"
    collector = pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_cuda.so"
    if not (fakes / "cupti_play").exists() or not collector.exists():
        pytest.skip("the CUDA collector or its stand-in CUPTI is not built")
    folder = tmp_path_factory.mktemp("cuda")

    def run(mode, *options, pace=False):
        recording, trace = folder / f"{mode}.rec", folder / f"{mode}.hpt"
        recording.write_bytes(gzip.decompress((DATA / f"{mode}.rec.gz").read_bytes()))
        environment = {**os.environ, "CUPTI_RECORDING": str(recording), "HPROFILER_CUPTI": str(fakes / "libcupti_fake.so")}
        environment.pop("CUDA_INJECTION64_PATH", None)
        environment.update({"CUPTI_RECORDING_PACE": "1"} if pace else {})
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
                  "and s.kind in ('kernel', 'copy', 'fill') group by t.id order by n desc")
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


@pytest.fixture(scope="module")
def order(replay):
    return replay("order", pace=True)


def test_recordings_waits_and_synchronisations_name_what_they_wait_for(order, hprofiler):
    assert gpu_counts.order_problems(hprofiler, order) == []


def test_lanes_say_what_sort_of_stream_they_are(order, query):
    names = {row["name"] for row in query(order, "select name from tracks where kind = 'stream' and device = 0")}
    assert names == {"stream 13, context 1", "stream 14 (non-blocking), context 1", "stream 15, context 1", "stream 7 (default), context 1"}


def test_calls_within_a_capture_are_marked_and_not_numbered(order, query):
    rows = [json.loads(row["args"]) for row in query(order, "select args from spans where json_extract(args, '$.captured') = 1")]
    assert len(rows) == 4 and not any("record" in row for row in rows)


def test_a_graph_as_a_whole_is_one_opaque_span_a_launch(replay, query):
    trace = replay("whole", "--cuda-graphs", "whole")
    rows = query(trace, "select s.args, s.end_ns - s.begin_ns as n, a.name from spans s join links l on l.to_span = s.id join spans a on a.id = l.from_span "
                 "where s.kind = 'graph'")
    assert len(rows) == 20 and {row["name"] for row in rows} == {"cudaGraphLaunch"} and min(row["n"] for row in rows) > 0
    assert {(json.loads(row["args"])["opaque"], json.loads(row["args"])["graph"]) for row in rows} == {(1, 2)}
    assert query(trace, "select count(*) as n from spans where kind = 'kernel'") == [{"n": 0}]


@pytest.mark.parametrize("mode, kernels", [("graph", 200), ("graphs", 160)])
def test_nodes_show_the_stack_of_the_call_that_made_them(replay, query, mode, kernels):
    trace = replay(mode, "--call-tree")
    nodes = query(trace, "select count(*) as n from spans where kind = 'kernel' and stack is not null and stack >= 0")
    assert nodes == [{"n": kernels}]
    # the stand-in's own stack: a captured launch, not the launch of the graph, which is made by another function's frame
    stacks = query(trace, "select distinct s.stack as stack from spans s where s.kind = 'kernel'")
    launches = {row["stack"] for row in query(trace, "select distinct stack from spans where name = 'cudaLaunchKernel'")}
    assert stacks and {row["stack"] for row in stacks} & launches


def test_memory_in_use_is_counted_by_sort_and_pool(replay, hprofiler):
    assert gpu_counts.pools_problems(hprofiler, replay("pools")) == []


def test_managed_memory_migrates_and_faults(replay, hprofiler, query):
    trace = replay("managed")
    assert gpu_counts.managed_problems(hprofiler, trace) == []
    assert counts(query, trace)["kernel"] == 10 and query(trace, "select * from ledger where lost > 0") == []
    faults = [json.loads(row["args"]) for row in query(trace, "select args from spans where name = 'GPU page fault'")]
    assert all(fault["count"] >= 1 and fault["address"] for fault in faults)
    moved = query(trace, "select sum(json_extract(args, '$.bytes')) as n from spans where name = 'migration host to device'")
    assert moved == [{"n": 262144}]


def test_code_made_at_run_time_has_spans(replay, hprofiler, query):
    trace = replay("nvrtc")
    assert gpu_counts.built_problems(hprofiler, trace) == [] and counts(query, trace)["kernel"] == 50


def test_what_cupti_does_itself_is_on_a_lane(replay, query):
    rows = query(replay("nvrtc"), "select distinct s.name from spans s join tracks t on t.id = s.track where t.name = 'CUDA overhead'")
    assert {"CUPTI: buffer request", "lazy function loading"} <= {row["name"] for row in rows}


def test_kernels_in_the_body_of_a_conditional_node_are_there(replay, query):
    trace = replay("conditional")
    assert counts(query, trace)["kernel"] == 30 and query(trace, "select * from ledger where lost > 0") == []


def test_a_threads_own_default_stream_is_told_from_the_legacy_one(replay, hprofiler, query):
    trace = replay("order_threads", pace=True)
    names = {row["name"] for row in query(trace, "select name from tracks where kind = 'stream' and device = 0")}
    assert "stream 16 (thread's default), context 1" in names and not any("(default)" in name for name in names)
    assert gpu_counts.order_problems(hprofiler, trace) == []


@pytest.mark.parametrize("mode, options", [("stalls", []), ("stalls_jit_serialized", ["--gpu-pc-mode", "serialized"])])
def test_samples_of_program_counters_say_what_kernels_wait_for(replay, query, mode, options):
    rows = query(replay(mode, "--gpu-pc-sampling", *options), "select k.name as kernel, w.name as why, sum(s.weight) as n from samples s "
                 "join frames w on w.stack = s.stack and w.depth = 0 join frames k on k.stack = s.stack and k.depth = 1 "
                 "where s.event = 'gpu-pc' group by 1, 2 order by 3 desc")
    most = {}
    for row in rows:
        most.setdefault(row["kernel"], row["why"].removeprefix("stalled: "))
    assert most == {"bank_conflicts": "mio_throttle", "strided_loads": "long_scoreboard", "dependent_chain": "wait"}
