# SPDX-License-Identifier: MIT
"""Job control in a real shell on a real terminal: each scene is played with the bare program and with hprofiler in
front of it, and must go the same way."""
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x04", "\x1a", "\x1c"


class Terminal:
    """An interactive bash on a pseudo terminal of its own."""

    def __init__(self, directory):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**os.environ, "PS1": "PROMPT> ", "PS2": "", "TERM": "dumb", "HISTFILE": ""})
        self.text = ""
        self.expect("PROMPT> ")
        self.send("stty -echo; bind 'set enable-bracketed-paste off' 2>/dev/null; PS1=; ulimit -c 0; echo be''gin\n")
        self.expect("begin")

    def send(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern, timeout_s=60):
        """Waits for the pattern in what was printed since the last match; returns the match."""
        end = time.monotonic() + timeout_s
        while True:
            match = re.search(pattern, self.text)
            if match:
                self.text = self.text[match.end():]
                return match
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                pytest.fail(f"no {pattern!r} within {timeout_s} s; the terminal shows: {self.text!r}")
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                pytest.fail(f"the terminal is gone before {pattern!r}; it shows: {self.text!r}")

    def status(self):
        self.send("echo status=$?\n")
        return int(self.expect(r"status=(\d+)").group(1))

    def close(self):
        os.close(self.master)
        for _ in range(200):
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Stage:
    """One way to start the program: bare, or under hprofiler."""

    def __init__(self, terminal, prefix, apps, trace):
        self.terminal, self.prefix, self.apps, self.trace = terminal, prefix, apps, trace

    def start(self, sentence, behind=""):
        self.terminal.send(f"{self.prefix}{shlex.quote(str(self.apps / 'target'))} {sentence} {behind}\n")

    def start_program(self, command):
        self.terminal.send(f"{self.prefix}{command}\n")


