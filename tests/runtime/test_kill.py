# SPDX-License-Identifier: MIT
"""SIGKILL of the target, of the recorder, of both, at random moments: every published record is in the merged trace.

HPROFILER_KILLS sets the number of kills (200 for a full run; make check does a few). The target stores the number of a record
in a shared file after the call that recorded it has returned: that many records must be there, each once."""
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest

import probe

KILLS = int(os.environ.get("HPROFILER_KILLS", "15"))
SEED = int(os.environ.get("HPROFILER_SEED", "0")) or random.randrange(1 << 30)


def wait_for(condition, what):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.002)
    pytest.fail(f"{what} never came")


def descendants(pid):
    """The target is the recorder's only child."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def is_gone(pid):
    """Dead, if perhaps not waited for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return b") Z" in file.read()
    except (FileNotFoundError, ProcessLookupError):
        return True


class Run:
    def __init__(self, folder, options):
        self.folder = folder
        self.counter_path = folder / "counter"
        announce = folder / "announce"
        sessions = folder / "sessions"
        sessions.mkdir()
        self.recorder = subprocess.Popen(
            probe.arguments(["--keep", "--announce", str(announce), *options], [probe.TARGET, "counted", self.counter_path], sessions),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: self.counter_path.exists() and self.counter_path.stat().st_size == 4096, "the target")
        wait_for(lambda: self.counter() > 0, "the first record")
        self.directory = announce.read_text().strip()
        self.target, = descendants(self.recorder.pid)

    def counter(self):
        with open(self.counter_path, "rb") as file, mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) as data:
            return struct.unpack_from("<Q", data)[0]

    def kill_target(self):
        os.kill(self.target, signal.SIGKILL)
        wait_for(lambda: is_gone(self.target), "the target's end")


@pytest.mark.parametrize("number", range(KILLS))
def test_kill(tmp_path, number):
    print(f"HPROFILER_SEED={SEED}")
    chance = random.Random(SEED * 1000 + number)
    who = ("target", "recorder", "both")[number % 3]
    options = [[], [], ["--raw-clock"], ["--no-drain"]][number // 3 % 4]
    run = Run(tmp_path, options)
    time.sleep(chance.uniform(0, 0.25))
    if who == "both":
        os.kill(run.recorder.pid, signal.SIGKILL)
        run.kill_target()
    elif who == "recorder":
        os.kill(run.recorder.pid, signal.SIGKILL)
        time.sleep(chance.uniform(0, 0.05))
        run.kill_target()
    else:
        run.kill_target()
    run.recorder.communicate(timeout=60)
    published = run.counter()
    trace = probe.merge(run.directory)
    lost = trace.lost()
    if lost:  # the recorder was late or dead until the limit was reached: counted, so numbers have gaps
        assert trace.count("step") + lost >= published
    else:
        (least, greatest), = trace.ranges()
        assert least == 1 and published <= greatest <= published + 1
    shutil.rmtree(run.directory)
