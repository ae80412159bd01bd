# SPDX-License-Identifier: MIT
"""NVTX as a program uses it that has nothing to do with a GPU (tests/fakes/nvtx_drive): ranges, domains, marks, names."""
import json
import os
import pathlib
import subprocess

import pytest


@pytest.fixture(scope="module")
def trace(hprofiler, apps, tmp_path_factory):
    drive = apps.parent / "fakes/nvtx_drive"
    if not drive.exists() or not (pathlib.Path(hprofiler).parents[1] / "lib/libhprofiler_cuda.so").exists():
        pytest.skip("the CUDA collector, which NVTX is part of, or the driver for it is not built")
    path = tmp_path_factory.mktemp("nvtx") / "trace.hpt"
    environment = {key: value for key, value in os.environ.items() if key != "NVTX_INJECTION64_PATH"}
    done = subprocess.run([hprofiler, "run", "--no-summary", "-o", path, "--", drive], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "levels 0, too many pops -2\n"), done.stderr
    return path


@pytest.fixture
def query(hprofiler):
    def ask(trace, sql):
        done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)
    return ask


def test_ranges_are_spans_of_their_domain_and_thread(trace, query):
    rows = query(trace, "select name, category, count(*) as n from spans where kind = 'range' group by 1, 2 order by 1")
    assert {(row["name"], row["category"], row["n"]) for row in rows} == {
        ("outer", "nvtx", 10), ("inner", "solver", 10), ("größe", "nvtx", 1), ("work of the worker", "nvtx", 1), ("from thread to thread", "nvtx", 1)}
    inner = json.loads(query(trace, "select args from spans where name = 'inner' limit 1")[0]["args"])
    assert inner == {"group": "numerics", "value": -5}


def test_inner_ranges_have_the_outer_ones_as_parents(trace, query):
    rows = query(trace, "select p.name, count(*) as n from spans s join spans p on p.id = s.parent where s.name = 'inner' group by 1")
    assert rows == [{"name": "outer", "n": 10}]


def test_a_range_from_thread_to_thread_has_a_lane(trace, query):
    rows = query(trace, "select t.name from spans s join tracks t on t.id = s.track where s.name = 'from thread to thread'")
    assert rows == [{"name": "NVTX ranges"}]
    assert query(trace, "select name, category from instants where category = 'nvtx'") == [{"name": "here", "category": "nvtx"}]


def test_threads_have_the_names_that_they_were_given(trace, query):
    rows = query(trace, "select t.name from spans s join tracks t on t.id = s.track where s.name in ('work of the worker', 'größe') order by s.begin_ns")
    assert [row["name"] for row in rows] == ["first of all threads", "a worker that another thread named"]
