# SPDX-License-Identifier: MIT
"""hprofiler on a terminal of its own: what `run --live` is tested with."""
import fcntl
import os
import pty
import re
import resource
import select
import signal
import struct
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
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
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


def wait_for_file(path, timeout_s=60):
    end = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.05)
