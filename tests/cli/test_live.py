# SPDX-License-Identifier: MIT
"""`run --live` at a terminal: the program's own terminal, its output and signals, what is left of it all in the trace, and what happens
to whom when somebody dies."""
import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

CTRL_C = b"\x03"
COLUMNS, ROWS = 132, 50
UI_GONE = rb"\x1b\[\?1049l"


class Session:
    """hprofiler on a terminal of its own, and all that it wrote there."""

    def __init__(self, command, directory, columns=COLUMNS, rows=ROWS, limits=()):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))
            time.sleep(0.05)
            while os.get_terminal_size(0).columns != columns:
                time.sleep(0.01)
            os.environ.update(TERM="xterm-256color", NO_COLOR="1")
            os.execv(command[0], command)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.all, self.seen, self.status, self.over = b"", 0, None, False

    def read(self, timeout_s):
        if self.over or not select.select([self.master], [], [], timeout_s)[0]:
            return
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            piece = b""
        self.over = not piece
        self.all += piece

    def expect(self, pattern, timeout_s=60):
        """Waits for it in what came since the last match."""
        end = time.monotonic() + timeout_s
        while True:
            match = re.search(pattern, self.all[self.seen:])
            if match:
                self.seen += match.end()
                return match
            if self.over or time.monotonic() > end:
                pytest.fail(f"no {pattern!r}; the terminal has: {self.all[self.seen:][-3000:]!r}")
            self.read(0.2)

    def send(self, data):
        os.write(self.master, data)

    def ui(self):
        """Waits until the UI is there."""
        self.expect(rb"\x1b\[\?1049h")
        self.expect(rb"System")

    def leave(self):
        """Quits the UI; what comes behind is the program's and ours."""
        self.send(b"q")
        self.expect(UI_GONE)

    def end(self, timeout_s=90):
        """Reads all there is; the exit status as a shell has it."""
        end = time.monotonic() + timeout_s
        while self.status is None:
            self.read(0.05)
            gone, status = os.waitpid(self.pid, os.WNOHANG)
            if gone:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                pytest.fail(f"it did not end; the terminal has: {self.all[self.seen:][-3000:]!r}")
        for _ in range(100):
            if self.over or not select.select([self.master], [], [], 0.1)[0]:
                break
            self.read(0)
        return self.status

    def behind(self):
        """What came since the last match, with line ends as programs write them."""
        return self.all[self.seen:].replace(b"\r\n", b"\n").decode(errors="replace")

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)


@pytest.fixture
def live(hprofiler, tmp_path):
    sessions = []

    def start(*program, options=(), **how):
        command = [hprofiler, "run", "--live", "-o", str(tmp_path / "live.hpt"), "--session-dir", str(tmp_path), *options, "--"]
        session = Session([*command, *[str(word) for word in program]], tmp_path, **how)
        session.directory, session.trace = tmp_path, tmp_path / "live.hpt"
        sessions.append(session)
        return session
    yield start
    for session in sessions:
        session.close()


def python(script):
    """A program of Python: prints without a buffer, so that a test need not flush."""
    return [sys.executable, "-u", "-c", script]


def summary(hprofiler, trace):
    done = subprocess.run([hprofiler, "summary", str(trace), "--format", "json"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def wait_for_file(path, timeout_s=60):
    end = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.05)


# --- the program's terminal ----------------------------------------------------------------------------------------------


def test_the_program_has_a_terminal_and_that_is_said(live):
    session = live(*python("import os,sys; print(*[os.isatty(i) for i in range(3)], os.ttyname(0)); sys.stdin.readline();"
                           "print('controls', os.tcgetpgrp(0) == os.getpgrp(), os.open('/dev/tty', os.O_RDWR) > 0)"))
    session.expect(rb"the program runs on a terminal of its own")
    session.ui()
    session.leave()
    name = session.expect(rb"True True True (\S+)").group(1).decode()
    assert name != os.ttyname(session.master).replace("ptmx", "") and name.startswith("/dev/")
    session.send(b"\n")
    session.expect(rb"controls True True")
    assert session.end() == 0


def test_the_window_is_ours_once_the_ui_has_gone(live):
    session = live(*python("import os,sys\nfor line in sys.stdin: print('size', *os.get_terminal_size(0), flush=True)"))
    session.ui()
    session.leave()
    fcntl.ioctl(session.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 99, 0, 0))
    os.kill(session.pid, signal.SIGWINCH)
    for _ in range(100):  # the signal takes its way
        session.send(b"\n")
        if session.expect(rb"size (\d+ \d+)").group(1) == b"99 40":
            break
        time.sleep(0.1)
    else:
        pytest.fail("the size never came")
    session.send(b"\x04")
    assert session.end() == 0


