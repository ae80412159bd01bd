# SPDX-License-Identifier: MIT
"""NCCL's functions as wrapped for an NCCL that takes no profiler plugin: a stand-in libnccl (tests/fakes/nccl_library), real programs."""
import json
import os
import pathlib
import subprocess

import pytest

RANKS, ROUNDS = 2, 5


@pytest.fixture(scope="module")
def record(hprofiler, apps, tmp_path_factory):
    fakes = apps.parent / "fakes"
    if not (fakes / "nccl_program").exists() or not (pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_nccl.so").exists():
        pytest.skip("the NCCL collector or the stand-in for its library is not built")
    folder = tmp_path_factory.mktemp("nccl_calls")

    def run(name, *command, **variables):
        environment = {key: value for key, value in os.environ.items() if key != "NCCL_PROFILER_PLUGIN"} | variables
        done = subprocess.run([hprofiler, "run", "--no-summary", "-o", folder / f"{name}.hpt", "--", *command], env=environment,
                              capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
        return folder / f"{name}.hpt"
    return {"linked": lambda **variables: run("linked", fakes / "nccl_program", **variables),
            "opened": lambda **variables: run("opened", fakes / "nccl_opens", fakes / "libnccl_user.so", **variables)}


@pytest.fixture(scope="module", params=["linked", "opened"])
def trace(request, record):
    return record[request.param]()


@pytest.fixture
def query(hprofiler):
    def ask(trace, sql):
        done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)
    return ask


def arguments(query, trace, where):
    return [json.loads(row["args"]) for row in query(trace, f"select args from spans where category = 'nccl' and {where} order by begin_ns")]


def test_each_collective_is_an_operation_with_its_communicator_rank_and_number(trace, query):
    rows = arguments(query, trace, "kind = 'collective' and name = 'AllReduce'")
    assert sorted((row["rank"], row["sequence"]) for row in rows if "sequence" in row) == [(rank, n) for rank in range(RANKS) for n in range(ROUNDS)]
    assert len({row["comm"] for row in rows}) == 1 and {row["bytes_sent"] for row in rows} == {4096}


def test_ranks_parts_are_groups(trace, query):
    groups = query(trace, "select g.name as name, count(*) as n from groups g join members m on m.\"group\" = g.id where g.kind = 'collective' group by g.id")
    assert sorted((row["name"], row["n"]) for row in groups) == [("AllReduce", RANKS)] * ROUNDS + [("Broadcast", RANKS)]


def test_what_is_within_a_group_ends_with_it(trace, query):
    sends = query(trace, "select end_ns - begin_ns as n, args from spans where category = 'nccl' and kind in ('send', 'recv')")
    assert len(sends) == 2 * RANKS and min(row["n"] for row in sends) >= 300_000
    assert sorted(json.loads(row["args"]).get("send_to", -1) for row in sends) == [-1, -1, 0, 1]
    assert query(trace, "select count(*) as n from spans where category = 'nccl' and name = 'group'") == [{"n": 1}]


def test_communicators_that_were_split_off_have_an_identity_of_their_own(trace, query):
    halves = arguments(query, trace, "kind = 'collective' and name = 'Broadcast'")
    whole = arguments(query, trace, "kind = 'collective' and name = 'AllReduce'")
    assert len(halves) == RANKS and len({row["comm"] for row in halves}) == 1  # one function calls another: one operation each
    assert {row["comm"] for row in halves}.isdisjoint(row["comm"] for row in whole) and {row["root"] for row in halves} == {1}


def test_calls_are_spans_on_their_thread(trace, query):
    rows = query(trace, "select s.name, count(*) as n from spans s join tracks t on t.id = s.track where s.category = 'nccl' and s.kind = 'api' and "
                 "t.kind = 'thread' group by 1 order by 1")
    assert rows == [{"name": "AllReduce", "n": 10}, {"name": "Broadcast", "n": 2}, {"name": "Recv", "n": 2}, {"name": "Send", "n": 2}, {"name": "group", "n": 1}]


def test_the_wrappers_are_silent_once_nccl_has_taken_the_plugin(record, query):
    trace = record["linked"](NCCL_FAKE_PLUGIN="yes")
    assert query(trace, "select count(*) as n from spans where category = 'nccl'") == [{"n": 0}]


def test_the_wrappers_work_beside_a_plugin_of_the_users_own(record, query):
    trace = record["linked"](NCCL_PROFILER_PLUGIN="none")
    assert query(trace, "select count(*) as n from spans where category = 'nccl' and kind = 'collective'") == [{"n": RANKS * (ROUNDS + 1)}]
