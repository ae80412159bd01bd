# SPDX-License-Identifier: MIT
"""However a program ends and whatever processes it makes: the same exit status, outputs and files as bare, and a trace
with the processes and samples that were there."""
import os
import shutil
import subprocess
import time

import pytest

from conftest import open_to_all

# name, actions of the target program (tests/apps), least number of processes (an exec makes a new one) with samples
ENDINGS = [
    ("ends_at_once", "", 0),
    ("exit_0", "burn 40 exit 0", 1),
    ("exit_1", "burn 10 exit 1", 0),
    ("exit_125", "exit 125", 0),
    ("exit_126", "exit 126", 0),
    ("exit_127", "exit 127", 0),
    ("exit_139_without_signal", "exit 139", 0),
    ("exit_255", "exit 255", 0),
    ("exit_256_is_0", "exit 256", 0),
    ("exit_now", "burn 40 _exit 9", 1),
    ("exit_now_from_a_thread", "burn 40 in-thread _exit 3", 1),
    ("exit_from_a_thread", "in-thread atexit burn 40 exit 4", 1),
    ("main_thread_leaves_first", "main-leaves burn 60 exit 5", 1),
    ("main_thread_exits_by_system_call", "burn 40 exit-thread 6", 1),
    ("quick_exit", "atexit quick-exit 8", 0),
    ("exit_handlers_run", "atexit burn 20 exit 2", 0),
    ("segfault", "burn 40 segfault", 1),
    ("segfault_in_a_thread", "in-thread burn 40 segfault", 1),
    ("own_crash_handler", "crash-handler burn 20 segfault", 0),
    ("stack_overflow", "burn 40 overflow", 1),
    ("illegal_instruction", "burn 40 illegal", 1),
    ("abort", "burn 40 abort", 1),
    ("kill_9_itself", "burn 40 kill-self 9", 1),
    ("kill_term_itself", "burn 40 kill-self 15", 1),
    ("kill_hup_itself", "burn 40 kill-self 1", 1),
    ("kill_by_last_signal", "kill-self 64", 0),
    ("cpu_limit", "limit cpu 1 forever", 1),
    ("two_thousand_threads", "threads 2000 1", 1),
    ("thread_churn", "churn 3000", 0),
]
SPAWNINGS = [
    ("exec_itself", "burn 40 again burn 40 exit 3", 2),
    ("exec_chain", "exec-chain 40 burn 40 exit 7", 1),
    ("exec_other", "burn 40 exec sh -c 'exit 11'", 1),
    ("exec_from_a_thread", "in-thread burn 40 exec sh -c 'exit 12'", 1),
    ("fork", "burn 40 fork burn 40 exit 3", 2),
    ("fork_of_fork", "fork fork fork burn 40 exit 2", 1),
    ("fork_child_segfaults", "fork burn 40 segfault", 1),
    ("fork_child_execs", "fork burn 40 again burn 40 kill-self 9", 2),
    ("vfork_exec", "vfork true", 0),
    ("vfork_exec_fails", "vfork /nonexistent", 0),
    ("posix_spawn", "spawn sh -c 'exit 5'", 0),
    ("system", "system 'exit 4'", 0),
    ("system_killed", "system 'kill -9 $$'", 0),
    ("many_children_at_once", "crowd 30 15", 20),
    ("ptrace_of_a_child", "traced burn 40 exit 5", 1),
    ("sigchld_handler", "child-handler 20", 0),
]


def words(sentence):
    import shlex
    return shlex.split(sentence)


def check_trace(profiled, sampled_processes):
    """The trace opens, has a ledger and one process at least, and as many processes with samples as expected."""
    summary = profiled.summary()
    assert isinstance(summary["ledger"], list) and summary["ledger"]
    assert summary["processes"]
    assert summary["exit_status"] == profiled.status
    sampled = [process for process in summary["processes"] if process["cpu_ns"]]
    assert len(sampled) >= sampled_processes, summary["processes"]
    return summary


def function_names(profiled):
    return {function["name"] for function in profiled.summary()["functions"]}


@pytest.mark.parametrize("sentence,sampled_processes", [case[1:] for case in ENDINGS + SPAWNINGS],
                         ids=[case[0] for case in ENDINGS + SPAWNINGS])
def test_ends_as_without_us(runner, apps, sentence, sampled_processes):
    _, profiled = runner.compare([apps / "target", *words(sentence)])
    check_trace(profiled, sampled_processes)


@pytest.mark.parametrize("build", ["static", "static-pie", "32", "musl", "musl-static"])
@pytest.mark.parametrize("sentence", ["say hello burn 60 exit 3", "fork burn 60 again burn 10 exit 4", "threads 20 5 segfault"],
                         ids=["plain", "forking", "threads"])
def test_other_kinds_of_program(runner, apps, build, sentence):
    program = apps / f"target-{build}"
    if not program.exists():
        pytest.skip(f"this machine's compilers could not build {program.name}")
    _, profiled = runner.compare([program, *words(sentence)])
    check_trace(profiled, 1)
    assert "burn" in function_names(profiled)