@pytest.mark.parametrize("quit_early", [True, False], ids=["left early", "left at the end"])
def test_no_output_is_lost_and_the_status_is_the_programs(live, quit_early):
    script = ("import os,sys,time\nfor i in range(6000):\n print('line', i)\n if i % 2000 == 1999: time.sleep(0.3)\n"
              "open('done','w').close(); sys.exit(7)")
    session = live(*python(script))
    session.ui()
    if not quit_early:
        wait_for_file(session.directory / "done")
    session.leave()
    assert session.end() == 7
    text = session.behind()
    assert re.findall(r"line (\d+)$", text, re.M) == [str(i) for i in range(6000)]
    assert text.index("line 5999") < text.index("trace written to") < text.index("Ledger")
    assert session.trace.exists() and not list(session.directory.glob("hprofiler-*"))


def test_a_writer_that_never_rests_does_not_wait_for_the_ui(live):
    """More than any buffer of a terminal holds, while the UI has it."""
    session = live(*python("import os\nfor i in range(400): os.write(1, b'x' * 9999 + b'\\n')\nopen('done','w').close()"))
    session.ui()
    wait_for_file(session.directory / "done")
    session.leave()
    assert session.end() == 0
    assert session.behind().count("x" * 9999 + "\n") == 400


def test_a_terminal_is_needed(hprofiler, tmp_path):
    done = subprocess.run([hprofiler, "run", "--live", "--no-summary", "-o", tmp_path / "x.hpt", "--", "echo", "hello"],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"hello\n")
    assert b"--live: no terminal UI here: standard input and output must be a terminal" in done.stderr
    assert (tmp_path / "x.hpt").exists()
    done = subprocess.run([hprofiler, "run", "--live", "--no-ui", "--", "true"], capture_output=True, timeout=60)
    assert done.returncode == 125 and b"--no-ui" in done.stderr


# --- signals and ends ----------------------------------------------------------------------------------------------------


def test_ctrl_c_behind_the_ui_is_the_programs(live):
    session = live(*python("import time\ntry:\n print('ready'); time.sleep(100)\nexcept KeyboardInterrupt:\n print('interrupted'); exit(9)"))
    session.ui()
    session.leave()
    session.expect(rb"ready")
    session.send(CTRL_C)
    session.expect(rb"interrupted")
    assert session.end() == 9


def test_a_program_that_is_killed(live):
    session = live(*python("import os; print('pid', os.getpid())\nimport time; time.sleep(100)"))
    session.ui()
    session.leave()
    os.kill(int(session.expect(rb"pid (\d+)").group(1)), signal.SIGKILL)
    assert session.end() == 137
    assert session.trace.exists()


def test_sigterm_closes_the_ui_and_goes_to_the_program(live):
    session = live(*python("import signal,sys,time\nsignal.signal(15, lambda *_: (print('told'), sys.exit(4)))\n"
                           "open('ready','w').close(); time.sleep(100)"))
    session.ui()
    wait_for_file(session.directory / "ready")
    os.kill(session.pid, signal.SIGTERM)
    session.expect(UI_GONE)
    assert session.end() == 4
    assert "told" in session.behind() and session.trace.exists()


def test_hprofiler_is_killed_and_the_program_goes_on(live):
    session = live(*python("import time\nfor i in range(40): print('step', i); time.sleep(0.05)\nopen('done','w').close()"))
    session.ui()
    os.kill(session.pid, signal.SIGKILL)
    session.end()
    wait_for_file(session.directory / "done")
    session.expect(rb"step 39")  # its keeper passes on what it writes
    flags = termios.tcgetattr(session.master)[3]
    assert flags & termios.ICANON and flags & termios.ECHO


