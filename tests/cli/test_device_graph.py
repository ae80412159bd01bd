# SPDX-License-Identifier: MIT
"""Graph and activity of devices on real records: what CUPTI said of runs on a GPU, played at their own pace, and OpenCL programs on PoCL."""
import gzip
import json
import os
import pathlib
import subprocess

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/cupti"
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
LOOP = 4  # rounds in the mode `order` of tests/gpu/cuda_counts.cu


def answer(hprofiler, command, trace, *options):
    done = subprocess.run([hprofiler, command, trace, *options, "--format", "json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def record(hprofiler, apps, tmp_path_factory):
    """A function: the trace of a recorded run of CUDA, played as it went."""
    fakes = apps.parent / "fakes"
    collector = pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_cuda.so"
    if not (fakes / "cupti_play").exists() or not collector.exists():
        pytest.skip("the CUDA collector or its stand-in CUPTI is not built")
    folder = tmp_path_factory.mktemp("device")

    def run(mode):
        recording, trace = folder / f"{mode}.rec", folder / f"{mode}.hpt"
        if not trace.exists():
            recording.write_bytes(gzip.decompress((DATA / f"{mode}.rec.gz").read_bytes()))
            environment = {**os.environ, "CUPTI_RECORDING": str(recording), "CUPTI_RECORDING_PACE": "1",
                           "HPROFILER_CUPTI": str(fakes / "libcupti_fake.so")}
            environment.pop("CUDA_INJECTION64_PATH", None)
            done = subprocess.run([hprofiler, "run", "--no-summary", "-o", trace, "--", fakes / "cupti_play"], env=environment,
                                  capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
        return trace

    return run


@pytest.fixture(scope="module")
def opencl(hprofiler, apps, tmp_path_factory):
    """A function: the trace of one of opencl_target's ways."""
    program, folder = apps / "opencl_target", tmp_path_factory.mktemp("opencl")
    if not POCL.exists():
        pytest.skip("no PoCL here (Debian: pocl-opencl-icd)")
    if not program.exists():
        pytest.skip("opencl_target is not built: no OpenCL headers (opencl-headers) or loader (ocl-icd-opencl-dev)")
    environment = {**os.environ, "OCL_ICD_VENDORS": "pocl.icd", "POCL_CACHE_DIR": str(folder)}

    def run(mode):
        trace = folder / f"{mode}.hpt"
        done = subprocess.run([hprofiler, "run", "-b", "opencl", "--no-summary", "-o", trace, "--", program, mode], env=environment,
                              capture_output=True, text=True, timeout=120)
        if done.returncode == 77:
            pytest.skip(done.stdout.strip())
        assert done.returncode == 0, done.stderr
        return trace

    return run


def edges(path):
    found = {}
    for row in path["edges"]:
        found[row["rule"], row["confidence"]] = found.get((row["rule"], row["confidence"]), 0) + row["count"]
    return found


def unexplained(hprofiler, trace):
    """Waits in calls of the device's runtime on the path that nothing explains, and its lanes' idle times."""
    path = answer(hprofiler, "critical-path", trace, "--by", "name")
    return [row for row in path["composition"] if row.get("kind") == "unexplained" and row.get("category") in ("cuda", "opencl")]


@pytest.mark.parametrize("mode", ["order", "plain", "graph", "graphs", "conditional", "managed", "nvrtc", "whole"])
def test_no_effect_comes_before_its_cause(record, hprofiler, mode):
    path = answer(hprofiler, "critical-path", record(mode))
    assert path["graph"]["backward"] == 0 and path["graph"]["cycles"] == 0 and path["graph"]["below_medium"] == 0
    assert path["length_ns"] == path["makespan_ns"]
    assert unexplained(hprofiler, record(mode)) == []


def test_each_rule_finds_what_the_program_asked_for(record, hprofiler):
    """What the mode `order` does is written in its source: an event from the first stream to the second and on to the third in each round,
    a kernel on the default stream, two waits of the host; then two launches of a graph, a pageable copy that blocks, a free, a wait for all."""
    found = edges(answer(hprofiler, "critical-path", record("order")))
    assert found["launch", "certain"] == 24
    assert found["event wait", "certain"] == 2 * LOOP
    assert found["device sync", "certain"] == 2 * LOOP + 1
    assert found["blocking copy", "high"] == 1
    # in each round the default stream waits for the two ordinary ones; from the second on these wait for it, and once more at the end
    assert found["default stream", "high"] == 2 * LOOP + 2 * (LOOP - 1) + 2
    assert found["device sync", "high"] >= 2  # the free: at least the last work of both streams


def test_nodes_that_name_no_launch_get_the_last_one_of_their_graph(record, hprofiler):
    found = edges(answer(hprofiler, "critical-path", record("conditional")))
    assert found == {("time", "medium"): 30, ("device sync", "high"): 1}


@pytest.mark.parametrize("mode", ["order", "plain", "graph"])
def test_idle_times_of_a_device_have_reasons(record, hprofiler, mode):
    device, = answer(hprofiler, "summary", record(mode))["devices"]
    assert sum(device["idle"].values()) == device["idle_ns"]
    assert device["busy_kernel_ns"] + device["busy_copy_ns"] + device["busy_other_ns"] == device["busy_ns"]
    assert 0 < device["busy_kernel_ns"] <= device["kernel_ns"] and device["overlap_ns"] <= device["busy_kernel_ns"]


def test_a_host_that_waits_in_each_round_comes_late(record, hprofiler):
    """`order` waits for its streams in each round, so the next kernel is asked for too late; `plain` and `graph` launch far ahead."""
    late, = answer(hprofiler, "summary", record("order"))["devices"]
    assert late["idle"]["host_late_ns"] > late["idle_ns"] / 2 and late["idle"]["dependency_ns"] > 0


@pytest.mark.parametrize("mode", ["each", "unordered", "order"])
def test_the_graph_of_opencl_explains_every_wait(opencl, hprofiler, mode):
    trace = opencl(mode)
    path = answer(hprofiler, "critical-path", trace)
    assert path["graph"]["backward"] == 0 and path["graph"]["unexplained"] == 0
    assert path["length_ns"] == path["makespan_ns"] == path["explained_ns"]
    assert {rule for rule, _ in edges(path)} >= {"launch", "device sync"}
    for device in answer(hprofiler, "summary", trace)["devices"]:
        assert sum(device["idle"].values()) == device["idle_ns"]