@pytest.fixture(params=["bare", "profiled"])
def stage(request, runner, apps):
    if not shutil.which("bash"):
        pytest.skip("bash is missing")
    trace = runner.directory / "terminal.hpt"
    run = [runner.hprofiler, "run", "--no-summary", "-o", str(trace), "--"]
    terminal = Terminal(runner.directory)
    yield Stage(terminal, "" if request.param == "bare" else shlex.join(run) + " ", apps, None if request.param == "bare" else trace)
    terminal.close()
    if request.param == "profiled":
        done = subprocess.run([runner.hprofiler, "summary", str(trace), "--format", "json"], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()


def process_state(name_part):
    """States (T = stopped) of the processes whose command line has name_part and that are target programs."""
    states = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    command = file.read().split(b"\0")
                with open(f"/proc/{entry}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if os.path.basename(command[0]) == b"target" and name_part.encode() in command:
                states.append(state)
    return states


def test_ctrl_c_reaches_the_target_once(stage):
    stage.start("await 2 400 exit 5")
    stage.terminal.expect("ready")
    stage.terminal.send(CTRL_C)
    stage.terminal.expect("caught 1")
    assert stage.terminal.status() == 5


def test_ctrl_c_kills_a_target_that_does_not_mind(stage):
    stage.start("say ready forever")
    stage.terminal.expect("ready")
    time.sleep(0.1)
    stage.terminal.send(CTRL_C)
    assert stage.terminal.status() == 130


def test_ctrl_backslash(stage):
    stage.start("say ready forever")
    stage.terminal.expect("ready")
    time.sleep(0.1)
    stage.terminal.send(CTRL_BACKSLASH)
    assert stage.terminal.status() == 131


def test_ctrl_c_twice_in_a_row(stage):
    stage.start("await 2 300 await 2 300 exit 6")
    stage.terminal.expect("ready")
    stage.terminal.send(CTRL_C)
    stage.terminal.expect("caught 1")
    stage.terminal.expect("ready")
    stage.terminal.expect("caught 1")  # the first one still counts in the second act
    assert stage.terminal.status() == 6


def test_stop_and_foreground(stage):
    mark = f"mark{os.getpid()}"
    stage.start(f"say ready burn 700 say {mark} exit 7")
    stage.terminal.expect("ready")
    stage.terminal.send(CTRL_Z)
    stage.terminal.expect("Stopped")
    assert stage.terminal.status() == 148
    end = time.monotonic() + 60
    while process_state(mark) != ["T"]: # the shell hears of its child, which a busy machine stops before the target
        assert time.monotonic() < end
        time.sleep(0.02)
    stage.terminal.send("fg\n")
    stage.terminal.expect(rf"{mark}\r?\n{mark}\r?\n")
    assert stage.terminal.status() == 7


def test_stop_and_background(stage):
    stage.start("say ready burn 500 exit 8")
    stage.terminal.expect("ready")
    stage.terminal.send(CTRL_Z)
    stage.terminal.expect("Stopped")
    stage.terminal.send("bg; wait %1\n")
    assert stage.terminal.status() == 8


def test_target_that_stops_itself(stage):
    """The shell must get its terminal back although only the target stopped."""
    stage.start("burn 30 say ready kill-self 19 say resumed burn 30 exit 9")
    stage.terminal.expect("ready")
    stage.terminal.expect("Stopped")
    stage.terminal.send("fg\n")
    stage.terminal.expect("resumed\r?\nresumed")
    assert stage.terminal.status() == 9


def test_background_job_may_not_read_the_terminal(stage):
    stage.start_program("cat &")
    stage.terminal.send("for i in $(seq 200); do jobs | grep Stopped && break; sleep 0.1; done\n")
    stage.terminal.expect("Stopped")
    stage.terminal.send("fg\n")
    stage.terminal.expect("cat")
    time.sleep(0.2)
    stage.terminal.send("typed text\n")
    stage.terminal.expect("typed text")
    stage.terminal.send(CTRL_D)
    assert stage.terminal.status() == 0


def test_background_job_ends_by_itself(stage):
    stage.start("burn 200 exit 4", "&")
    stage.terminal.send("wait %1\n")
    assert stage.terminal.status() == 4


def test_reading_from_the_terminal(stage):
    stage.start_program("cat")
    stage.terminal.send("first line\n")
    stage.terminal.expect("first line")
    stage.terminal.send("second line\n")
    stage.terminal.expect("second line")
    stage.terminal.send(CTRL_D)
    assert stage.terminal.status() == 0


def test_pipeline(stage):
    stage.terminal.send("echo through | ")
    stage.start_program("cat | tr a-z A-Z")
    stage.terminal.expect("THROUGH")
    assert stage.terminal.status() == 0


def test_window_size_change_reaches_the_target(stage):
    stage.start("await 28 200 exit 3")
    stage.terminal.expect("ready")
    fcntl.ioctl(stage.terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
    stage.terminal.expect("caught 1")
    assert stage.terminal.status() == 3


def test_terminal_settings_are_left_as_the_target_leaves_them(stage):
    stage.start_program("stty -icanon -ixon intr ^X")
    assert stage.terminal.status() == 0
    stage.terminal.send("stty -a\n")
    shown = stage.terminal.expect(r"intr = (\S+);[\s\S]*?(-?)ixon")
    assert (shown.group(1), shown.group(2)) == ("^X", "-")
    stage.terminal.send("stty sane -echo\n")


def test_hangup_of_the_terminal_ends_the_target(stage):
    """Closing the window: SIGHUP for the job; the trace is there afterwards (the fixture opens it)."""
    mark = f"hang{os.getpid()}"
    stage.start(f"say ready burn 60000 say {mark}")
    stage.terminal.expect("ready")
    time.sleep(0.2)
    stage.terminal.close()
    stage.terminal.close = lambda: None
    for _ in range(400):
        if not process_state(mark) and (not stage.trace or stage.trace.exists()):
            break
        time.sleep(0.05)
    assert process_state(mark) == []


def test_terminal_is_seen_as_such(stage, apps):
    """stdin and stderr are the terminal, stdout is a file, and it is the controlling terminal, foreground group included."""
    stage.start("report", "> report.txt")
    assert stage.terminal.status() == 0
    stage.terminal.send("grep -c 'tty 1' report.txt\n")
    assert int(stage.terminal.expect(r"(\d+)\r?\n").group(1)) >= 2
