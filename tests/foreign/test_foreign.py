# SPDX-License-Identifier: MIT
"""What readers that we did not write make of our files: speedscope's page in Chromium, and npm's trace-model."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = """
import hashlib, json, threading
def spin(n):
    for i in range(n):
        json.loads(json.dumps([{'a': j, 'b': [1, 2, 3]} for j in range(4000)]))
        hashlib.sha256(b'x' * 4000000).hexdigest()
worker = threading.Thread(target=spin, args=(8,)); worker.start(); spin(8); worker.join()
"""


@pytest.fixture(scope="session")
def hprofiler():
    path = pathlib.Path(os.environ.get("HPROFILER_BIN") or ROOT / "build/bin/hprofiler").absolute()
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built")
    return str(path)


@pytest.fixture(scope="session")
def readers(tmp_path_factory):
    """A folder with the npm packages; kept in $HP_FOREIGN_DIR between runs."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = pathlib.Path(os.environ.get("HP_FOREIGN_DIR") or tmp_path_factory.mktemp("readers"))
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "speedscope.js", "model.js"):
        shutil.copy(HERE / name, folder / name)
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]

    def installed(name):
        package = folder / "node_modules" / name / "package.json"
        return package.exists() and json.loads(package.read_text())["version"] == wanted[name]

    if not all(installed(name) for name in wanted):
        # Its own patience with a registry that cannot be reached is minutes long.
        patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000", "--fetch-timeout=20000"]
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", *patience], cwd=folder,
                              capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            pytest.skip(f"npm cannot install the readers: {done.stderr.strip().splitlines()[-1:]}")
    return folder


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        pytest.skip("chromium is not installed")
    return path


@pytest.fixture(scope="session")
def recording(hprofiler, tmp_path_factory):
    """The Chrome JSON of a real run, sampled with stacks."""
    trace = tmp_path_factory.mktemp("run") / "run.hprofiler.json"
    done = subprocess.run([hprofiler, "run", "-b", "cpu", "--perf-callgraph", "dwarf", "--no-summary", "-o", str(trace), "--",
                           sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return trace


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def speedscope(readers, chromium, file):
    environment = os.environ if len(tempfile.gettempdir()) < 60 else {**os.environ, "TMPDIR": "/tmp"}  # the browser makes a socket there
    done = subprocess.run(["node", "speedscope.js", chromium, str(file)], cwd=readers, capture_output=True, text=True, timeout=180, env=environment)
    assert done.returncode == 0, done.stderr
    page = json.loads(done.stdout)
    assert page["errors"] == []
    return page


def rows_of(answer):
    """Rows of a query's JSON as dictionaries, whichever of the two shapes it has."""
    if isinstance(answer, dict):
        return [dict(zip(answer["columns"], row)) if isinstance(row, list) else row for row in answer["rows"]]
    return answer


def busiest_leaf(hprofiler, trace):
    sql = ("SELECT f.name AS name, sum(s.weight) AS ns FROM samples s JOIN frames f ON f.stack = s.stack AND f.depth = 0 "
           "WHERE s.event IN ('cpu-clock', 'cycles', 'timer') GROUP BY 1 ORDER BY 2 DESC LIMIT 1")
    return rows_of(query(hprofiler, trace, sql))[0]["name"]


def test_speedscope_shows_the_chrome_json_of_a_run(hprofiler, readers, chromium, recording):
    page = speedscope(readers, chromium, recording)
    assert any("Trace Event" in line for line in page["log"]), page["log"]
    assert len(page["rows"]) > 5, "the table of functions is empty: samples were not imported"


def test_speedscope_shows_its_own_export(hprofiler, readers, chromium, recording, tmp_path):
    out = tmp_path / "run.speedscope.json"
    subprocess.run([hprofiler, "export", str(recording), "--to", "speedscope", "-o", str(out)], check=True, timeout=60)
    page = speedscope(readers, chromium, out)
    assert any("speedscope json" in line for line in page["log"]), page["log"]
    busiest = busiest_leaf(hprofiler, recording)
    assert any(busiest in row for row in page["rows"]), f"{busiest} is not in the table of functions"


def overlapping_trace(path):
    """Complete events of one thread that overlap in every way, as device streams have them."""
    chance = random.Random(1)
    events = [{"ph": "X", "name": f"span{i}", "pid": 1, "tid": 1, "ts": chance.randrange(1000), "dur": chance.randrange(1, 200)}
              for i in range(300)]
    path.write_text(json.dumps({"traceEvents": events}))
    return sorted((event["name"], event["ts"], event["dur"]) for event in events)


def assert_nested(spans):
    open_ends = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{begin}..{end} overlaps a span that ends at {open_ends[-1]}"
        open_ends.append(end)


def test_the_model_reads_overlapping_spans_on_lanes(hprofiler, readers, tmp_path):
    wanted = overlapping_trace(tmp_path / "in.json")
    out = tmp_path / "out.json"
    subprocess.run([hprofiler, "export", str(tmp_path / "in.json"), "--to", "chrome", "-o", str(out)], check=True, timeout=60)
    done = subprocess.run(["node", "model.js", str(out)], cwd=readers, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    threads = [thread for process in json.loads(done.stdout) for thread in process["threads"]]
    found = sorted((span["name"], span["start"], span["end"] - span["start"]) for thread in threads for span in thread["spans"])
    assert found == wanted
    assert sum(bool(thread["spans"]) for thread in threads) > 1
    for thread in threads:
        assert_nested([(span["start"], span["end"]) for span in thread["spans"]])


def test_the_model_reads_the_json_of_a_run(hprofiler, readers, recording):
    done = subprocess.run(["node", "model.js", str(recording)], cwd=readers, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    processes = json.loads(done.stdout)
    spans = sum(len(thread["spans"]) for process in processes for thread in process["threads"])
    counted = rows_of(query(hprofiler, recording, "SELECT count(*) AS n FROM spans WHERE end_ns IS NOT NULL"))[0]["n"]
    assert spans == counted
    assert any("python" in (process["name"] or "") for process in processes)
