# SPDX-License-Identifier: MIT
"""`mpirun -np N hprofiler critical-path TRACE...`: each rank reads its share of the traces, and what rank 0 prints is what one process
prints, to the byte; with as many ranks as one likes, under any MPI that is there."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

FAMILIES = {"openmpi": ["mpirun.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": ["mpirun.mpich"]}

# What MPI libraries leave behind in MPI_Init is not ours, and their modules are gone when it is looked for.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def call(*command, status=0, errors=None):
    """stdout; what is in stderr, for who wants to know."""
    done = subprocess.run([str(word) for word in command], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert (done.returncode != 0) == (status != 0), done.stderr
    if errors is not None:
        errors.append(done.stderr)
    return done.stdout


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, hprofiler):
    if not shutil.which(FAMILIES[request.param][0]):
        pytest.skip(f"no mpirun of {request.param}")
    if not (pathlib.Path(hprofiler).parent / f"hprofiler_parallel-{request.param}").exists():
        pytest.skip(f"built without {request.param}")
    return request.param


@pytest.fixture
def ranks(family, hprofiler):
    def start(count, *words, **options):
        return call(*FAMILIES[family], "-np", count, hprofiler, "critical-path", *words, **options)
    return start


@pytest.fixture(scope="module")
def simulated(hprofiler, tmp_path_factory):
    """MPI, OpenMP and devices at once, a trace for each of 4 ranks."""
    generator = pathlib.Path(hprofiler).parents[1] / "tests/trace_generator"
    if not generator.exists():
        pytest.skip("the generator of traces is not built")
    folder = tmp_path_factory.mktemp("simulated")
    call(generator, "--lanes", 32, "--spans", 20000, "--no-what-if", "-o", folder / "t.%r.hpt")
    return [folder / f"t.{rank}.hpt" for rank in range(4)]


@pytest.fixture
def generated(hprofiler, tmp_path):
    """Small traces of simulated programs, one of each rank."""
    generator = pathlib.Path(hprofiler).parents[1] / "tests/trace_generator"
    if not generator.exists():
        pytest.skip("the generator of traces is not built")

    def make(kind, count):
        call(generator, "--kind", kind, "--ranks", count, "--rounds", 20, "--no-what-if", "-o", tmp_path / "t.%r.hpt")
        return [tmp_path / f"t.{rank}.hpt" for rank in range(count)]
    return make


@pytest.fixture(scope="module")
def recorded(family, hprofiler, apps, tmp_path_factory):
    """A program of MPI and OpenMP, recorded with samples, a trace for each of 3 ranks."""
    program = apps / f"graph_mpi-{family}"
    if not program.exists():
        pytest.skip(f"no program of {family}")
    folder = tmp_path_factory.mktemp("recorded")
    call(*FAMILIES[family], "-np", 3, hprofiler, "run", "-b", "cpu,mpi,openmp", "--no-summary", "-o", folder / "t.%r.hpt", "--", program, "hybrid", 3)
    return [folder / f"t.{rank}.hpt" for rank in range(3)]


@pytest.fixture(scope="module")
def alone(hprofiler):
    """A function: what one process prints, asked once."""
    printed = {}

    def ask(*words):
        if words not in printed:
            printed[words] = call(hprofiler, "critical-path", *words)
        return printed[words]
    return ask


@pytest.mark.parametrize("count", [2, 3, 6])
def test_ranks_print_what_one_process_prints(alone, ranks, simulated, count):
    """More ranks than traces, and shares of different size, as well."""
    errors = []
    printed = alone(*simulated, "--format", "json")
    assert ranks(count, *simulated, "--format", "json", errors=errors) == printed
    assert "alone" not in errors[0]
    rules = {row["rule"] for row in json.loads(printed)["edges"]}
    assert {"message", "collective", "fork", "launch"} <= rules
    patterns = {row["pattern"] for row in json.loads(printed)["blame"]}
    assert len(patterns) > 3


def test_samples_divide_code_among_functions(hprofiler, ranks, recorded):
    for options in ("--format json --by function", "--format csv"):
        alone = call(hprofiler, "critical-path", *recorded, *options.split())
        assert ranks(2, *recorded, *options.split()) == alone
        if "json" in options:  # threads without work waited for what the first one did, or slept through: on a busy machine it starts slowly
            codes = [row for row in json.loads(alone)["blame"] if not row["cause"] and row["samples"]]
            assert any(row["function_share"] if row["function"] else row["blocked_share"] > 0.5 for row in codes)


def test_text_is_the_same(alone, ranks, simulated, recorded):
    assert ranks(3, *simulated, "--top", 5) == alone(*simulated, "--top", 5)
    assert ranks(2, *recorded) == alone(*recorded)


def as_json(hprofiler, trace):
    path = trace.with_suffix(".hprofiler.json")
    call(hprofiler, "export", trace, "--to", "chrome", "-o", path)
    return path


def test_clocks_that_may_be_wrong(hprofiler, ranks, generated):
    """Two ranks on a machine of their own each, whose clocks only the messages compare: lags that are negative, edges that are less sure."""
    traces = [as_json(hprofiler, trace) for trace in generated("mpi", 4)]
    for rank, path in enumerate(traces[2:], 2):
        path.write_text(path.read_text().replace("generated:1", f"generated:{rank}"))
    alone = call(hprofiler, "critical-path", *traces, "--format", "json")
    merged = json.loads(call(hprofiler, "merge-nodes", *traces, "-o", traces[0].with_name("merged.hpt"), "--format", "json"))
    assert any(node["bound_ns"] for node in merged["nodes"])
    assert ranks(3, *traces, "--format", "json") == alone


def emptied(hprofiler, trace):
    """Cut off where no span is left, but still what says of which run it is."""
    whole, path = trace.read_bytes(), trace.with_suffix(".cut.hpt")
    for length in range(len(whole), 0, -(len(whole) // 40)):
        path.write_bytes(whole[:length])
        if "nothing in the trace takes time" in call(hprofiler, "critical-path", path):
            return path
    pytest.fail("no length leaves a trace without spans")


def windowed(hprofiler, trace, window, spans):
    path = trace.with_suffix(f".{spans}.hpt")
    errors = []
    call(hprofiler, "export", trace, "--window", window, "-o", path, errors=errors)
    assert f"from {spans} span" in errors[0]
    return path


@pytest.mark.parametrize("kind", ["empty", "cut", "one"])
def test_ranks_that_did_next_to_nothing(hprofiler, ranks, generated, kind):
    """Whether a thread without spans counts depends on the others, whoever reads their traces."""
    traces = generated("messages", 3)
    few = {"empty": lambda trace: windowed(hprofiler, trace, "10h:", 0), "one": lambda trace: windowed(hprofiler, trace, ":20us", 1),
           "cut": lambda trace: emptied(hprofiler, trace)}[kind]
    fews = [few(trace) for trace in traces]
    for count, shared, options in ((3, [fews[0], *traces[1:]], ["--format", "json"]), (2, [traces[0], *fews[1:]], []), (3, fews, [])):
        assert ranks(count, *shared, *options) == call(hprofiler, "critical-path", *shared, *options)


def test_edges_in_a_circle_are_left_to_rank_0(hprofiler, ranks, generated):
    """Each receives at the very moment at which it sends what the other receives: which edge is to go only the whole graph says."""
    traces = [as_json(hprofiler, trace) for trace in generated("messages", 2)]
    for rank, path in enumerate(traces):
        trace, errors = json.loads(path.read_text()), []
        init, send, receive = (next(event for event in trace["traceEvents"] if event["name"] == name) for name in ("MPI_Init", "MPI_Isend", "MPI_Irecv"))
        init.update(ts=1, dur=9)
        for order, event, changes in ((1, receive, {"name": "MPI_Recv", "ts": 20, "dur": 30}), (2, send, {"name": "MPI_Send", "ts": 50, "dur": 5 + rank})):
            del event["correlation"]
            event.update(changes)
            event["args"]["order"] = order
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event["ph"] == "M"] + [init, receive, send]
        trace["hprofiler"].update(spans=3, links=0)
        del trace["hprofiler"]["offset"]
        path.write_text(json.dumps(trace, separators=(",", ":")))
    alone = call(hprofiler, "critical-path", *traces, "--format", "json")
    assert json.loads(alone)["graph"]["cycles"] == 1
    assert ranks(2, *traces, "--format", "json", errors=errors) == alone
    assert errors[0].count("in a circle") == 1


def test_a_long_name_of_the_temporary_folder(hprofiler, ranks, generated, tmp_path, monkeypatch):
    traces = generated("messages", 2)
    alone = call(hprofiler, "critical-path", *traces)
    folder = tmp_path / ("t" * 200) / ("m" * 200)
    folder.mkdir(parents=True)
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(folder))
    assert ranks(2, *traces) == alone
    assert not list(folder.glob("hprofiler-*"))


def test_one_failure_ends_all_and_says_so_once(ranks, simulated, tmp_path):
    errors = []
    for wrong in (tmp_path / "nowhere.hpt", simulated[0]):
        traces = [*simulated[:2], wrong]
        assert ranks(3, *traces, status=1, errors=errors) == ""
        message = "nowhere.hpt" if wrong != simulated[0] else "not of one run"
        assert errors[-1].count(message) == 1, errors[-1]


def test_what_one_process_has_to_do_is_left_to_rank_0(alone, ranks, simulated):
    errors = []
    options = ["--where", "rank=1", "--format", "csv"]
    assert ranks(2, *simulated, *options, errors=errors) == alone(*simulated, *options)
    assert errors[0].count("found by rank 0 alone") == 1


def test_without_the_program_rank_0_does_it_alone(family, hprofiler, simulated, tmp_path):
    """As built where no MPI was: the program has nobody beside it."""
    errors = []
    lonely = shutil.copy(hprofiler, tmp_path / "hprofiler")
    text = call(*FAMILIES[family], "-np", 2, lonely, "critical-path", *simulated, "--format", "csv", errors=errors)
    assert text == call(hprofiler, "critical-path", *simulated, "--format", "csv")
    assert errors[0].count("found by rank 0 alone") == 1
