# SPDX-License-Identifier: MIT
"""Programs that shut themselves in - limits, filters, namespaces, other roots and users - run as without us and are
sampled all the same."""
import os
import resource
import shlex
import shutil
import subprocess

import pytest

from conftest import open_to_all
from test_targets_endings import check_trace

# name, actions, least number of processes with samples, needs root
CONFINED = [
    ("closes_all_descriptors", "closefrom 0 burn 40 exit 3", 1, False),
    ("closes_all_but_the_standard_ones", "closefrom 3 say text burn 40 fork burn 40 exit 3", 2, False),
    ("chroot", "chroot jail burn 40 exit 3", 1, True),
    ("chroot_and_drop", "chroot jail drop 65534 ids burn 40 fork burn 40 exit 3", 2, True),
    ("drops_privileges", "drop 65534 ids burn 40 again ids burn 40 exit 3", 2, True),
    ("drops_privileges_then_forks", "drop 65534 fork ids burn 40 segfault", 1, True),
    ("undumpable", "undumpable burn 40 exit 3", 1, False),
    ("limit_fsize", "limit fsize 4096 burn 40 write-file out 4000 exit 3", 1, False),
    ("limit_fsize_zero", "limit fsize 0 burn 40 exit 3", 1, False),
    ("limit_fsize_exceeded", "limit fsize 4096 burn 40 write-file out 40000 exit 3", 1, False),
    ("limit_nofile", "limit nofile 4 burn 40 exit 3", 1, False),
    ("limit_nofile_zero", "limit nofile 0 burn 40 exit 3", 1, False),
    ("limit_as", "limit as 60000000 burn 40 exit 3", 1, False),
    ("limit_nproc", "drop 65533 limit nproc 1 burn 40 exit 3", 1, True),
    ("limit_memlock", "limit memlock 0 burn 40 again burn 40 exit 3", 2, False),
    ("limit_stack", "limit stack 262144 again burn 40 exit 3", 1, False),
    ("seccomp_kills", "seccomp kill say text burn 40 exit 3", 1, False),
    ("seccomp_fails", "seccomp errno say text burn 40 exit 3", 1, False),
    ("seccomp_strict", "seccomp strict say text spin 60000000 exit-thread 3", 1, False),
    ("pid_namespace", "unshare pid burn 40 fork burn 40 exit 3", 1, True),
    ("mount_namespace", "unshare mount hide-tmp burn 40 again burn 40 exit 3", 1, True),
    ("user_namespace", "unshare user ids burn 40 exit 3", 1, True),
    ("time_namespace", "unshare time burn 40 exit 3", 1, True),
    ("net_namespace", "unshare net burn 40 exit 3", 1, True),
    ("all_namespaces", "unshare all burn 40 fork burn 40 exit 3", 2, True),
]


@pytest.mark.parametrize("sentence,sampled_processes,root", [case[1:] for case in CONFINED], ids=[case[0] for case in CONFINED])
def test_confined_program_runs_as_without_us(runner, apps, sentence, sampled_processes, root):
    if root and os.geteuid() != 0:
        pytest.skip("needs root")
    bare = runner.bare([apps / "target", *shlex.split(sentence)])
    if bare.status == 99:
        pytest.skip(f"this machine does not let the program do it: {bare.stderr.decode()}")
    options = ("-b", "cpu") if "hide-tmp" in sentence else ()  # a loader complains of libraries that are out of its sight
    _, profiled = runner.compare([apps / "target", *shlex.split(sentence)], options=options)
    check_trace(profiled, sampled_processes)


def test_samples_of_a_time_namespace_lie_within_the_run(runner, apps):
    """A time namespace shifts the target's clocks by a day, not the samples."""
    if os.geteuid() != 0 or runner.bare([apps / "target", "unshare", "time"]).status:
        pytest.skip("no time namespaces here")
    profiled = runner.profiled([apps / "target", "burn", "50", "unshare", "time", "burn", "50", "exit", "3"])
    summary = profiled.summary()
    assert summary["duration_ns"] < 10_000_000_000
    for process in summary["processes"]:
        assert 0 <= process["start_ns"] <= process["end_ns"] < 10_000_000_000
    child = max(summary["processes"], key=lambda process: process["start_ns"])
    assert 20_000_000 < child["cpu_ns"] < 200_000_000


