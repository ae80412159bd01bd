# SPDX-License-Identifier: MIT
"""run --call-tree: who called, from a real runtime's calls to every place where a trace shows it."""
import json
import os
import pathlib
import subprocess

import pytest

POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
COUNT = 20
STACKS = """select s.id id, group_concat(f.name, ';') path from spans s join frames f on f.stack = s.stack
    where s.name = 'clEnqueueNDRangeKernel' group by s.id"""


@pytest.fixture(scope="module")
def program(apps):
    path = apps / "opencl_target"
    if not POCL.exists() or not path.exists():
        pytest.skip("no PoCL here (Debian: pocl-opencl-icd), or no OpenCL headers (opencl-headers, ocl-icd-opencl-dev)")
    return path


@pytest.fixture(scope="module")
def traced(hprofiler, program, tmp_path_factory):
    """The program run with and without --call-tree: traces by option."""
    folder = tmp_path_factory.mktemp("calls")
    environment = {**os.environ, "OCL_ICD_VENDORS": "pocl.icd", "POCL_CACHE_DIR": str(folder / "cache")}
    traces = {}
    for option in ("--call-tree", ""):
        traces[option] = folder / f"trace{option}.hpt"
        done = subprocess.run([hprofiler, "run", *filter(None, [option]), "-b", "opencl", "--no-summary", "-o", traces[option], "--", program, "many",
                               str(COUNT)], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    return traces


def rows(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def export(hprofiler, trace, path):
    done = subprocess.run([hprofiler, "export", str(trace), "-o", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return path.read_text()


def test_every_call_has_its_stack(hprofiler, traced):
    stacks = rows(hprofiler, traced["--call-tree"], STACKS)
    assert len(stacks) == COUNT
    paths = {stack["path"] for stack in stacks}
    assert len(paths) == 1 and all("scenario_many" in path.split(";") for path in paths)
    assert not any("hprofiler" in path or "rt_stack" in path for path in paths)
    metadata = rows(hprofiler, traced["--call-tree"], "select value from metadata where key = 'call_tree'")
    assert metadata == [{"value": "yes"}]


def test_without_the_option_there_are_none(hprofiler, traced):
    assert rows(hprofiler, traced[""], "select count(stack) stacks from spans") == [{"stacks": 0}]
    assert rows(hprofiler, traced[""], "select * from metadata where key = 'call_tree'") == []


def test_chrome_json_keeps_them(hprofiler, traced, tmp_path):
    export(hprofiler, traced["--call-tree"], tmp_path / "trace.json")
    assert rows(hprofiler, tmp_path / "trace.json", STACKS) == rows(hprofiler, traced["--call-tree"], STACKS)


def test_flame_graphs_of_calls_have_callers(hprofiler, traced, tmp_path):
    lines = export(hprofiler, traced["--call-tree"], tmp_path / "trace.folded").splitlines()
    mine = [line for line in lines if ";clEnqueueNDRangeKernel " in line]
    assert len(mine) == 1 and ";scenario_many;" in mine[0]
    assert "scenario_many" in export(hprofiler, traced["--call-tree"], tmp_path / "trace.html")
