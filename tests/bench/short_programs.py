#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Short programs, and what a run costs at least.

Table 1: programs of 20, 50, 100 and 500 ms of CPU time and children forked in their first millisecond: samples found
against samples due (CPU time x frequency). Table 2: `hprofiler run -- true` over `true`, interleaved. With --memory S:
resident memory of hprofiler while a target runs without end.

  short_programs.py [--hprofiler PATH] [--apps FOLDER] [--repeat N] [--memory SECONDS]
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FREQUENCY = 999


def run(hprofiler, trace, target, options=()):
    done = subprocess.run([hprofiler, "run", "--no-summary", "--perf-freq", str(FREQUENCY), "-o", str(trace), *options, "--",
                           *map(str, target)], capture_output=True)
    if done.returncode:
        sys.exit(f"{target}: status {done.returncode}: {done.stderr.decode(errors='replace')}")


def summary(hprofiler, trace):
    done = subprocess.run([hprofiler, "summary", str(trace), "--format", "json"], capture_output=True)
    if done.returncode:
        sys.exit(f"summary: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def samples_of(hprofiler, apps, folder, cpu_ms, children):
    """Samples of one run: all of a program, or of each child that it forks first of all."""
    trace = folder / "short.hpt"
    target = [apps / "target", "crowd", children, cpu_ms] if children else [apps / "target", "burn", cpu_ms]
    run(hprofiler, trace, target)
    threads = sorted(summary(hprofiler, trace)["threads"], key=lambda thread: thread["pid"])
    counts = [thread["samples"] for thread in threads]
    return counts[-children:] + [0] * (children - len(counts)) if children else [sum(counts)]


def proportions(hprofiler, apps, folder, repeat):
    """Rows (CPU ms, children, samples due, samples found: least, median, most)."""
    rows = []
    for cpu_ms in (20, 50, 100, 500):
        for children in (0, 4):
            found = sorted(count for _ in range(repeat) for count in samples_of(hprofiler, apps, folder, cpu_ms, children))
            rows.append((cpu_ms, children, cpu_ms * FREQUENCY / 1000, found[0], statistics.median(found), found[-1]))
    return rows


def wall_s(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - begin


def least_cost(hprofiler, folder, repeat):
    """Seconds of `true` and of `hprofiler run -- true`, interleaved: (least, median) each."""
    bare, profiled = [], []
    for _ in range(repeat):
        bare.append(wall_s(["true"]))
        profiled.append(wall_s([hprofiler, "run", "--no-summary", "-o", str(folder / "true.hpt"), "--", "true"]))
    return (min(bare), statistics.median(bare)), (min(profiled), statistics.median(profiled))


def memory_kb(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    return 0


def endless(hprofiler, target, folder, seconds, options):
    """Resident memory of hprofiler, read once a second: list of kB, and the peak."""
    process = subprocess.Popen([hprofiler, "run", "--no-summary", "-o", str(folder / "endless.hpt"), "--session-dir", str(folder), *options,
                                "--", *map(str, target)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    series = []
    for _ in range(seconds):
        time.sleep(1)
        series.append(memory_kb(process.pid, "VmRSS"))
    peak = memory_kb(process.pid, "VmHWM")
    os.killpg(process.pid, signal.SIGTERM)
    while process.poll() is None:  # the merge at the end counts too
        try:
            peak = max(peak, memory_kb(process.pid, "VmHWM"))
        except OSError:
            break
        time.sleep(0.02)
    process.communicate()
    return series, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hprofiler", default=os.environ.get("HPROFILER_BIN", str(ROOT / "build/bin/hprofiler")))
    parser.add_argument("--apps", default=os.environ.get("HPROFILER_APPS"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--memory", type=int, default=0, metavar="SECONDS")
    options = parser.parse_args()
    apps = pathlib.Path(options.apps or pathlib.Path(options.hprofiler).resolve().parents[1] / "tests/apps")
    with tempfile.TemporaryDirectory(prefix="short-") as folder:
        folder = pathlib.Path(folder)
        print(f"{'CPU ms':>7} {'children':>8} {'due':>6} {'least':>6} {'median':>6} {'most':>6}")
        for row in proportions(options.hprofiler, apps, folder, options.repeat):
            print("{:7} {:8} {:6.0f} {:6.0f} {:6.0f} {:6.0f}".format(*row))
        bare, profiled = least_cost(options.hprofiler, folder, 4 * options.repeat)
        print(f"\ntrue: least {bare[0] * 1e3:.1f} ms, median {bare[1] * 1e3:.1f} ms; hprofiler run -- true: least {profiled[0] * 1e3:.1f} ms,"
              f" median {profiled[1] * 1e3:.1f} ms; over: least {(profiled[0] - bare[0]) * 1e3:.1f} ms, median {(profiled[1] - bare[1]) * 1e3:.1f} ms")
        if options.memory:
            for name, target, more in (("one thread", ["forever"], ()), ("one thread, dwarf", ["forever"], ("--perf-callgraph", "dwarf")),
                                       ("processes without end", ["exec", "sh", "-c", "while :; do /bin/true; done"], ())):
                series, peak = endless(options.hprofiler, [apps / "target", *target], folder, options.memory, more)
                print(f"memory, {name}: {series[0] / 1024:.1f} MB after 1 s, {series[-1] / 1024:.1f} MB after {options.memory} s, peak {peak / 1024:.1f} MB")


if __name__ == "__main__":
    main()