LIMITS = [
    ("fsize", resource.RLIMIT_FSIZE, 1 << 20), ("nofile", resource.RLIMIT_NOFILE, 64), ("as", resource.RLIMIT_AS, 1 << 30),
    ("nproc", resource.RLIMIT_NPROC, 64), ("memlock", resource.RLIMIT_MEMLOCK, 65536), ("core", resource.RLIMIT_CORE, 0),
]


@pytest.mark.parametrize("limit,value", [case[1:] for case in LIMITS], ids=[case[0] for case in LIMITS])
def test_limits_set_before_hprofiler(runner, apps, limit, value):
    """The shell's ulimit holds for us too: we live with it, and the target sees the same limit."""
    if limit == resource.RLIMIT_AS and os.environ.get("HP_SANITIZED"):
        pytest.skip("a sanitizer maps terabytes of shadow memory")
    lower = lambda: resource.setrlimit(limit, (value, value))
    bare, profiled = (run([apps / "target", "burn", "40", "report", "exit", "3"], preexec_fn=lower) for run in (runner.bare, runner.profiled))
    assert profiled.status == bare.status == 3, profiled.stderr.decode()
    limits = lambda outcome: [line for line in outcome.stdout.decode().splitlines() if line.startswith("limit")]
    assert limits(profiled) == limits(bare)
    check_trace(profiled, 1)


def test_hprofiler_as_another_user(runner, apps, hprofiler):
    """Unprivileged, with a home that does not exist: sampling works by the kernel's rules or the step down is said."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    open_to_all(runner.directory)
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if subprocess.run(user + ["test", "-x", hprofiler]).returncode or subprocess.run(user + ["test", "-w", runner.directory]).returncode:
        pytest.skip("other users may not enter the build or temporary folder")
    trace = runner.directory / "user.hpt"
    done = subprocess.run(user + [hprofiler, "run", "--no-summary", "--session-dir", str(runner.directory), "-o", str(trace), "--", str(apps / "target"), "ids", "burn", "80", "exit", "3"],
                          capture_output=True, timeout=60, cwd="/")
    assert (done.returncode, done.stdout) == (3, b"real 65534 effective 65534\n"), done.stderr.decode()
    assert subprocess.run([hprofiler, "summary", str(trace)], capture_output=True, timeout=60).returncode == 0


def test_debugger_inside(runner, apps):
    if not shutil.which("gdb"):
        pytest.skip("gdb is missing")
    command = ["gdb", "-q", "-nx", "-batch", "-ex", "break burn", "-ex", "run", "-ex", "continue", "-ex", "info program",
               "--args", apps / "target", "burn", "30", "exit", "3"]
    bare, profiled = runner.bare(command), runner.profiled(command)
    assert profiled.status == bare.status
    assert (b"Breakpoint 1, burn" in bare.stdout) and (b"Breakpoint 1, burn" in profiled.stdout)
    assert (b"exited with code 03" in bare.stdout) == (b"exited with code 03" in profiled.stdout)
    check_trace(profiled, 1)


def test_system_call_tracer_inside(runner, apps):
    if not shutil.which("strace"):
        pytest.skip("strace is missing")
    command = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", "/dev/null", apps / "target", "fork", "again", "burn", "30", "exit", "3"]
    if runner.bare(command).status:
        pytest.skip("strace cannot trace here")
    _, profiled = runner.compare(command)
    check_trace(profiled, 1)


def test_hprofiler_inside_hprofiler(runner, apps, hprofiler):
    inner = runner.directory / "inner.hpt"
    profiled = runner.profiled([hprofiler, "run", "--no-summary", "-o", inner, "--", apps / "target", "burn", "60", "exit", "7"])
    assert profiled.status == 7
    check_trace(profiled, 1)
    profiled.trace = inner
    check_trace(profiled, 1)
