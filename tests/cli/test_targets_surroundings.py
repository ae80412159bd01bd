# SPDX-License-Identifier: MIT
"""What a program inherits - environment, descriptors, limits, masks, terminal - is what it would inherit without us, and
an output that cannot be written is found before the program runs."""
import ctypes
import fcntl
import os
import resource
import shutil
import signal
import subprocess

import pytest

# Variables that a run may add or change, as docs/commands.md lists them; sampling alone needs none.
DOCUMENTED_VARIABLES = {"HPROFILER_SESSION", "LD_PRELOAD", "OMP_TOOL_LIBRARIES", "OPENCL_LAYERS", "CUDA_INJECTION64_PATH",
                        "NVTX_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"}
CPU = ("-b", "cpu")


def environment_of(outcome):
    return dict(line.split("=", 1) for line in outcome.stdout.decode(errors="surrogateescape").splitlines() if "=" in line)


@pytest.mark.parametrize("options, allowed", [(CPU, set()), ((), DOCUMENTED_VARIABLES)], ids=["cpu", "auto"])
def test_environment_is_as_documented(runner, apps, options, allowed):
    odd = {"HP_TEST_EMPTY": "", "HP_TEST_ODD": "a=b c:d"}
    bare = runner.bare([apps / "target", "environment"], env=odd)
    profiled = runner.profiled([apps / "target", "environment"], options=options, env=odd)
    before, after = environment_of(bare), environment_of(profiled)
    assert bare.status == profiled.status == 0
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed - {"PWD"} <= allowed, {name: (before.get(name), after.get(name)) for name in changed}


def test_the_machine_is_in_the_trace(runner, apps):
    run = runner.profiled([apps / "target", "exit", "0"], options=CPU)
    facts = {row["key"]: row["value"] for row in run.query("select key, value from metadata where key like 'host.%'")}
    assert facts["host.kernel"] == os.uname().release and int(facts["host.threads"]) > 0 and int(facts["host.memory_bytes"]) > 1 << 20
    assert int(facts["host.cpus_usable"]) == len(os.sched_getaffinity(0))
    assert "" not in facts.values() and "unknown" not in facts.values()


def test_nearly_empty_environment(runner, apps):
    _, profiled = runner.compare(["env", "-i", apps / "target", "environment", "exit", "3"])
    assert profiled.status == 3 and profiled.stdout == b""


def lines_of(outcome, options):
    """What a program found; but for libraries that backends need there."""
    left_out = ("cwd ",) if options == CPU else ("cwd ", "mapped ")
    return [line for line in outcome.stdout.decode().splitlines() if not line.startswith(left_out)]


def report_both(runner, apps, options=(), **how):
    bare, profiled = runner.bare([apps / "target", "report"], **how), runner.profiled([apps / "target", "report"], options=options, **how)
    assert profiled.status == bare.status == 0, profiled.stderr.decode()
    return lines_of(bare, options), lines_of(profiled, options)


@pytest.mark.parametrize("options", [CPU, ()], ids=["cpu", "auto"])
def test_everything_inherited_is_identical(runner, apps, options):
    bare, profiled = report_both(runner, apps, options)
    assert profiled == bare


def odd_surroundings():
    os.umask(0o27)
    os.nice(3)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGPROF, signal.SIGWINCH, signal.SIGTERM, signal.SIGCHLD})
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 1024))
    resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192))
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (100, 200))
    signal.setitimer(signal.ITIMER_REAL, 3000)
    ctypes.CDLL(None).prctl(29, 123456)  # PR_SET_TIMERSLACK


def test_odd_surroundings_are_inherited(runner, apps):
    """umask, nice, affinity, ignored and blocked signals (nohup, a parent that ignores SIGCHLD), limits, timer slack."""
    bare, profiled = report_both(runner, apps, preexec_fn=odd_surroundings)
    # An alarm of the caller's stays armed over exec in the process that we are, not in the child that the target is.
    drop = lambda lines: [line for line in lines if not line.startswith("timer 0")]
    assert drop(profiled) == drop(bare)


def test_descriptors_are_inherited(runner, apps, tmp_path):
    def extra_descriptors():
        fcntl.fcntl(os.open("/dev/null", os.O_WRONLY | os.O_APPEND), fcntl.F_DUPFD, 37)
        fcntl.fcntl(os.open("/", os.O_RDONLY), fcntl.F_DUPFD, 200)
    bare, profiled = report_both(runner, apps, preexec_fn=extra_descriptors, close_fds=False)
    assert any(line.startswith("descriptor 37:") for line in bare) and profiled == bare


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_closed_standard_descriptors(runner, apps, closed):
    """The target finds them closed too; nothing of ours lands in a descriptor that the number was reused for."""
    def close_them():
        for descriptor in closed:
            os.close(descriptor)
    bare, profiled = (run([apps / "target", "say", "text", "report", "write-file", "out", "64", "exit", "3"], preexec_fn=close_them)
                      for run in (runner.bare, runner.profiled))
    assert profiled.status == bare.status
    assert lines_of(profiled, ()) == lines_of(bare, ())
    assert (profiled.directory / "out").read_bytes() == (bare.directory / "out").read_bytes() == b"." * 64
    assert profiled.summary()["exit_status"] == bare.status


