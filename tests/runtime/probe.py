# SPDX-License-Identifier: MIT
"""Running runtime_target under session_probe, and what a recorded trace must say."""
import json
import os
import pathlib
import subprocess

PROBE = os.environ.get("HPROFILER_PROBE", "session_probe")
TARGET = os.environ.get("HPROFILER_TARGET", "runtime_target")
LIBRARIES = os.environ.get("HPROFILER_LIBRARIES", "")


class Recorded:
    def __init__(self, text):
        self.json = json.loads(text)
        self.processes = self.json["processes"]

    def threads(self):
        return [track for track in self.json["tracks"] if track["kind"] == "thread"]

    def tallies(self, name):
        """The tallies of a span name, one for each thread that has some."""
        return [track["spans"][name] for track in self.threads() if name in track["spans"]]

    def count(self, name):
        return sum(tally["count"] for tally in self.tallies(name))

    def lost(self, reason=None):
        return sum(row["lost"] for row in self.json["ledger"] if reason is None or reason in row["reason"])

    def ranges(self, name="step"):
        """(least, greatest) of each thread's numbers, each checked to be there once."""
        found = []
        for tally in self.tallies(name):
            least, greatest, count = tally["least"], tally["greatest"], tally["count"]
            assert tally["valued"] == count
            assert greatest - least + 1 == count, f"numbers {least}..{greatest} in {count} spans"
            assert tally["sum"] == (least + greatest) * count // 2
            found.append((least, greatest))
        return sorted(found)


def arguments(options, command, session_dir):
    return [PROBE, "run", "--libraries", LIBRARIES, "--session-dir", str(session_dir), *options, "--", *map(str, command)]


def record(session_dir, *command, options=(), status=0, check_output=None):
    """Records runtime_target with these arguments and gives the merged trace."""
    done = subprocess.run(arguments(options, [TARGET, *command], session_dir), capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines, (done.returncode, done.stdout, done.stderr)
    recorded = Recorded(lines[-1])
    assert recorded.json["status"] == status, (recorded.json["status"], done.stderr)
    recorded.output, recorded.errors = lines[:-1], done.stderr
    if "--keep" not in options:
        assert list(pathlib.Path(session_dir).iterdir()) == []
    return recorded


def merge(directory):
    done = subprocess.run([PROBE, "merge", str(directory)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return Recorded(done.stdout)
