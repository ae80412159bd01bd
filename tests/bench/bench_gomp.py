#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tracing OpenMP on GCC's libgomp costs a construct: bench_gomp bare and under `hprofiler run -b openmp`, turn by turn.

  tests/bench/bench_gomp.py [--build DIR] [--threads N] [--rounds N]

Prints the least of all rounds in ns: bare, traced, the difference. Promised: at most 150 ns a region with one thread."""
import argparse
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in out.splitlines() if len(line.split()) == 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    build = pathlib.Path(options.build)
    program = [str(build / "bin/bench_gomp"), options.threads]
    bare, traced = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        profiled = [str(build / "bin/hprofiler"), "run", "-b", "openmp", "--no-summary", "-o", f"{folder}/t.hpt", "--", *program]
        for _ in range(options.rounds):
            for command, best in ((program, bare), (profiled, traced)):
                for name, ns in run(command).items():
                    best[name] = min(ns, best.get(name, ns))
    print(f"{'ns a':10} {'bare':>8} {'traced':>8} {'more':>8}   ({options.threads} threads, least of {options.rounds} rounds)")
    for name, ns in bare.items():
        print(f"{name:10} {ns:8.1f} {traced[name]:8.1f} {traced[name] - ns:8.1f}")


main()
