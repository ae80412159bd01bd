# SPDX-License-Identifier: MIT
"""Factors of parallel efficiency of programs that were built to have given ones: against what the program itself says of its useful times (within
1 %), and against sums that SQL makes of the same trace (exactly)."""
import collections
import functools
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
APPS = ROOT / "tests/apps"
FLAGS = {"openmpi": ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": []}
# How long the times of the program are, from run to run until one is right: what other programs on the machine take away stays as it is.
STRETCHES = [1, 1, 2, 4, 8]
HYBRID = "POP, hybrid MPI and OpenMP, multiplicative"


def close(found, expected):
    return abs(found - expected) <= 0.01


class Run:
    """A recorded run, its efficiency, and what the program said: times[rank][name] = [(came, went)]."""

    def __init__(self, hprofiler, trace, said, *options):
        self.hprofiler, self.trace, self.times = hprofiler, trace, collections.defaultdict(lambda: collections.defaultdict(list))
        for _, _, rank, name, came, went in map(str.split, said.splitlines()):
            self.times[int(rank)][name].append((int(came), int(went)))
        self.report = self.ask(*options)

    def ask(self, *options):
        done = subprocess.run([self.hprofiler, "efficiency", self.trace, "--format", "json", *options], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def sql(self, text):
        done = subprocess.run([self.hprofiler, "query", self.trace, text, "--format", "json"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def factors(self, model):
        models = {row["model"]: row["factors"] for row in self.report["runs"][0]["models"]}
        return {row["name"]: row["value"] for row in models[model]}

    def inputs(self):
        return {row["symbol"]: row["value"] for row in self.report["runs"][0]["inputs"]}

    def length(self, rank, name):
        return sum(went - came for came, went in self.times[rank][name])

    def window(self):
        """From the first return from MPI_Init to the last call of MPI_Finalize."""
        return (min(rows["MPI_Init_thread"][0][1] for rows in self.times.values()), max(rows["MPI_Finalize"][0][0] for rows in self.times.values()))

    def mpi(self, rank):
        """Time in MPI within the window."""
        begin, end = self.window()
        return sum(max(0, min(went, end) - max(came, begin)) for name, calls in self.times[rank].items() if name.startswith("MPI_")
                   for came, went in calls)


class Mpi:
    def __init__(self, family, hprofiler, folder):
        self.family, self.hprofiler, self.folder, self.count, self.first = family, hprofiler, folder, 0, {}
        self.program = folder / "waits_mpi"
        subprocess.run([f"mpicc.{family}", "-O1", "-g", "-w", "-fopenmp", "-D_GNU_SOURCE", "-o", self.program, APPS / "waits_mpi.c"], check=True,
                       timeout=120)

    def record(self, mode, stretch=1, ranks=3, backends="mpi"):
        self.count += 1
        trace = self.folder / f"run{self.count}.hpt"
        calls = self.folder / f"run{self.count}.calls"
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 300_000_000
        environment = {**os.environ, "WAITS_START": str(start), "WAITS_CALLS": str(calls), "WAITS_STRETCH": str(stretch)}
        done = subprocess.run([self.hprofiler, "run", "--backend", backends, "--no-summary", "-o", trace, "--", f"mpirun.{self.family}",
                               *FLAGS[self.family], "-np", str(ranks), self.program, mode],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        run = Run(self.hprofiler, trace, "".join(pathlib.Path(f"{calls}.{rank}").read_text() for rank in range(ranks)))
        self.first.setdefault((mode, ranks, backends), run)
        return run

    def any(self, mode, ranks=3, backends="mpi"):
        """Some recording, for what is true of all, whatever their times."""
        return self.first.get((mode, ranks, backends)) or self.record(mode, ranks=ranks, backends=backends)


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request, hprofiler, tmp_path_factory):
    if not shutil.which(f"mpicc.{request.param}") or not shutil.which(f"mpirun.{request.param}"):
        pytest.skip(f"{request.param} is not installed")
    if not (pathlib.Path(hprofiler).parents[1] / f"lib/libhprofiler_mpi-{request.param}.so").exists():
        pytest.skip(f"the collector for {request.param} is not built")
    folder = tmp_path_factory.mktemp(request.param)
    yield Mpi(request.param, hprofiler, folder)
    shutil.rmtree(folder, ignore_errors=True)


def agree(record, expect, model):
    """Whether the factors of a model are those that the program's own times give, in one of several runs."""
    for stretch in STRETCHES:
        run = record(stretch)
        expected, found = expect(run), run.factors(model)
        wrong = {name: (found[name], value) for name, value in expected.items() if not close(found[name], value)}
        if not wrong:
            return run
    pytest.fail(f"found, expected: {wrong}")


def pop(run):
    begin, end = run.window()
    length, useful = end - begin, [end - begin - run.mpi(rank) for rank in run.times]
    average, most = sum(useful) / len(useful), max(useful)
    return {"parallel efficiency": average / length, "load balance": average / most, "communication efficiency": most / length,
            "serialisation efficiency": most / ideal(run), "transfer efficiency": ideal(run) / length}


def ideal(run):
    """The run on an ideal network, by the program's own times: each rank's time between calls is what it was, and a call ends when those whom it
    is for have come."""
    ranks = sorted(run.times)
    calls = {rank: sorted((came, went, name, nth) for name, rows in run.times[rank].items() if name.startswith("MPI_")
                          for nth, (came, went) in enumerate(rows)) for rank in ranks}
    place = {(rank, name, nth): at for rank in ranks for at, (_, _, name, nth) in enumerate(calls[rank])}

    def needed(rank, name):
        return {"MPI_Barrier": ranks, "MPI_Bcast": [0], "MPI_Sendrecv": [(rank - 1) % len(ranks), (rank + 1) % len(ranks)]}.get(name, [])

    @functools.lru_cache(None)
    def arrival(rank, at):
        return done(rank, at - 1) + calls[rank][at][0] - calls[rank][at - 1][1]

    @functools.lru_cache(None)
    def done(rank, at):
        _, went, name, nth = calls[rank][at]
        if name == "MPI_Init_thread":
            return went
        others = [arrival(other, place[other, name, nth]) for other in needed(rank, name)]
        if name == "MPI_Recv":
            others.append(arrival(rank - 1, place[rank - 1, "MPI_Send", nth]))
        return max([arrival(rank, at), *others])

    begin, _ = run.window()
    return max(arrival(rank, place[rank, "MPI_Finalize", 0]) for rank in ranks) - begin


def test_imbalance_is_load_balance(mpi):
    run = agree(lambda stretch: mpi.record("work", stretch), pop, "POP, multiplicative")
    assert run.report["model"] == "POP, multiplicative"
    assert run.factors("POP, multiplicative")["load balance"] < 0.8, "the program is out of balance"


def test_taking_turns_is_serialisation(mpi):
    run = agree(lambda stretch: mpi.record("turns", stretch), pop, "POP, multiplicative")
    assert run.factors("POP, multiplicative")["serialisation efficiency"] < 0.8, "the program takes turns"


def test_moving_data_is_transfer(mpi):
    run = agree(lambda _: mpi.record("moves"), pop, "POP, multiplicative") # what moves it does at its own pace
    assert run.factors("POP, multiplicative")["transfer efficiency"] < 0.97, "the program moves a lot"


def test_sums_are_those_of_sql(mpi):
    """Useful time of a rank: the window without what spans of MPI cover. Spans of MPI don't overlap on a thread but for those within others."""
    run = mpi.any("work")
    begin, end = run.report["runs"][0]["begin_ns"], run.report["runs"][0]["end_ns"]
    bounds, = run.sql("select min(end_ns) as begin from spans where name like 'MPI_Init%'")
    assert bounds["begin"] == begin
    bounds, = run.sql("select max(begin_ns) as end from spans where name = 'MPI_Finalize'")
    assert bounds["end"] == end
    rows = run.sql(f"select tracks.rank, sum(max(0, min(s.end_ns, {end}) - max(s.begin_ns, {begin}))) as mpi_ns from spans s join tracks on tracks.id = s.track "
                   "left join spans p on p.id = s.parent where s.category = 'mpi' and (p.category is null or p.category != 'mpi') group by 1 order by 1")
    threads = sorted(run.report["runs"][0]["threads"], key=lambda thread: thread["rank"])
    assert [(row["rank"], row["mpi_ns"]) for row in rows] == [(thread["rank"], thread["mpi_ns"]) for thread in threads]
    useful = [end - begin - row["mpi_ns"] for row in rows]
    assert [thread["useful_ns"] for thread in threads] == useful
    factors = run.factors("POP, multiplicative")
    assert factors["parallel efficiency"] == pytest.approx(sum(useful) / 3 / (end - begin), abs=1e-6)
    assert factors["load balance"] == pytest.approx(sum(useful) / 3 / max(useful), abs=1e-6)
    assert factors["communication efficiency"] == pytest.approx(max(useful) / (end - begin), abs=1e-6)


def test_what_a_run_has_nothing_of_is_not_applicable(mpi):
    run = mpi.any("work")
    for model in run.report["runs"][0]["models"]:
        for factor in model["factors"]:
            if model["model"] in (HYBRID, "TALP, devices") or "OpenMP" in factor["name"]:
                assert not factor["applicable"] and factor["value"] is None and factor["reason"], (model["model"], factor)


def hybrid_expected(run):
    begin, end = run.window()
    length, ranks = end - begin, sorted(run.times)
    outside = {rank: length - run.mpi(rank) for rank in ranks}
    parts = {rank: [run.length(rank, "part0"), run.length(rank, "part1")] for rank in ranks}
    regions = {rank: run.length(rank, "region") for rank in ranks}
    main = {rank: outside[rank] - regions[rank] + parts[rank][0] for rank in ranks}
    useful = [length for rank in ranks for length in (main[rank], parts[rank][1])]
    average, most = sum(useful) / len(useful), max(useful)
    mpi_lb = sum(outside.values()) / len(ranks) / max(outside.values())
    multiplicative = {
        "hybrid parallel efficiency": average / length, "hybrid load balance": average / most, "hybrid communication efficiency": most / length,
        "MPI load balance": mpi_lb, "MPI communication efficiency": max(outside.values()) / length,
        "OpenMP load balance": average / most / mpi_lb, "OpenMP communication efficiency": most / max(outside.values())}
    alone = {rank: outside[rank] - regions[rank] for rank in ranks}
    additive = {
        "parallel efficiency": average / length,
        "process efficiency": sum(outside.values()) / len(ranks) / length,
        "process load balance": 1 - (max(outside.values()) - sum(outside.values()) / len(ranks)) / length,
        "thread efficiency": 1 - (sum(outside.values()) / len(ranks) - average) / length,
        "serial region efficiency": 1 - sum(alone.values()) / len(useful) / length,
        "OpenMP region efficiency": 1 - (sum(regions.values()) / len(ranks) - sum(map(sum, parts.values())) / len(useful)) / length}
    return multiplicative, additive


def test_processes_with_threads(mpi):
    for stretch in STRETCHES:
        run = mpi.record("hybrid", stretch, ranks=2, backends="mpi,openmp")
        multiplicative, additive = hybrid_expected(run)
        wrong = {}
        for model, expected in ((HYBRID, multiplicative), ("POP, hybrid MPI and OpenMP, additive", additive)):
            found = run.factors(model)
            wrong.update({(model, name): (found[name], value) for name, value in expected.items() if not close(found[name], value)})
        if not wrong:
            break
    assert not wrong
    assert run.report["model"] == HYBRID
    found = run.factors("POP, hybrid MPI and OpenMP, additive")
    assert found["parallel efficiency"] == pytest.approx(found["process efficiency"] + found["thread efficiency"] - 1, abs=2e-5)
    assert found["process efficiency"] == pytest.approx(found["process load balance"] + found["process communication"] - 1, abs=2e-5)
    assert found["thread efficiency"] == pytest.approx(found["serial region efficiency"] + found["OpenMP region efficiency"] - 1, abs=2e-3)
    talp, inputs = run.factors("TALP, host"), run.inputs()
    assert inputs["U"] + inputs["M"] + inputs["I"] + inputs["G"] == pytest.approx(inputs["R"], abs=10), "the states of a thread are all its time"
    assert talp["OpenMP parallel efficiency"] == pytest.approx(talp["OpenMP serialisation efficiency"] * talp["OpenMP load balance"] *
                                                               talp["OpenMP scheduling efficiency"], abs=1e-5)


def test_several_runs_are_a_scaling_series(mpi):
    few, many = mpi.any("work", ranks=2), mpi.any("work")
    useful = [run.inputs()["sum(u)"] for run in (few, many)]
    for kind, growth in (("strong", 1), ("weak", 1.5)):
        report = few.ask(str(many.trace), "--scaling", kind)
        first, second = report["scaling"]["runs"]
        assert first["computation_scalability"] == 1 and report["scaling"]["kind"] == kind
        assert second["computation_scalability"] == pytest.approx(useful[0] / useful[1] * growth, rel=1e-5)
        assert second["global_efficiency"] == pytest.approx(second["computation_scalability"] * second["parallel_efficiency"], rel=1e-4)
        assert report["scaling"]["ipc_scalability"] is None and "counts" in report["scaling"]["not_separable"]


# --- OpenMP alone ------------------------------------------------------------------------------------------------------

def threads_expected(run, begin, end):
    """One thread alone, then three with parts: by the program's own times, all of them within the window."""
    length, alone, regions = end - begin, 0, 0
    parts = collections.Counter()
    for tid, names in run.times.items():
        alone += sum(went - came for came, went in names["alone"])
        regions += sum(went - came for came, went in names["region"])
        parts[tid] += run.length(tid, "part")
    main, = (tid for tid, names in run.times.items() if names["alone"])
    useful = [part + (alone if tid == main else 0) for tid, part in parts.items()]
    average, most, lost = sum(useful) / 3, max(useful), alone * 2 / 3
    most_part = max(parts.values())
    pop = {"parallel efficiency": average / length, "load balance": average / most, "communication efficiency": most / length}
    additive = {"serial region efficiency": 1 - lost / length, "OpenMP region efficiency": 1 - (regions - sum(parts.values()) / 3) / length,
                "OpenMP load balance": 1 - (most_part - sum(parts.values()) / 3) / length}
    talp = {"parallel efficiency": average / length, "OpenMP serialisation efficiency": 1 - lost / length}
    return {"POP, multiplicative": pop, "POP, hybrid MPI and OpenMP, additive": additive, "TALP, host": talp}


@pytest.mark.parametrize("name", ["waits_openmp", "waits_openmp-clang"])
def test_threads_alone(hprofiler, apps, tmp_path, name):
    if not (apps / name).exists():
        pytest.skip(f"{name} is not built: its compiler has no OpenMP here")
    for nth, stretch in enumerate(STRETCHES):
        trace = tmp_path / f"run{nth}.hpt"
        done = subprocess.run([hprofiler, "run", "--backend", "openmp", "--no-summary", "-o", trace, "--", apps / name, "work"],
                              env={**os.environ, "WAITS_STRETCH": str(stretch)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        said = "\n".join(line for line in done.stdout.splitlines() if line.startswith("call work"))
        run = Run(hprofiler, trace, said)
        start = int(run.sql("select value from metadata where key = 'start_monotonic_raw_ns'")[0]["value"])
        stamps = [stamp - start for names in run.times.values() for pair in names["alone"] for stamp in pair]
        run.report = run.ask("--window", f"{min(stamps) / 1e9:.9f}:{max(stamps) / 1e9:.9f}")
        wrong = {}
        for model, expected in threads_expected(run, min(stamps), max(stamps)).items():
            found = run.factors(model)
            wrong.update({(model, key): (found[key], value) for key, value in expected.items() if not close(found[key], value)})
        if not wrong:
            break
    assert not wrong
    for factor in run.report["factors"]:
        if factor["name"] in ("serialisation efficiency", "transfer efficiency"):
            assert not factor["applicable"] and factor["reason"] == "no MPI in the trace"


# --- devices -----------------------------------------------------------------------------------------------------------

def union(intervals):
    """How long some of them last."""
    total, until = 0, None
    for begin, end in sorted(intervals):
        if until is None or begin > until:
            total, until = total + end - begin, end
        elif end > until:
            total, until = total + end - until, end
    return total


def test_devices_of_a_recorded_run(hprofiler, apps, tmp_path):
    """What a real CUPTI said: unions of kernels and copies by SQL and by hand are the model's inputs."""
    fakes = apps.parent / "fakes"
    if not (fakes / "cupti_play").exists() or not (pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_cuda.so").exists():
        pytest.skip("the CUDA collector or its stand-in CUPTI is not built")
    recording, trace = tmp_path / "plain.rec", tmp_path / "plain.hpt"
    recording.write_bytes(gzip.decompress((ROOT / "tests/data/cupti/plain.rec.gz").read_bytes()))
    environment = {**os.environ, "CUPTI_RECORDING": str(recording), "HPROFILER_CUPTI": str(fakes / "libcupti_fake.so")}
    environment.pop("CUDA_INJECTION64_PATH", None)
    done = subprocess.run([hprofiler, "run", "--no-summary", "-o", trace, "--", fakes / "cupti_play"], env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    run = Run(hprofiler, trace, "")
    rows = run.sql("select s.kind, s.begin_ns, s.end_ns from spans s join tracks t on t.id = s.track where t.kind = 'stream' and s.category = 'cuda' and "
                   "s.kind in ('kernel', 'copy', 'fill')")
    kernels = [(row["begin_ns"], row["end_ns"]) for row in rows if row["kind"] == "kernel"]
    every = [(row["begin_ns"], row["end_ns"]) for row in rows]
    inputs, factors = run.inputs(), run.factors("TALP, devices")
    assert kernels and inputs["n"] == 1
    assert inputs["sum(g)"] == inputs["max(g)"] == union(kernels)
    assert inputs["max(a)"] == union(every)
    assert factors["device load balance"] == 1
    assert factors["device communication efficiency"] == pytest.approx(union(kernels) / union(every), abs=1e-6)
    assert factors["device parallel efficiency"] == pytest.approx(
        factors["device load balance"] * factors["device communication efficiency"] * factors["device orchestration efficiency"], abs=1e-5)
    threads = run.report["runs"][0]["threads"]
    calls, = run.sql("select sum(s.end_ns - s.begin_ns) as length from spans s join tracks t on t.id = s.track left join spans p on p.id = s.parent "
                     f"where t.kind = 'thread' and t.tid = {threads[0]['pid']} and s.category = 'cuda' and s.kind != 'range' and "
                     "(p.category is null or p.category != 'cuda')")
    assert threads[0]["device_ns"] == calls["length"]
