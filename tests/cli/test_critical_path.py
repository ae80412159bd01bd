# SPDX-License-Identifier: MIT
"""`critical-path` on real recordings: as long as the run, every nanosecond of it somewhere, edges where the program has them, the same answer each time."""
import collections
import json
import shutil
import subprocess

import pytest

KEYS = {"makespan_ns", "length_ns", "length_low_ns", "length_high_ns", "explained_ns", "composition", "hops", "blame"}
DIMENSIONS = ["activity", "name", "category", "kind", "lane", "process", "rank", "node", "function", "line", "path"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def call(hprofiler, *arguments, status=0):
    done = subprocess.run([hprofiler, "critical-path", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    return done


def path_of(hprofiler, trace, *arguments):
    return json.loads(call(hprofiler, trace, "--format", "json", *arguments).stdout)


@pytest.fixture(scope="module")
def openmp(hprofiler, apps, tmp_path_factory):
    program = apps / "openmp_constructs"
    if not program.exists():
        pytest.skip("openmp_constructs is not built: no clang with an OpenMP runtime (Debian: clang libomp-dev)")
    trace = tmp_path_factory.mktemp("path") / "openmp.hpt"
    done = subprocess.run([hprofiler, "run", "--no-summary", "-b", "cpu,openmp", "-o", trace, "--", program, "3", "smooth", "sweep", "guard", "lock", "recurse",
                           "chain"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    yield trace
    shutil.rmtree(trace.parent, ignore_errors=True)


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(hprofiler, apps, tmp_path_factory, request):
    program = apps / f"mpi_counts-{request.param}"
    if not program.exists() or not shutil.which(f"mpirun.{request.param}"):
        pytest.skip(f"no MPI program or launcher of {request.param}")
    trace = tmp_path_factory.mktemp("path") / "mpi.hpt"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in AS_ROOT.items():
            patch.setenv(name, value)
        done = subprocess.run([hprofiler, "run", "--no-summary", "-b", "cpu,mpi", "-o", trace, "--", f"mpirun.{request.param}", "-np", "3", program, "trace"],
                              capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    yield trace
    shutil.rmtree(trace.parent, ignore_errors=True)


def check_sums(path):
    assert KEYS <= path.keys()
    # On one machine all times are of one clock: the longest way is the run.
    assert path["length_ns"] == path["makespan_ns"] == path["length_low_ns"] == path["length_high_ns"] > 0
    assert sum(hop["duration_ns"] for hop in path["hops"]) == path["length_ns"]
    assert sum(row["time_ns"] for row in path["composition"]) == path["length_ns"]
    assert sum(path["confidence"].values()) == path["length_ns"]
    assert path["explained_ns"] == path["length_ns"] - path["confidence"]["unexplained"]
    unexplained = sum(row["time_ns"] for row in path["composition"] if row["confidence"] is None)
    assert unexplained == path["confidence"]["unexplained"]
    assert sum(row["count"] for row in path["edges"]) == path["graph"]["edges"]
    allocation = path["allocation"]
    assert allocation["total_ns"] == path["makespan_ns"] * allocation["threads"]
    assert allocation["critical_ns"] + allocation["non_critical_ns"] + allocation["unused_ns"] == allocation["total_ns"]
    for hop in path["hops"]:
        assert (hop["sequence"] is None) == (hop["repeats"] == 1)
        assert (hop["rule"] is None) == (hop["kind"] != "edge")


def test_a_program_without_a_runtime_has_a_path(hprofiler, apps, runner):
    run = runner.profiled([apps / "target", "burn", "50"], ["-b", "cpu"])
    path = path_of(hprofiler, run.trace)
    check_sums(path)
    assert any(row["kind"] == "compute" for row in path["composition"])


def test_openmp_hangs_on_its_own_rules(hprofiler, openmp):
    path = path_of(hprofiler, openmp)
    check_sums(path)
    rules = {row["rule"] for row in path["edges"]}
    assert {"fork", "join", "barrier", "task create", "task dependence"} <= rules # locks only where threads met
    assert all(row["count"] for row in path["edges"])


def test_mpi_hangs_on_its_messages_and_collectives(hprofiler, mpi):
    path = path_of(hprofiler, mpi)
    check_sums(path)
    assert {"message", "collective"} <= {row["rule"] for row in path["edges"]}
    ranks = path_of(hprofiler, mpi, "--by", "rank")["composition"]
    assert {row["name"] for row in ranks} <= {"0", "1", "2", None}
    assert sum(row["time_ns"] for row in ranks) == path["length_ns"]


def rows_of(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_time_without_a_processor_is_what_the_scheduler_says(hprofiler, mpi):
    """Of each hop in a call or to its end: what the scheduler's lane of its thread has as preempted within it, counted here once more."""
    path = path_of(hprofiler, mpi)
    off = collections.defaultdict(list)
    for row in rows_of(hprofiler, mpi, "SELECT t.pid, t.tid, s.begin_ns, s.end_ns FROM spans s JOIN tracks t ON t.id = s.track WHERE s.name = 'preempted'"):
        off[row["pid"], row["tid"]].append((row["begin_ns"], row["end_ns"]))
    threads = {row["id"]: (row["pid"], row["tid"]) for row in
               rows_of(hprofiler, mpi, "SELECT s.id, t.pid, t.tid FROM spans s JOIN tracks t ON t.id = s.track WHERE s.category = 'mpi'")}
    compared = 0
    for hop in path["hops"]:
        if hop["repeats"] > 1 or hop["span"] not in threads or hop["confidence"] is None or hop["lane"] is None or not hop["duration_ns"]:
            continue
        begin, end = hop["begin_ns"], hop["begin_ns"] + hop["duration_ns"]
        expected = sum(max(0, min(until, end) - max(since, begin)) for since, until in off[threads[hop["span"]]] if until is not None)
        assert hop["descheduled_ns"] == expected, hop
        compared += 1
    assert compared
    in_calls = sum(row["time_ns"] for row in path["composition"] if row["kind"] == "descheduled")
    assert in_calls == sum(hop["descheduled_ns"] for hop in path["hops"])


@pytest.mark.parametrize("by", DIMENSIONS)
def test_each_way_to_see_it_has_all_of_it(hprofiler, openmp, by):
    path = path_of(hprofiler, openmp, "--by", by)
    assert path["by"] == by
    assert sum(row["time_ns"] for row in path["composition"]) == path["length_ns"]
    lines = call(hprofiler, openmp, "--by", by, "--format", "csv").stdout.splitlines()
    assert lines[0] == "category,name,kind,lane,time_ns,percent,confidence,count"
    assert len(lines) == 1 + len(path["composition"])


def test_the_answer_is_always_the_same(hprofiler, openmp):
    assert call(hprofiler, openmp, "--format", "json").stdout == call(hprofiler, openmp, "--format", "json").stdout


def test_a_filter_shows_a_part_and_leaves_the_path_as_it_is(hprofiler, openmp):
    whole = path_of(hprofiler, openmp)
    part = path_of(hprofiler, openmp, "--where", "kind=implicit_task")
    assert part["length_ns"] == whole["length_ns"]
    assert 0 < sum(row["time_ns"] for row in part["composition"]) < whole["length_ns"]
    assert {row["kind"] for row in part["composition"]} <= {"implicit_task", "descheduled", "edge", "unexplained"}
    nothing = call(hprofiler, openmp, "--where", "name=no_such_thing", "--format", "csv")
    assert "nothing on the critical path" in nothing.stderr and len(nothing.stdout.splitlines()) == 1
    text = call(hprofiler, openmp, "--where", "name=no_such_thing").stdout
    assert "Nothing on the path matches" in text and "Hops" not in text and "imbalance" not in text


def test_code_counts_with_its_matching_samples(hprofiler, openmp):
    spans = {hop["name"] for hop in path_of(hprofiler, openmp)["hops"]}
    functions = collections.Counter()
    for row in path_of(hprofiler, openmp, "--by", "function")["composition"]:
        if row["name"] not in spans and row["kind"] != "edge" and not set(row["name"]) & set("(*?[],="):
            functions[row["name"]] += row["time_ns"]
    if not functions:
        pytest.skip("no CPU sample fell into code on the path")
    name, time_ns = functions.most_common(1)[0]
    part = path_of(hprofiler, openmp, "--where", f"name={name}")
    assert {row["name"] for row in part["composition"]} == {name}
    assert abs(sum(row["time_ns"] for row in part["composition"]) - time_ns) <= 1000
    assert not part["hops"] and not part["imbalance"] # nothing there is a span of that name


def test_the_text_has_its_tables(hprofiler, openmp):
    text = call(hprofiler, openmp, "--top", "5").stdout
    for heading in ("proved by", "What it consists of", "Hops"):
        assert heading in text
    assert "100.0 %" in text or "% of it explained" in text


@pytest.mark.parametrize("ending", ["hprofiler.json", "hpt"])
def test_the_path_is_a_track_in_a_trace(hprofiler, openmp, tmp_path, ending):
    path = path_of(hprofiler, openmp, "-o", tmp_path / f"path.{ending}")
    done = subprocess.run([hprofiler, "query", tmp_path / f"path.{ending}", "--format", "json",
                           "select t.name, count(*) as n, sum(s.end_ns - s.begin_ns) as total from spans s join tracks t on s.track = t.id "
                           "where s.category = 'critical path' group by 1"], capture_output=True, text=True, timeout=60)
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == ["critical path"] and rows[0]["total"] == path["length_ns"]
    # It is no lane of the run: the trace with it has the same path.
    again = path_of(hprofiler, tmp_path / f"path.{ending}")
    assert again["length_ns"] == path["length_ns"] and again["graph"] == path["graph"]


def test_what_cannot_be_is_refused(hprofiler, openmp, tmp_path):
    other = tmp_path / "other.hpt"
    shutil.copy(openmp, other)
    assert "lost" in call(hprofiler, openmp, other, "-o", other, status=2).stderr
    assert "key=glob" in call(hprofiler, openmp, "--where", "nonsense", status=2).stderr
    assert "ending" in call(hprofiler, openmp, "-o", tmp_path / "x.unknown", status=2).stderr
    assert "lost" in call(hprofiler, openmp, "-o", openmp, status=2).stderr
