# SPDX-License-Identifier: MIT
"""The keys of what-if's, efficiency's and critical-path's JSON are those that their pages list: none more, none less, in real output."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

APPS = pathlib.Path(__file__).resolve().parents[1] / "apps"
DOCS = APPS.parents[1] / "docs"


def documented(page):
    """Keys of the table under "For programs", and of the text before it: {key: its own keys or None}."""
    text = (DOCS / page).read_text().split("## For programs\n")[1].split("\n## ")[0]
    found = {}
    for cell in re.findall(r"^\| (`[^|]*?) \| ", text, re.M):
        for name, inner in re.findall(r"`(\w+)(?:\[\])?`(?: \{([^}]*)\})?", re.sub(r"\{([^}]*)\}", lambda match: "{" + match.group(1).replace("`", "'") + "}", cell)):
            found[name] = re.findall(r"'(\w+)'", inner) or None
    return found


def assert_keys(found, expected, where):
    assert set(found) == set(expected), where
    for key, inner in expected.items():
        values = found[key] if isinstance(found[key], list) else [found[key]]
        for value in values:
            if inner and value is not None:
                assert set(value) == set(inner), f"{where}: {key}"


@pytest.fixture
def trace(waiting_threads):
    return waiting_threads


def ask(hprofiler, *arguments):
    done = subprocess.run([hprofiler, *map(str, arguments), "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_if(hprofiler, trace):
    found = ask(hprofiler, "what-if", trace, "--scale", "kind=compute:0.5", "--network", "2us,10G")
    assert_keys(found, documented("what-if.md"), "what-if")
    assert found["network"] == {"network": "2us,10G", "latency_ns": 2000, "bytes_per_second": 10 * 2**30, "changed": 0}
    assert found["balance"] is None and found["scales"][0]["scale"] == "kind=compute:0.5"
    assert ask(hprofiler, "what-if", trace, "--scale", "kind=compute:0.5")["network"] is None
    assert ask(hprofiler, "what-if", trace, "--network", "0,inf")["network"]["bytes_per_second"] is None


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_what_if_ranks_were_balanced(family, hprofiler, tmp_path):
    if not shutil.which(f"mpicc.{family}") or not shutil.which(f"mpirun.{family}"):
        pytest.skip(f"{family} is not installed")
    if not (pathlib.Path(hprofiler).parents[1] / f"lib/libhprofiler_mpi-{family}.so").exists():
        pytest.skip(f"the collector for {family} is not built")
    flags = {"openmpi": ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])], "mpich": []}[family]
    subprocess.run([f"mpicc.{family}", "-w", "-D_GNU_SOURCE", "-o", tmp_path / "waits_mpi", APPS / "waits_mpi.c"], check=True, timeout=120)
    environment = {**os.environ, "WAITS_START": str(time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 500_000_000), "WAITS_CALLS": str(tmp_path / "calls")}
    done = subprocess.run([hprofiler, "run", "--backend", "mpi", "--no-summary", "-o", tmp_path / "t.hpt", "--", f"mpirun.{family}", *flags, "-np", "3",
                           tmp_path / "waits_mpi", "allreduce"], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done.stderr
    found = ask(hprofiler, "what-if", tmp_path / "t.hpt", "--balance", "ranks", "--network", "0,inf")
    assert_keys(found, documented("what-if.md"), "what-if")
    assert found["balance"]["balance"] == "ranks" and found["balance"]["phases"] > 0 and found["network"]["changed"] > 0


def test_critical_path(hprofiler, trace):
    found = ask(hprofiler, "critical-path", trace)
    assert found["hops"] and found["composition"] and found["edges"] and found["blame"]
    assert_keys(found, documented("critical-path.md"), "critical-path")


def test_efficiency(hprofiler, trace):
    found = ask(hprofiler, "efficiency", trace)
    text = (DOCS / "efficiency.md").read_text().split("## For programs\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| (`[^|]*) \| ([^|]*) \|$", text, re.M))
    keys = [key for cell in rows for key in re.findall(r"`(\w+)(?:\[\])?`", cell)]
    assert set(found) == {"model", "factors", "runs", "scaling"}
    assert set(found["runs"][0]) == set(keys)
    assert set(found["factors"][0]) == set(re.findall(r"`(\w+)`", re.search(r"`factors\[\]` \(([^)]*)\)", text).group(1)))
    for name in ("inputs", "threads", "patterns", "waits", "delays", "models"):
        cell = re.sub(r"\([^)]*\)|: what formulas.*", "", rows[f"`{name}[]`"])
        expected = {key for key in re.findall(r"`(\w+)(?:\[\])?`", cell) if key != "null"}
        assert found["runs"][0][name], name
        assert set(found["runs"][0][name][0]) == expected, name


def test_efficiency_of_several_runs(hprofiler, trace):
    found = ask(hprofiler, "efficiency", trace, trace)
    text = (DOCS / "efficiency.md").read_text()
    match = re.search(r"`scaling` is `null` for one trace, else `kind`, `formula`, `runs\[\]` \(([^)]*)\)", text)
    parts = re.search(r"computation's parts ([^(]*) \(`null`\) with `(not_separable)`", text)
    assert set(found["scaling"]) == {"kind", "formula", "runs", *re.findall(r"`(\w+)`", parts.group(1)), parts.group(2)}
    assert set(found["scaling"]["runs"][0]) == set(re.findall(r"`(\w+)`", match.group(1)))
