# SPDX-License-Identifier: MIT
"""Fixtures of the whole-program tests: where hprofiler and the target programs are, and the comparison of a program run
bare with the same program run under `hprofiler run`."""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "tests"))
import stuck
TIMEOUT_S = 60
# Launchers of MPI look names up; where no name server answers, each would take minutes.
os.environ.setdefault("RES_OPTIONS", "timeout:1 attempts:1")
# A sanitizer in hprofiler would lower its own core limit, which the target inherits.
os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "disable_coredump=0"]))


def hprofiler_path():
    return pathlib.Path(os.environ.get("HPROFILER_BIN") or ROOT / "build/bin/hprofiler").absolute()


def pytest_configure(config):
    """An own base folder: the one pytest shares between its processes is closed to other users by each that starts."""
    stuck.watch(config)
    # Launchers that run side by side would make and remove one folder of their user.
    os.environ["OMPI_MCA_orte_tmpdir_base"] = tempfile.mkdtemp(prefix="hp-ompi-")
    config.add_cleanup(lambda: shutil.rmtree(os.environ["OMPI_MCA_orte_tmpdir_base"], ignore_errors=True))
    if config.option.basetemp is None:
        config.option.basetemp = tempfile.mkdtemp(prefix="pytest-hprofiler-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.fixture(scope="session")
def hprofiler():
    """Path of the program under test: $HPROFILER_BIN, else build/bin/hprofiler."""
    path = hprofiler_path()
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built")
    return str(path)


@pytest.fixture(scope="session")
def apps():
    """Folder of the built target programs of tests/apps: $HPROFILER_APPS, else beside the program's bin folder."""
    path = pathlib.Path(os.environ.get("HPROFILER_APPS") or hprofiler_path().parents[1] / "tests/apps").absolute()
    if not (path / "target").exists():
        pytest.skip(f"the target programs are not built in {path}")
    return path


@pytest.fixture
def measured():
    """For tests that judge times or memory: a sanitizer's build ($HP_SANITIZED) has other ones."""
    if os.environ.get("HP_SANITIZED"):
        pytest.skip("times and memory of a build with a sanitizer say nothing")


class Outcome:
    """What a caller sees of one finished run."""

    def __init__(self, status, stdout, stderr, directory):
        self.status, self.stdout, self.stderr, self.directory = status, stdout, stderr, directory

    def target_stderr(self):
        """stderr without the lines that hprofiler says itself."""
        return b"".join(line for line in self.stderr.splitlines(keepends=True) if not line.startswith(b"hprofiler"))

    def own_stderr(self):
        return b"".join(line for line in self.stderr.splitlines(keepends=True) if line.startswith(b"hprofiler")).decode()


def shell_status(returncode):
    """The exit status as `run` promises it: 128+N for a program that signal N killed."""
    return 128 - returncode if returncode < 0 else returncode


class Profiled(Outcome):
    """A run under hprofiler, with its trace."""

    def __init__(self, hprofiler, trace, *outcome):
        super().__init__(*outcome)
        self.hprofiler, self.trace = hprofiler, trace

    def summary(self):
        done = subprocess.run([self.hprofiler, "summary", str(self.trace), "--format", "json"], capture_output=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return json.loads(done.stdout)

    def text_summary(self):
        done = subprocess.run([self.hprofiler, "summary", str(self.trace)], capture_output=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode()

    def query(self, sql):
        done = subprocess.run([self.hprofiler, "query", str(self.trace), sql, "--format", "json"], capture_output=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return json.loads(done.stdout)

    def agreed_hz(self):
        """Samples a second of CPU time that the kernel has agreed to; None where it then throttled sampling, as it may at any time."""
        facts = {row["key"]: row["value"] for row in self.query("SELECT key, value FROM metadata WHERE key IN ('sampling.frequency', 'sampling.throttles')")}
        return None if "sampling.throttles" in facts else int(facts["sampling.frequency"])


class Runner:
    """Runs programs in fresh directories, bare and profiled, with equal surroundings."""

    def __init__(self, hprofiler, directory):
        self.hprofiler, self.directory, self.count = hprofiler, directory, 0

    def _fresh(self, prepare):
        self.count += 1
        work = self.directory / f"work{self.count}"
        work.mkdir()
        if prepare:
            prepare(work)
        return work

    @staticmethod
    def _spawn(argv, work, stdin=b"", env=None, timeout=TIMEOUT_S, **popen):
        files = {name: popen.pop(f"{name}_file", subprocess.PIPE) for name in ("stdin", "stdout", "stderr")}
        for seconds in stuck.tries(argv, timeout):
            process = subprocess.Popen(argv, cwd=work, env={**os.environ, **(env or {})}, start_new_session=True, **files, **popen)
            try:
                stdout, stderr = process.communicate(stdin if process.stdin else None, timeout=seconds)
                return shell_status(process.returncode), stdout, stderr
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                stdout, stderr = process.communicate()
        pytest.fail(f"{argv} did not end in {seconds} s\nstdout: {stdout}\nstderr: {stderr}")

    def bare(self, argv, prepare=None, **how):
        work = self._fresh(prepare)
        return Outcome(*self._spawn([str(word) for word in argv], work, **how), work)

    def profiled(self, argv, options=(), prepare=None, trace=None, **how):
        work = self._fresh(prepare)
        trace = trace or self.directory / f"trace{self.count}.hpt"
        command = [self.hprofiler, "run", "--no-summary", "-o", str(trace), *options, "--"]
        return Profiled(self.hprofiler, trace, *self._spawn(command + [str(word) for word in argv], work, **how), work)

    def compare(self, argv, options=(), **how):
        """Runs argv both ways; exit status, stdout, stderr and the files left behind must be equal. Returns both."""
        bare, profiled = self.bare(argv, **how), self.profiled(argv, options, **how)
        assert profiled.status == bare.status, profiled.stderr.decode(errors="replace")
        assert profiled.stdout == bare.stdout
        if bare.stderr is not None:
            assert profiled.target_stderr() == bare.stderr
        assert files_below(profiled.directory) == files_below(bare.directory)
        return bare, profiled


def files_below(directory):
    return {str(path.relative_to(directory)): path.read_bytes() if path.is_file() else path.is_dir()
            for path in directory.rglob("*")}


def open_to_all(directory):
    """Lets other users into a test's own directory: pytest makes its folders for their owner only."""
    os.chmod(directory, 0o777)
    for parent in directory.parents:
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & stat.S_IXOTH and parent.name.startswith(("pytest-", "test_")):
            os.chmod(parent, parent.stat().st_mode | stat.S_IXOTH)


@pytest.fixture
def runner(hprofiler, tmp_path):
    """A Runner in an own directory, which is removed at once: traces of a whole suite would fill a small disk."""
    yield Runner(hprofiler, tmp_path)
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="module")
def waiting_threads(hprofiler, apps, tmp_path_factory):
    """A trace of threads that wait for each other: there are waits, delays, hops and slack, and samples where the machine lets them be taken."""
    program = next((apps / name for name in ("waits_openmp-clang", "waits_openmp") if (apps / name).exists()), None)
    if not program:
        pytest.skip("no compiler with OpenMP is installed")
    path = tmp_path_factory.mktemp("waiting") / "t.hpt"
    done = subprocess.run([hprofiler, "run", "--no-summary", "-o", path, "--", program, "critical", "implicit_barrier"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return path
