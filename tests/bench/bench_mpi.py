#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording MPI costs: an 8-byte ping-pong of two ranks bare and under `hprofiler run -b mpi`, interleaved; ns one way (a send
and a receive), least of all batches and least median of all runs. `nowhere`: a send and a receive that go nowhere, by CPU time,
which means something on a busy machine, too.

  tests/bench/bench_mpi.py BUILD_FOLDER [RUNS]

The bar: at most 100 ns above the bare program, for each MPI that is installed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BAR = 100
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--bind-to", "core"], "mpich": ["mpirun.mpich", "-bind-to", "core"]}


def measure(command):
    done = subprocess.run(command, env={**os.environ, **ROOT}, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, runs = pathlib.Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 8
    worst = 0
    for mpi, launcher in LAUNCHERS.items():
        program = build / f"tests/bench/bench_mpi-{mpi}"
        if not program.exists() or not shutil.which(launcher[0]):
            print(f"{mpi}: not here")
            continue
        best = {}
        with tempfile.TemporaryDirectory() as folder:
            bare = [*launcher, "-np", "2", str(program)]
            ways = {"bare": bare, "ours": [str(build / "bin/hprofiler"), "run", "-b", "mpi", "--no-summary", "--no-ui", "-o", f"{folder}/t.hpt", "--", *bare]}
            for _ in range(runs):
                for way, command in ways.items():
                    for name, value in measure(command).items():
                        best.setdefault(name, {}).setdefault(way, []).append(value)
        print(f"{mpi:<8} {'bare':>8} {'ours':>8} {'above':>7}")
        for name, values in best.items():
            least = {way: min(numbers) for way, numbers in values.items()}
            print(f"{name:<8} {least['bare']:8.1f} {least['ours']:8.1f} {least['ours'] - least['bare']:+7.1f}")
            if name == "least":
                worst = max(worst, least["ours"] - least["bare"])
    sys.exit(worst > BAR)


main()