def test_full_device_as_stdout(runner, apps):
    def to_full():
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    bare, profiled = (run([apps / "target", "say", "text"], preexec_fn=to_full) for run in (runner.bare, runner.profiled))
    assert bare.status == profiled.status == 61


def test_broken_pipe_kills_the_target_as_usual(runner, apps):
    def to_nobody():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
    bare, profiled = (run([apps / "target", "say", "text", "exit", "3"], preexec_fn=to_nobody) for run in (runner.bare, runner.profiled))
    assert bare.status == profiled.status == 128 + signal.SIGPIPE


def test_stdin_from_a_pipe(runner):
    data = os.urandom(300000)
    _, profiled = runner.compare(["cat"], stdin=data)
    assert profiled.stdout == data


def test_stdin_is_left_unread(runner, hprofiler):
    """What the target does not read is still there for the next reader of the same pipe."""
    script = 'head -c 3 >/dev/null; exec cat'
    reader, writer = os.pipe()
    os.write(writer, b"abcdef")
    os.close(writer)
    trace = runner.directory / "stdin.hpt"
    done = subprocess.run(["sh", "-c", '"$0" run --no-summary -o "$1" -- dd bs=3 count=1 status=none; cat', hprofiler, str(trace)],
                          stdin=reader, capture_output=True, timeout=60)
    assert done.stdout == b"abcdef", done.stderr.decode()


# Speaks in the target only: hprofiler is started with the same environment.
EARLY = """
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void)
{
    if (!strcmp(program_invocation_short_name, "target") && write(1, "early\\n", 6) < 0)
        _exit(95);
}
"""


def test_preload_of_the_user_is_kept(runner, apps):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler for a library to preload")
    library = runner.directory / "libearly.so"
    source = runner.directory / "early.c"
    source.write_text(EARLY)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    target = [apps / "target", "burn", "20", "exit", "3"]
    # By its name alone: a blank in a folder's would end the path.
    _, profiled = runner.compare(target, env={"LD_PRELOAD": library.name, "LD_LIBRARY_PATH": str(runner.directory)})
    assert profiled.stdout == b"early\n"


def test_missing_preload_of_the_user(runner, apps):
    """The loader's complaint is the target's business, hprofiler goes on."""
    bare, profiled = (run([apps / "target", "exit", "3"], env={"LD_PRELOAD": "/nonexistent/lib.so"}) for run in (runner.bare, runner.profiled))
    assert profiled.status == bare.status == 3


def test_ldd_and_library_path_reach_the_target_only(runner, apps):
    runner.compare([apps / "target", "environment"], options=CPU, env={"LD_LIBRARY_PATH": "/nonexistent:/also not there", "LD_BIND_NOW": "1"})


