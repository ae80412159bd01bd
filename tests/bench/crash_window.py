#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a crash of hprofiler costs: how old the last sample in the recovered trace is when hprofiler is killed, at other moments each time.

  tests/bench/crash_window.py HPROFILER [KILLS] [OTHER_HPROFILER]      20 kills of each

The window is the stated 250 ms on a machine with a core free (docs/sampling.md says what it is made of); what hprofiler waits for a
core on a busy one comes on top. The program samples itself at the default rate with DWARF stacks, which wait longest."""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = [sys.executable, "-c", "while True: sum(range(1000))"]
QUERY = "SELECT max(time_ns) last, (SELECT value FROM metadata WHERE key = 'start_monotonic_raw_ns') start FROM samples"


def age_ms(hprofiler, folder, delay_s):
    (folder / "sessions").mkdir(parents=True)
    recorder = subprocess.Popen([hprofiler, "run", "--no-summary", "--session-dir", folder / "sessions", "--perf-callgraph", "dwarf",
                                 "-o", folder / "never.hpt", "--", *PROGRAM], stderr=subprocess.DEVNULL)
    time.sleep(delay_s)
    children = subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout.split()
    recorder.send_signal(signal.SIGKILL)
    killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    recorder.wait()
    subprocess.run(["kill", "-9", *children], check=False)
    trace = folder / "recovered.hpt"
    subprocess.run([hprofiler, "recover", next((folder / "sessions").iterdir()), "--no-summary", "-o", trace], check=True, capture_output=True)
    answer = json.loads(subprocess.run([hprofiler, "query", trace, QUERY, "--format", "json"], check=True, capture_output=True).stdout)
    row = answer["rows"][0] if isinstance(answer, dict) else answer[0]
    last, start = row.values() if isinstance(row, dict) else row
    return (killed_ns - int(start) - int(last or 0)) / 1e6


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    for hprofiler in [sys.argv[1], *sys.argv[3:4]]:
        with tempfile.TemporaryDirectory() as folder:
            ages = sorted(age_ms(hprofiler, pathlib.Path(folder) / str(i), 0.8 + 0.013 * i) for i in range(kills))
        print(f"{hprofiler}: median {ages[len(ages) // 2]:.0f} ms, greatest {ages[-1]:.0f} ms of {kills} kills")


main()
