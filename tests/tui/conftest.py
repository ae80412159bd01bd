# SPDX-License-Identifier: MIT
"""The terminal UI in a tmux of its own: keys go in, screens come out."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))
import stuck
PATIENCE_S = 60


def pytest_configure(config):
    stuck.watch(config)


def make_folder(prefix):
    """Where paths are short, as those of tmux' socket must be, and have no blank: they are typed into a shell."""
    usual = tempfile.gettempdir()
    return pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=usual if len(usual) < 60 and usual.replace("/", "").isidentifier() else "/tmp"))


class Screen:
    """One program on one screen of tmux. It begins in a shell, so that what is left behind can be looked at."""

    def __init__(self, folder, columns, rows, environment):
        self.socket = str(folder / "tmux")
        settings = {"TERM": "tmux-256color", "LC_ALL": "C.UTF-8", "NO_COLOR": "", "COLORTERM": "", "COLORFGBG": "", "HPROFILER_THEME": "dark",
                    "XDG_RUNTIME_DIR": str(folder), "PS1": "READY> ", "HISTFILE": "", "ENV": "", **environment}
        words = [f"{key}={value}" for key, value in settings.items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder), "--", "env", *words,
                  "bash", "--norc", "--noprofile", "-i")
        self.tmux("set-option", "-g", "escape-time", "0")
        self.wait("READY>")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def capture(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def keys(self, *keys):
        for key in keys:
            if isinstance(key, tuple):  # typed as it is
                self.tmux("send-keys", "-l", key[0])
            else:
                self.tmux("send-keys", key)
            if key == "Escape":
                time.sleep(0.2)  # what follows at once would be one key with it

    def until(self, good, what, colours=False):
        """Waits for a screen that is good; a loaded machine may take its time."""
        end = time.monotonic() + PATIENCE_S
        while True:
            shown = self.capture(colours)
            if good(shown):
                return shown
            if time.monotonic() > end:
                pytest.fail(f"no {what} within {PATIENCE_S} s; the screen shows:\n{shown}")
            time.sleep(0.03)

    def wait(self, text):
        return self.until(lambda shown: text in shown, repr(text))

    def settle(self, colours=False):
        last, since = None, time.monotonic()
        while time.monotonic() - since < 0.7:
            shown = self.capture(colours)
            if shown != last:
                last, since = shown, time.monotonic()
            time.sleep(0.05)
        return last

    def state(self, name):
        return self.tmux("display-message", "-p", "#{" + name + "}").strip()

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=60)


@pytest.fixture(scope="session")
def hprofiler():
    path = pathlib.Path(os.environ.get("HPROFILER_BIN") or HERE.parents[1] / "build/bin/hprofiler").absolute()
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built")
    return str(path)


@pytest.fixture(scope="session")
def make_traces(hprofiler):
    return os.environ.get("HPROFILER_MAKE_TRACES") or str(pathlib.Path(hprofiler).parents[1] / "tests/tui_make_traces")


@pytest.fixture(scope="session")
def traces(make_traces):
    folder = make_folder("hprofiler-tui-")
    subprocess.run([make_traces, str(folder)], check=True, timeout=120)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def open_screen():
    """A function: a screen of that size; all are closed in the end."""
    screens, folders = [], []

    def make(columns=80, rows=24, **environment):
        folder = make_folder("hp-tui-")
        folders.append(folder)
        screens.append(Screen(folder, columns, rows, environment))
        return screens[-1]
    yield make
    for screen in screens:
        screen.close()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def view(open_screen, hprofiler, traces):
    """A function: the UI with one of the traces."""
    def start(trace, *size, **environment):
        screen = open_screen(*size, **environment)
        screen.keys((f"clear; {hprofiler} view {traces}/{trace.replace('FOLDER', str(traces))}",), "Enter")
        screen.wait("? keys")
        return screen
    return start
