#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tracing OpenMP by OMPT costs: a program without a tool, with a tool that does nothing, and under `hprofiler run`,
interleaved; ns for each construct, least of all runs.

  tests/bench/bench_openmp.py BUILD_FOLDER [RUNS [THREADS,... [LIBOMP.so]]]

By the wall clock, and by the CPU time of the thread that measures: on a machine that others use only the latter, at one thread, is
worth reading. The bars, at one thread: a parallel region at most 50 ns above the empty tool, a barrier 25."""
import os
import pathlib
import subprocess
import sys
import tempfile

BARS = {"parallel": 50, "barrier": 25}


def measure(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return {name: (float(wall), float(cpu)) for name, wall, cpu in (line.split() for line in done.stdout.splitlines())}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).absolute()
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    program = str(build / "tests/bench/bench_openmp")
    base = {"LD_LIBRARY_PATH": str(pathlib.Path(sys.argv[4]).absolute().parent)} if len(sys.argv) > 4 else {}
    worst = 0
    for threads in map(int, (sys.argv[3] if len(sys.argv) > 3 else "1,2").split(",")):
        best = {}
        with tempfile.TemporaryDirectory() as folder:
            ways = {"bare": ([program], {"OMP_TOOL": "disabled"}),
                    "empty": ([program], {"LD_PRELOAD": str(build / "tests/bench/libbench_openmp_empty.so")}),
                    "ours": ([str(build / "bin/hprofiler"), "run", "-b", "openmp", "--no-summary", "-o", f"{folder}/t.hpt", "--", program], {})}
            for _ in range(runs):
                for way, (command, environment) in ways.items():
                    for name, numbers in measure(command, {**base, **environment, "OMP_NUM_THREADS": str(threads)}).items():
                        old = best.setdefault(name, {}).get(way, numbers)
                        best[name][way] = tuple(map(min, old, numbers))
        print(f"{threads} thread(s)   {'bare':>8} {'empty':>8} {'ours':>8} {'above':>7}      (CPU) {'bare':>8} {'empty':>8} {'ours':>8} {'above':>7}")
        for name, ways in best.items():
            cells = ""
            for clock in (0, 1):
                bare, empty, ours = (ways[way][clock] for way in ("bare", "empty", "ours"))
                cells += f" {bare:8.1f} {empty:8.1f} {ours:8.1f} {ours - empty:+7.1f}" + "           " * (not clock)
            print(f"{name:<13}{cells}")
            if threads == 1 and name in BARS:
                worst = max(worst, min(ways["ours"][clock] - ways["empty"][clock] for clock in (0, 1)) / BARS[name])
    print(f"\none thread: {worst:.2f} of the bars")
    sys.exit(worst > 1)


main()
