# SPDX-License-Identifier: MIT
"""MPI from Fortran: as mpif.h, `use mpi` and `use mpi_f08` have it. tests/apps/mpi_forms is one list of calls in C and in these: each
program must give the results that C's gives without us, and a trace that holds the same calls with the same arguments."""
import collections
import json
import os
import shutil

import pytest

from conftest import ROOT, Runner

FAMILIES = ["openmpi", "mpich"]
FORMS = ["mpif", "use", "f08", "f08-short"]  # the last leaves out the optional ierror
# How often these are called, and what comes of a call, is chance; the program counts them.
TESTED = {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Waitsome", "MPI_Iprobe", "MPI_Improbe", "MPI_Win_test",
          "MPI_Request_get_status"}
# Numbers that mean something in one run only: identities, which are numbered by their first sight, and addresses.
IDENTITIES = {"comm", "window", "parent"}
ADDRESSES = {"send_buffer", "receive_buffer", "origin_buffer", "base"}
TIMEOUT_S = 120


def launch(family, ranks):
    if not shutil.which(f"mpirun.{family}"):
        pytest.skip(f"mpirun.{family} is not installed")
    options = {"openmpi": ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": []}
    return [f"mpirun.{family}", *options[family], "-n", str(ranks)]


def program(apps, form, family):
    path = apps / "mpi_forms" / f"{form}-{family}"
    if not path.exists():
        pytest.skip(f"there is no mpicc.{family} or mpifort.{family} that builds {path.name}")
    return path


@pytest.fixture(scope="module")
def runs(hprofiler, apps, tmp_path_factory):
    """Runs each program once, however many tests look at it."""
    runner, done = Runner(hprofiler, tmp_path_factory.mktemp("forms")), {}

    def run(way, form, family, ranks, *arguments, may_fail=False):
        key = way, form, family, ranks, arguments
        if key not in done:
            command = [*launch(family, ranks), program(apps, form, family), *arguments]
            how = {"timeout": TIMEOUT_S}
            done[key] = runner.bare(command, **how) if way == "bare" else runner.profiled(command, ["--backend", "mpi"], **how)
        assert may_fail or done[key].status == 0, done[key].stderr.decode(errors="replace")
        return done[key]
    return run


def wrapped():
    lines = (ROOT / "src/collect/mpi/wrappers.def").read_text().splitlines()
    return {line.split()[0] for line in lines if line.startswith("MPI_")}


def results(outcome):
    return sorted(outcome.stdout.decode().splitlines())


def counted(outcome):
    lines = [line.split() for line in outcome.stderr.decode(errors="replace").splitlines() if " tested " in line]
    return {int(rank): int(count) for rank, _, count in lines}


def calls_by_rank(profiled):
    """For each rank its calls in their order, as pairs of name and arguments."""
    rows = profiled.query("SELECT processes.rank AS rank, spans.name AS name, spans.args AS args FROM spans JOIN tracks ON spans.track = tracks.id "
                          "JOIN processes ON tracks.process = processes.id WHERE spans.category = 'mpi' ORDER BY rank, spans.begin_ns")
    calls, seen = collections.defaultdict(list), collections.defaultdict(dict)
    for row in rows:
        arguments = json.loads(row["args"] or "{}")
        known = seen[row["rank"]]
        for name in IDENTITIES & arguments.keys():
            arguments[name] = known.setdefault(arguments[name], len(known))
        for name in ADDRESSES & arguments.keys():
            arguments[name] = arguments[name] != 0
        if "file" in arguments:
            arguments["file"] = os.path.basename(arguments["file"])
        calls[row["rank"]].append((row["name"], arguments))
    return calls


def links_and_groups(profiled):
    links = profiled.query("SELECT kind, confidence, count(*) AS n FROM links GROUP BY kind, confidence ORDER BY kind, confidence")
    groups = profiled.query("SELECT name, count(*) AS n FROM groups GROUP BY name ORDER BY name")
    return [list(row.values()) for row in links], [list(row.values()) for row in groups]


# Four ranks that wait without giving way are slow where there are fewer processors: MPICH's only once.
cases = pytest.mark.parametrize("family, form, ranks", [(family, form, 2) for family in FAMILIES for form in FORMS] + [
    ("openmpi", "mpif", 4), ("openmpi", "f08", 4), ("mpich", "f08", 4)])
# Functions of wrappers.def that no program here calls.
UNCALLED = {
    "MPI_Abort": "it ends the program",
    "MPI_Comm_join": "it wants a socket, which Fortran has not",
}
# Those of the programs' part `children`.
CHILDRENS = {"MPI_Init_thread", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept", "MPI_Comm_connect"}


@cases
def test_results_are_those_of_c_without_us(runs, family, form, ranks):
    expected = results(runs("bare", "c", family, ranks))
    assert len(expected) > 10 * ranks
    assert results(runs("profiled", form, family, ranks)) == expected


@cases
def test_calls_and_their_arguments_are_those_of_c(runs, family, form, ranks):
    expected, found = (calls_by_rank(runs("profiled", one, family, ranks)) for one in ("c", form))
    assert sorted(found) == sorted(expected) == list(range(ranks))
    for rank in range(ranks):
        sure = [[call for call in calls[rank] if call[0] not in TESTED] for calls in (expected, found)]
        for number, (one, other) in enumerate(zip(*sure)):
            assert other == one, f"call {number} of rank {rank}"
        assert len(sure[0]) == len(sure[1]) > 20


@cases
def test_each_test_is_seen_once(runs, family, form, ranks):
    outcome = runs("profiled", form, family, ranks)
    found = {rank: sum(name in TESTED for name, _ in calls) for rank, calls in calls_by_rank(outcome).items()}
    assert found == counted(outcome)


@cases
def test_messages_requests_and_collectives_are_joined_as_in_c(runs, family, form, ranks):
    assert links_and_groups(runs("profiled", form, family, ranks)) == links_and_groups(runs("profiled", "c", family, ranks))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_programs_call_every_wrapped_function(runs, family):
    called = {name for calls in calls_by_rank(runs("profiled", "f08", family, 2)).values() for name, _ in calls}
    assert wrapped() - called == UNCALLED.keys() | CHILDRENS


@pytest.mark.parametrize("form", ["mpif", "f08"])
@pytest.mark.parametrize("family", FAMILIES)
def test_programs_may_spawn_others_and_call_each_other(runs, family, form):
    bare = runs("bare", "c", family, 2, "children", may_fail=True)
    if bare.status != 0:
        pytest.skip(f"a C program cannot spawn here without us, either: {bare.stderr.decode(errors='replace')[-200:]}")
    outcome = runs("profiled", form, family, 2, "children")
    assert results(outcome) == results(bare)
    assert CHILDRENS <= {name for calls in calls_by_rank(outcome).values() for name, _ in calls}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_request_of_one_language_is_waited_for_in_the_other(runs, family):
    outcome = runs("profiled", "mixed", family, 2)
    assert results(outcome) == ["0 864", "1 64"]
    links = outcome.query("SELECT links.kind AS kind, a.name AS begin, b.name AS end, count(*) AS n FROM links JOIN spans a ON from_span = a.id "
                          "JOIN spans b ON to_span = b.id WHERE links.kind = 'request' GROUP BY 2, 3 ORDER BY 2, 3")
    assert [tuple(row.values()) for row in links] == [("request", "MPI_Irecv", "MPI_Wait", 2), ("request", "MPI_Isend", "MPI_Wait", 2)]
    sections = [arguments for calls in calls_by_rank(outcome).values() for name, arguments in calls if name == "MPI_Sendrecv"]
    assert [(one["send_bytes"], one["receive_bytes"]) for one in sections] == [(32, 32)] * 2


@pytest.mark.parametrize("family", FAMILIES)
def test_an_mpi_that_only_a_library_sees_is_found(runs, hprofiler, apps, family, tmp_path):
    host, library = apps / "mpi_forms/host", program(apps, "mpif", f"{family}.so")
    outcome = Runner(hprofiler, tmp_path).profiled([*launch(family, 2), host, library], ["--backend", "mpi"], timeout=TIMEOUT_S)
    assert outcome.status == 0, outcome.stderr.decode(errors="replace")
    assert results(outcome) == results(runs("bare", "c", family, 2))
    expected, found = calls_by_rank(runs("profiled", "c", family, 2)), calls_by_rank(outcome)
    assert {rank: [name for name, _ in calls if name not in TESTED] for rank, calls in found.items()} == {
        rank: [name for name, _ in calls if name not in TESTED] for rank, calls in expected.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_another_tool_sees_what_it_sees_without_us(runs, family):
    bare, profiled = runs("bare", "tooled", family, 2), runs("profiled", "tooled", family, 2)
    assert results(profiled) == results(bare)
    assert sum("tool saw" in line for line in results(bare)) == 2
    expected, found = calls_by_rank(runs("profiled", "c", family, 2)), calls_by_rank(profiled)
    assert {rank: [call for call in calls if call[0] not in TESTED] for rank, calls in found.items()} == {
        rank: [call for call in calls if call[0] not in TESTED] for rank, calls in expected.items()}