@pytest.mark.parametrize("build", ["static", "32", "musl"])
def test_children_of_another_kind(runner, apps, build):
    program = apps / f"target-{build}"
    if not program.exists():
        pytest.skip(f"this machine's compilers could not build {program.name}")
    options = ("-b", "cpu") if build == "32" else ()  # the loader of such a child complains of libraries that it can't take
    _, profiled = runner.compare([apps / "target", "burn", "30", "fork", "exec", program, "burn", "40", "exit", "5"], options=options)
    check_trace(profiled, 2)


def test_daemon_lives_on_undisturbed(runner, apps):
    for life_ms in (1500, 6000): # a busy machine takes its time for a run
        done = runner.directory / f"done-{life_ms}"
        profiled = runner.profiled([apps / "target", "daemon", done, life_ms, "say", "main", "exit", "3"])
        outlived = not done.exists()
        assert profiled.status == 3 and profiled.stdout == b"main\n"
        check_trace(profiled, 0)
        if outlived:
            break
    assert outlived, "the run ended with the daemon"
    end = time.monotonic() + 60
    while time.monotonic() < end and not done.exists():
        time.sleep(0.05)
    assert done.read_text() == "done\n"


def test_setuid_program_keeps_its_rights(runner, apps):
    """A setuid-root copy started by an unprivileged user through sudo-like setpriv: hprofiler itself is unprivileged too."""
    if os.geteuid() != 0:
        pytest.skip("making a setuid-root program needs root")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv (util-linux) is missing")
    open_to_all(runner.directory)
    program = runner.directory / "setuid-target"
    shutil.copy(apps / "target", program)
    os.chmod(program, 0o4755)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip("the temporary directory is mounted nosuid")
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    words_ = [str(program), "ids", "burn", "30", "exit", "6"]
    bare = subprocess.run(user + words_, capture_output=True, timeout=60)
    assert bare.stdout == b"real 65534 effective 0\n"
    trace = runner.directory / "setuid.hpt"
    profiled = subprocess.run(user + [runner.hprofiler, "run", "--no-summary", "--session-dir", str(runner.directory), "-o", str(trace), "--"] + words_,
                              capture_output=True, timeout=60, cwd=runner.directory)
    if profiled.returncode == 126 and not os.access(runner.hprofiler, os.X_OK):
        pytest.skip("hprofiler is in a folder that other users may not enter")
    assert (profiled.returncode, profiled.stdout) == (bare.returncode, bare.stdout), profiled.stderr.decode()
    assert subprocess.run([runner.hprofiler, "summary", str(trace)], capture_output=True, timeout=60).returncode == 0


def not_runnable(directory):
    (directory / "plain.txt").write_text("not a program\n")
    (directory / "not-executable").write_text("#!/bin/sh\nexit 0\n")
    (directory / "no-interpreter").write_text("#!/nonexistent/interpreter\n")
    (directory / "no-interpreter").chmod(0o755)
    (directory / "empty").write_text("")
    (directory / "empty").chmod(0o755)
    (directory / "broken-elf").write_bytes(b"\x7fELF" + b"\0" * 60)
    (directory / "broken-elf").chmod(0o755)
    (directory / "folder").mkdir()


@pytest.mark.parametrize("program,status", [
    ("no-such-program-anywhere", 127), ("./no-such-file", 127), ("./not-executable", 126),
    ("./folder", 126), ("./no-interpreter", 127), ("", 127),
])
def test_programs_that_cannot_be_run(runner, program, status):
    profiled = runner.profiled([program], prepare=not_runnable)
    assert profiled.status == status, profiled.stderr.decode()
    assert not profiled.trace.exists()
    assert f"cannot run '{program}'" in profiled.stderr.decode().splitlines()[-1]
    # The same numbers as another program that runs programs, but for folders in PATH that one may not look into.
    bare = subprocess.run(["nice", "-n", "0", program], cwd=profiled.directory, capture_output=True, timeout=60, env={**os.environ, "PATH": os.defpath})
    assert status == bare.returncode


def test_program_of_no_known_format(runner):
    """Shells differ on what they make of it (execvp tries it as a script); it must end as an error, and be said."""
    profiled = runner.profiled(["./broken-elf"], prepare=not_runnable)
    assert profiled.status in (126, 127) and profiled.stderr


def scripts(directory):
    (directory / "no-shebang").write_text("echo from a script; exit 7\n")
    (directory / "no-shebang").chmod(0o755)
    (directory / "with spaces: and äöü").write_text('#!/bin/sh\necho "$0" "$@"; exit 8\n')
    (directory / "with spaces: and äöü").chmod(0o755)


def test_script_without_shebang_runs_as_a_shell_runs_it(runner):
    profiled = runner.profiled(["./no-shebang"], prepare=scripts)
    assert (profiled.status, profiled.stdout) == (7, b"from a script\n"), profiled.stderr.decode()


def test_script_with_spaces_colon_and_utf8(runner):
    _, profiled = runner.compare(["./with spaces: and äöü", "a b", "", "*", "--", "-o", "ü\n\x01"], prepare=scripts)
    assert profiled.status == 8


def test_arguments_that_are_no_utf8(runner, tmp_path):
    """JSON outputs must be valid UTF-8 even if the command was not."""
    argument = os.fsdecode(b"caf\xe9")
    _, profiled = runner.compare(["/bin/echo", argument])
    check_trace(profiled, 0)