def test_a_terminal_that_closes_hangs_up_the_program(live):
    session = live(*python("import signal,sys,time\nsignal.signal(1, lambda *_: (open('hung up','w').close(), sys.exit(5)))\n"
                           "open('ready','w').close(); time.sleep(100)"))
    session.ui()
    wait_for_file(session.directory / "ready")
    master, session.master = session.master, os.open("/dev/null", os.O_RDWR)
    os.close(master)
    wait_for_file(session.directory / "hung up")
    end = time.monotonic() + 60
    while not os.waitpid(session.pid, os.WNOHANG)[0]:
        assert time.monotonic() < end, "hprofiler does not end"
        time.sleep(0.05)
    session.status = 0
    assert session.trace.exists()


def test_a_program_that_stays_behind_keeps_its_terminal(live):
    session = live("sh", "-c", "(trap '' HUP; sleep 2; echo from behind; echo > late) & echo in front")
    session.ui()
    session.leave()
    assert session.end() == 0
    assert "in front" in session.behind()
    wait_for_file(session.directory / "late")
    session.expect(rb"from behind")


def test_a_program_that_ends_at_once(live):
    session = live("true")
    session.ui()
    session.leave()
    assert session.end() == 0
    assert session.trace.exists()


@pytest.mark.parametrize("program,status", [("./not there", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_be_run(live, program, status):
    session = live(program)
    assert session.end() == status
    assert b"cannot run" in session.all and b"1049h" not in session.all
    assert not list(session.directory.glob("hprofiler-*"))


def test_a_full_disk_costs_what_is_kept_of_the_output_only(live):
    script = ("import os,sys\nprint('the first line')\nfor i in range(100): os.write(1, b'x' * 9999 + b'\\n')\n"
              "open('done','w').close(); sys.stdin.readline(); print('the last line')")
    session = live(*python(script), options=["--backend", "cpu", "--perf-freq", "1"], limits=[(resource.RLIMIT_FSIZE, 400 << 10)])
    session.ui()
    wait_for_file(session.directory / "done")
    session.leave()
    session.expect(b"the first line")
    session.send(b"\n")
    session.expect(b"the last line")
    assert session.end() == 0
    assert re.search(r"\d+ bytes of the program's output could not be kept", session.behind())


# --- the trace -----------------------------------------------------------------------------------------------------------


def facts(hprofiler, trace):
    """What two recordings of one program have in common."""
    ask = lambda sql: [tuple(row.values()) for row in query(hprofiler, trace, sql)]
    return {"summary": sorted(summary(hprofiler, trace)),
            "metadata": sorted(ask("select key from metadata")),
            "tracks": ask("select kind, count(*) from tracks group by 1 order by 1"),
            "spans": ask("select distinct category, kind from spans order by 1, 2"),
            "ledger": ask("select distinct source from ledger order by 1"),
            "hottest": ask("select f.name, count(*) from samples s join frames f on f.stack = s.stack group by 1 order by 2 desc limit 1")[0][0]}


def test_the_trace_is_that_of_a_plain_run(live, hprofiler, apps, tmp_path):
    program = [apps / "target", "threads", "2", "600"]
    plain = subprocess.run([hprofiler, "run", "--no-summary", "-o", tmp_path / "plain.hpt", "--", *program], capture_output=True, timeout=60)
    assert plain.returncode == 0, plain.stderr.decode()
    session = live(*program)
    session.ui()
    time.sleep(0.5)
    session.leave()
    assert session.end() == 0
    assert facts(hprofiler, session.trace) == facts(hprofiler, tmp_path / "plain.hpt")


def test_traces_come_while_it_runs(live, apps):
    session = live(apps / "target", "forever")
    session.ui()
    session.send(b"4")
    session.expect(rb"data [0-9.]+ s old")
    session.seen = 0
    session.expect(rb"\bburn\b")  # of a program that has not ended
    session.leave()
    session.send(CTRL_C)
    assert session.end() == 130
    assert "trace written" in session.behind()
