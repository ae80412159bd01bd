# SPDX-License-Identifier: MIT
"""The dependency graph of real recordings: who waited for whom is known of each program; the unchanged replay gives the run back."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

FLAGS = {"openmpi": ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": []}
FAMILIES = ["openmpi", "mpich"]
RANKS = 3


@pytest.fixture(scope="module")
def graph_of(hprofiler, tmp_path_factory):
    """Records a program and returns its graph in numbers (tests/bench/graph_report.c)."""
    report = pathlib.Path(hprofiler).parent / "graph_report"
    if not report.exists():
        pytest.skip(f"{report} is not built")
    folder = tmp_path_factory.mktemp("graphs")

    def make(command, *options, name="trace"):
        trace = folder / f"{name}.hpt"
        done = subprocess.run([hprofiler, "run", "--no-summary", *options, "-o", trace, "--", *map(str, command)], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        done = subprocess.run([report, trace], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        graph = json.loads(done.stdout)
        trace.unlink()
        return graph

    return make


def launch(apps, family, *arguments):
    program = apps / f"graph_mpi-{family}"
    if not program.exists() or not shutil.which(f"mpirun.{family}"):
        pytest.skip(f"{family} is not installed")
    return [f"mpirun.{family}", *FLAGS[family], "-np", str(RANKS), str(program), *arguments]


def edges(graph, rule):
    return {word: number for word, number in graph["edges"].get(rule, {}).items() if word != "bound" and number}


def is_sound(graph):
    assert graph["backward"] == graph["cycles"] == graph["below_medium"] == 0
    assert abs(graph["replayed_ns"] - graph["measured_ns"]) <= graph["measured_ns"] / 100
    assert graph["path"]["length_ns"] == graph["measured_ns"]
    named = [row for row in graph["unexplained_spans"] if row[0]]
    assert not named, "every wait in a traced call is explained"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("what, expected", [
    ("late", {"message": {"certain": 2 * 2}, "collective": {"certain": 2 * 2 * RANKS, "high": 4 * RANKS}}),
    ("synchronous", {"message": {"certain": 2}, "rendezvous": {"certain": 2}}),
    ("small", {"message": {"certain": 2}, "rendezvous": {}, "large send": {}}),
    ("requests", {"message": {"certain": 2 * 2 * RANKS}, "large send": {}}),
    ("any", {"message": {"certain": 2 * (RANKS - 1)}}),
    ("exchange", {"message": {"certain": 2 * RANKS}}),
    ("persistent", {"message": {"certain": 2 * 3 * RANKS}}),
    ("probe", {"message": {"certain": 2 * 2}}),                                         # to the probe, too
    ("rooted", {"collective": {"certain": 2 * (RANKS - 1 + RANKS + 1), "high": 4 * RANKS}}),
    ("scan", {"collective": {"certain": 2 * 2 * (RANKS - 1 + RANKS - 1 + RANKS), "high": 4 * RANKS}}),
    ("immediate", {"collective": {"certain": 2 * 2 * RANKS, "high": 4 * RANKS}}),
    ("fence", {"window sync": {"certain": 2 * (2 * 2 * RANKS + 2 * RANKS)}}),
])
def test_edges_of_mpi(graph_of, apps, family, what, expected):
    graph = graph_of(launch(apps, family, what, "2"), "--backend", "mpi")
    for rule, numbers in expected.items():
        assert edges(graph, rule) == numbers, rule
    is_sound(graph)


@pytest.mark.parametrize("family", FAMILIES)
def test_edges_of_a_hybrid_program(graph_of, apps, family):
    rounds = 3
    graph = graph_of(launch(apps, family, "hybrid", str(rounds)), "--backend", "mpi,openmp")
    regions = rounds * RANKS
    assert edges(graph, "fork") == edges(graph, "join") == {"certain": regions}
    assert edges(graph, "task create") == {"certain": 4 * regions}
    assert edges(graph, "barrier") in ({"certain": 3 * 4 * regions}, {"certain": 2 * 4 * regions}) # GCC leaves single's own to the region's
    assert edges(graph, "collective") == {"certain": 2 * rounds * RANKS, "high": 4 * RANKS}
    is_sound(graph)


@pytest.mark.parametrize("program", ["gomp_counts", "gomp_counts-clang"])
def test_edges_of_openmp(graph_of, apps, program):
    if not (apps / program).exists():
        pytest.skip(f"{program} is not built")
    modes = ["regions", "dynamic", "sections", "single", "criticals", "locks", "barriers", "tasks", "taskloop", "depend"]
    graph = graph_of([apps / program, "3", *modes], "--backend", "openmp")
    for rule in ("fork", "join", "barrier", "task create"):
        assert list(edges(graph, rule)) == ["certain"], rule
    assert graph["edges"]["fork"] == {**graph["edges"]["fork"], "bound": edges(graph, "fork")["certain"]}
    assert edges(graph, "task dependence")
    is_sound(graph)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_call_of_mpi_is_explained(graph_of, apps, family, ranks):
    """mpi_counts calls nearly every function that waits, with empty parts and communicators of one rank among them."""
    command = launch(apps, family)
    command[command.index("-np") + 1] = str(ranks)
    command[-1] = command[-1].replace("graph_mpi", "mpi_counts")
    graph = graph_of([*command, "5"], "--backend", "mpi")
    assert edges(graph, "message") and edges(graph, "rendezvous") and edges(graph, "collective")
    is_sound(graph)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", ["sizes", "hybrid", "persistent"])
def test_inferred_edges_are_as_right_as_they_say(hprofiler, apps, tmp_path, family, mode):
    """tests/bench/edge_precision has the whole table (docs/edge-precision.md)."""
    precision, trace = pathlib.Path(hprofiler).parent / "graph_precision", tmp_path / "trace.hpt"
    if not precision.exists():
        pytest.skip(f"{precision} is not built")
    done = subprocess.run([hprofiler, "run", "--no-summary", "-b", "mpi,openmp", "-o", trace, "--", *launch(apps, family, mode, "3")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([precision, trace], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in done.stdout.splitlines()]
    assert {"sizes": "message", "hybrid": "fork", "persistent": "message"}[mode] in [row[0] for row in rows]
    for rule, confidence, inferred, right in rows:
        assert int(right) >= {"certain": 1, "high": 0.99, "medium": 0.9}[confidence] * int(inferred), rule


def test_a_program_without_runtimes_is_its_main_thread(graph_of, apps):
    graph = graph_of([apps / "target", "burn", "50"], "--backend", "cpu")
    assert graph["lanes"] >= 1 and graph["edges"].keys() <= {"processor"}
    assert graph["path"]["length_ns"] == graph["measured_ns"] == graph["replayed_ns"]


def test_time_off_the_processor_is_told_from_work(graph_of, apps):
    """A program that sleeps: what nobody knows the reason of is marked, and is not called work."""
    graph = graph_of(["sleep", "0.3"], "--backend", "cpu")
    if not graph["lane_ns"]["unexplained"] and not graph["lane_ns"]["descheduled"]:
        pytest.skip("the kernel does not let us see context switches here")
    assert graph["lane_ns"]["unexplained"] > 250e6 > graph["lane_ns"]["work"]
