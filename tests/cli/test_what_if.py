# SPDX-License-Identifier: MIT
"""`what-if` on real recordings: the unchanged replay is the run, changes go the way they must, requests that can't be are refused.
Whether predictions come true is measured by tests/predictions/run.py."""
import json
import shutil
import subprocess

import pytest

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def call(hprofiler, *arguments, status=0):
    done = subprocess.run([hprofiler, "what-if", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    return done


def predict(hprofiler, trace, *arguments):
    return json.loads(call(hprofiler, trace, "--format", "json", *arguments).stdout)


def record(hprofiler, directory, backends, *command):
    trace = directory / "run.hpt"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in AS_ROOT.items():
            patch.setenv(name, value)
        done = subprocess.run([hprofiler, "run", "--no-summary", "-b", backends, "-o", trace, "--", *map(str, command)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return trace


@pytest.fixture(scope="module")
def openmp(hprofiler, apps, tmp_path_factory):
    if not (apps / "openmp_constructs").exists():
        pytest.skip("openmp_constructs is not built: no clang with an OpenMP runtime (Debian: clang libomp-dev)")
    trace = record(hprofiler, tmp_path_factory.mktemp("what"), "cpu,openmp", apps / "openmp_constructs", "3", "smooth", "sweep", "guard", "recurse", "chain")
    yield trace
    shutil.rmtree(trace.parent, ignore_errors=True)


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(hprofiler, apps, tmp_path_factory, request):
    program = apps / f"mpi_counts-{request.param}"
    if not program.exists() or not shutil.which(f"mpirun.{request.param}"):
        pytest.skip(f"no MPI program or launcher of {request.param}")
    trace = record(hprofiler, tmp_path_factory.mktemp("what"), "cpu,mpi", f"mpirun.{request.param}", "-np", "3", program, "trace")
    yield trace
    shutil.rmtree(trace.parent, ignore_errors=True)


def check_replay(result):
    assert result["measured_ns"] > 0
    assert abs(result["replayed_ns"] - result["measured_ns"]) <= result["measured_ns"] / 100
    assert sum(row["time_ns"] for row in result["composition"]) == result["predicted_ns"]
    check_uncertainty(result)


def check_uncertainty(result):
    unsure = result["uncertainty"]
    tried = [result["predicted_ns"], unsure["without_below_high_ns"]]
    sure, added = abs(result["replayed_ns"] - tried[1]), abs(tried[1] - tried[0])
    if sure or added:
        assert abs(unsure["below_high_share"] - added / (sure + added)) <= 0.0001
    else:
        assert unsure["below_high_share"] is None
    known = [unsure[key] is not None for key in ("low_ns", "high_ns", "preempted_ns", "preempted_stays_ns")]
    assert all(known) or not any(known)
    if all(known):
        tried.append(unsure["preempted_stays_ns"])
        assert unsure["low_ns"] == min(tried) and unsure["high_ns"] == max(tried)
        assert 0 <= unsure["preempted_ns"] <= unsure["changed_ns"]
        assert unsure["preempted_ns"] > 0 or unsure["preempted_stays_ns"] == result["predicted_ns"]


def test_openmp_replays_and_changes(hprofiler, openmp):
    same = predict(hprofiler, openmp, "--scale", "kind=*:1")
    check_replay(same)
    assert same["predicted_ns"] == same["replayed_ns"]
    less, more = (predict(hprofiler, openmp, "--scale", f"kind=compute:{factor}") for factor in (0.5, 2))
    check_replay(less)
    assert less["predicted_ns"] < same["predicted_ns"] < more["predicted_ns"]
    assert less["scales"][0]["changed"] > 0
    free = predict(hprofiler, openmp, "--scale", "kind=*:0")
    assert free["predicted_ns"] < same["predicted_ns"] / 2


def test_several_scales_work_together(hprofiler, openmp):
    both = predict(hprofiler, openmp, "--scale", "kind=compute:0.5", "--scale", "kind=compute:2")
    assert abs(both["predicted_ns"] - both["replayed_ns"]) <= both["replayed_ns"] / 1000 # but for rounding of each stretch


def test_mpi_replays_and_changes(hprofiler, mpi):
    same = predict(hprofiler, mpi, "--scale", "kind=*:1")
    check_replay(same)
    ideal, slow = (predict(hprofiler, mpi, "--network", network) for network in ("0,inf", "50ms,1G"))
    check_replay(ideal)
    assert ideal["predicted_ns"] < same["predicted_ns"] < slow["predicted_ns"]
    balanced = predict(hprofiler, mpi, "--balance", "ranks")
    check_replay(balanced)
    # Messages between the collectives may even make it longer; the exact number is a unit test's.
    assert balanced["predicted_ns"] != same["predicted_ns"]


def test_what_changes_nothing_is_said(hprofiler, openmp):
    done = call(hprofiler, openmp, "--scale", "name=no_such_thing:0.5", "--format", "csv")
    assert "changes nothing" in done.stderr
    header, numbers = done.stdout.splitlines()
    assert header == "measured_ns,replayed_ns,predicted_ns"
    measured, replayed, predicted = map(int, numbers.split(","))
    assert replayed == predicted and measured > 0


def test_a_change_beside_the_path_has_no_share(hprofiler, tmp_path):
    trace = tmp_path / "two.json"
    events = [{"ph": "X", "name": name, "cat": "c", "pid": 1, "tid": tid, "ts": at, "dur": length} for name, tid, at, length in (("long", 1, 0, 1000), ("short", 2, 100, 100))]
    trace.write_text(json.dumps({"traceEvents": events}))
    result = predict(hprofiler, trace, "--scale", "name=short:0.5")
    assert result["uncertainty"]["below_high_share"] is None and result["uncertainty"]["changed_ns"] == 100_000
    text = call(hprofiler, trace, "--scale", "name=short:0.5").stdout
    assert "no change; without edges below high confidence: 1.00 ms" in text and "0.0 % of the change" not in text


def test_the_text_says_how_far_to_trust_it(hprofiler, openmp):
    text = call(hprofiler, openmp, "--scale", "kind=compute:0.5").stdout
    for word in ("measured", "replayed", "predicted", "times as fast", "uncertain", "below high confidence", "off the processor", "What it consists of"):
        assert word in text


def test_without_the_schedulers_records_nothing_is_known_of_processors(hprofiler, openmp, tmp_path):
    alone = tmp_path / "calls.hpt"
    done = subprocess.run([hprofiler, "export", openmp, "--where", "category=openmp", "-o", alone], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result = predict(hprofiler, alone, "--scale", "kind=compute:0.5")
    check_replay(result)
    assert result["uncertainty"]["high_ns"] is None
    assert "is not known" in call(hprofiler, alone, "--scale", "kind=compute:0.5").stdout


@pytest.mark.parametrize("arguments, says", [
    ((), "--scale"), (("--scale", "kind=compute"), "FILTER:FACTOR"), (("--scale", "kind=compute:-1"), "factor"), (("--scale", "kind=nothing:1"), "kind"),
    (("--network", "1us"), "LATENCY,BANDWIDTH"), (("--network", "1us,none"), "bandwidth")])
def test_requests_that_cannot_be_are_wrong_usage(hprofiler, openmp, arguments, says):
    assert says in call(hprofiler, openmp, *arguments, status=2).stderr


def test_balance_needs_ranks(hprofiler, openmp):
    assert "no MPI ranks" in call(hprofiler, openmp, "--balance", "ranks", status=1).stderr