def test_nothing_is_left_behind(runner, apps):
    """Neither sessions in the temporary directory nor files in the working directory."""
    temporary = runner.directory / "tmp"
    temporary.mkdir()
    _, profiled = runner.compare([apps / "target", "burn", "20", "exit", "3"], env={"TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("trace", ["with spaces.hpt", "co:lon.hpt", "üñï©ode.hpt", "%s%n.hpt", "-dash.hpt"])
def test_odd_names_of_the_output(runner, apps, trace):
    path = runner.directory / trace
    profiled = runner.profiled([apps / "target", "burn", "20", "exit", "3"], trace=str(path).replace("%", "%%"))
    profiled.trace = path
    assert profiled.status == 3 and path.exists(), profiled.stderr.decode()
    profiled.summary()


def test_program_in_an_odd_folder(runner, apps):
    folder = runner.directory / "a b:c é"
    folder.mkdir()
    program = folder / "tar get:1 é"
    shutil.copy(apps / "target", program)
    profiled = runner.profiled([program, "burn", "60", "exit", "3"])
    assert profiled.status == 3
    assert "burn" in {function["name"] for function in profiled.summary()["functions"]}


def test_output_in_a_missing_folder_is_found_before_the_program_runs(runner, apps):
    profiled = runner.profiled([apps / "target", "write-file", "ran", "64"], trace=runner.directory / "missing/x.hpt")
    assert profiled.status == 125 and not (profiled.directory / "ran").exists()
    assert "missing" in profiled.own_stderr()


def test_output_that_is_a_folder_is_found_before_the_program_runs(runner, apps):
    (runner.directory / "folder.hpt").mkdir()
    profiled = runner.profiled([apps / "target", "write-file", "ran", "64"], trace=runner.directory / "folder.hpt")
    assert profiled.status == 125 and not (profiled.directory / "ran").exists()
    assert "folder.hpt" in profiled.own_stderr()


@pytest.fixture
def small_disk(runner):
    """A file system of 1 MB."""
    where = runner.directory / "small"
    where.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", where], capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield where
    subprocess.run(["umount", "-l", where], check=True)


def test_read_only_output_folder_is_found_before_the_program_runs(runner, apps, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    profiled = runner.profiled([apps / "target", "write-file", "ran", "64"], trace=small_disk / "x.hpt")
    assert profiled.status == 125 and not (profiled.directory / "ran").exists()
    assert "x.hpt" in profiled.own_stderr()


def test_full_output_disk_leaves_the_target_alone_and_the_data_recoverable(runner, apps, small_disk, hprofiler):
    (small_disk / "filler").write_bytes(b"x" * ((1 << 20) - 8192))
    sessions = runner.directory / "sessions"
    sessions.mkdir()
    profiled = runner.profiled([apps / "target", "say", "text", "threads", "40", "10", "exit", "3"], ["--session-dir", str(sessions)],
                               trace=small_disk / "x.hpt")
    assert profiled.stdout == b"text\nthreads: 40\n"
    if profiled.status == 3:
        profiled.summary()  # it fitted after all
        return
    assert profiled.status == 125 and "No space left" in profiled.own_stderr(), profiled.stderr.decode()
    left = list(sessions.iterdir())
    assert left, "the session is gone although its trace could not be written"
    rescued = runner.directory / "rescued.hpt"
    done = subprocess.run([hprofiler, "recover", str(left[0]), "-o", str(rescued)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    profiled.trace = rescued
    assert profiled.summary()["functions"]


def test_full_session_disk_leaves_the_target_alone(runner, apps, small_disk):
    """The spool runs out of space in mid-recording: counted and said, never fatal for the target."""
    (small_disk / "filler").write_bytes(b"x" * ((1 << 20) - 65536))
    profiled = runner.profiled([apps / "target", "say", "text", "threads", "40", "30", "exit", "3"],
                               ["--session-dir", str(small_disk), "--perf-callgraph", "dwarf"])
    assert profiled.stdout == b"text\nthreads: 40\n"
    assert profiled.status in (3, 125), profiled.stderr.decode()
    assert profiled.own_stderr(), "a loss must be said"
    if profiled.status == 3:
        profiled.summary()


def test_missing_session_folder_is_found_before_the_program_runs(runner, apps):
    profiled = runner.profiled([apps / "target", "write-file", "ran", "64"], ["--session-dir", "/nonexistent/folder"])
    assert profiled.status == 125 and not (profiled.directory / "ran").exists()
    assert "/nonexistent/folder" in profiled.own_stderr()


def test_no_page_behind_the_end_of_a_file_can_be_read(runner, tmp_path):
    """A leak checker reads all memory that can be read, word by word, and each behind a file's end would be a fault."""
    compiler = shutil.which("gcc")
    if not compiler:
        pytest.skip("no gcc")
    (tmp_path / "maps.c").write_text(r"""
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
int main(void)
{
    char line[4096], path[4096], right[8];
    unsigned long begin, end, offset;
    struct stat info;
#pragma omp parallel num_threads(2)
    {
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &begin, &end, right, &offset, path) == 5 && !strcmp(right, "rw-s") &&
            strstr(path, "/process-") && stat(path, &info) == 0)
            printf("%d\n", offset + (end - begin) <= (unsigned long)(info.st_size + 4095) / 4096 * 4096);
    return 0;
}
""")
    subprocess.run([compiler, "-fopenmp", "-o", tmp_path / "maps", tmp_path / "maps.c"], check=True)
    profiled = runner.profiled([tmp_path / "maps"], ["--backend", "openmp"])
    assert profiled.stdout == b"1\n"


@pytest.mark.parametrize("what", ["session", "process-*", "chunk*", "*"])
def test_a_program_that_cuts_our_files_short_kills_no_recorder(runner, apps, tmp_path, what):
    """Whoever may write the session's files may cut them: what is gone is gone, and said."""
    cut = (f"sleep 0.3; cd '{tmp_path}'/hprofiler-*/ && for file in {what}; do if test -f $file; then truncate -s 0 $file; fi; done; sleep 0.3; exit 3")
    run = runner.profiled(["sh", "-c", cut], options=("--session-dir", str(tmp_path)))
    assert run.status == 3 or run.status == 125 and "hprofiler recover" in run.own_stderr(), (run.status, run.own_stderr())
