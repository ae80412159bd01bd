#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much sampling slows a CPU-bound program: hprofiler beside `perf record`, same clock, frequency and stacks, in the same run.

The program measures itself (so that starting up and merging do not count), runs are interleaved (bare, perf, hprofiler, bare ...)
and of each kind the fastest counts. Twice: with the other cores free, and with every core busy. Beside the slow-down: samples seen, lost, packed,
and the profiler's own CPU time while the program ran.

  bench_sampling.py [--hprofiler PATH] [--frequencies 999,4999,9999] [--stacks fp,dwarf] [--runs N] [--seconds S] [--json FILE]
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* Work at the end of a call chain of 50 frames, as deep as a real program's. */
__attribute__((noinline)) long work(int depth, long turns)
{
    volatile char frame[64];
    frame[0] = (char)depth;
    if (depth)
        return work(depth - 1, turns) + frame[0];
    unsigned long x = 1;
    for (long i = 0; i < turns; i++)
        x = x * 6364136223846793005u + (unsigned long)i;
    return (long)(x >> 60);
}
int main(int argc, char **argv)
{
    struct timespec begin, end, cpu;
    long sum = 0, rounds = atol(argv[1]);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < rounds; i++)
        sum += work(50, 200000);
    clock_gettime(CLOCK_MONOTONIC, &end);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    printf("%.9f %.9f %ld\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9,
           (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9, sum);
    return 0;
}
"""


def build(folder):
    source = folder / "work.c"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", folder / "work", source], check=True)
    return str(folder / "work")


def seconds_of(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    wall, cpu = done.stdout.split()[:2]
    return float(wall), float(cpu)


def slow_down(runs, base):
    """Of the fastest run over the fastest bare one, in percent: by the clock, and by the program's own CPU time."""
    return [(min(run[i] for run in runs) / min(run[i] for run in base) - 1) * 100 for i in (0, 1)] if runs else None


@contextlib.contextmanager
def busy(program, processes):
    """Keeps that many cores busy meanwhile."""
    others = [subprocess.Popen([program, "100000000"], stdout=subprocess.DEVNULL) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def facts(hprofiler, trace):
    """The ledger of CPU samples and the metadata of sampling, from the trace."""
    def query(sql):
        done = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)
    rows = query("SELECT key, value FROM metadata")
    rows = rows.get("rows", rows) if isinstance(rows, dict) else rows
    metadata = {row["key"]: row["value"] for row in rows} if rows and isinstance(rows[0], dict) else {row[0]: row[1] for row in rows}
    ledger = query("SELECT sum(seen), sum(recorded), sum(lost) FROM ledger WHERE source = 'cpu samples'")
    ledger = ledger.get("rows", ledger) if isinstance(ledger, dict) else ledger
    seen, recorded, lost = (ledger[0].values() if isinstance(ledger[0], dict) else ledger[0])
    return {"seen": seen, "recorded": recorded, "lost": lost, "packed": int(metadata.get("sampling.stacks_packed", 0)),
            "recorder_ms": int(metadata.get("overhead.recorder_ns", 0)) / 1e6, "delivered_hz": metadata.get("sampling.frequency_delivered")}


def measure(arguments, program, rounds, frequency, stack, folder):
    perf_stack = {"fp": ["--call-graph", "fp"], "dwarf": ["--call-graph", f"dwarf,{arguments.stack_bytes}"]}[stack]
    our_stack = {"fp": "fp", "dwarf": f"dwarf,{arguments.stack_bytes}"}[stack]
    trace = folder / "trace.hpt"
    bare, perf, ours = [], [], []
    for _ in range(arguments.runs):
        bare.append(seconds_of([program, rounds]))
        if shutil.which("perf"):
            perf.append(seconds_of(["perf", "record", "-q", "-k", "CLOCK_MONOTONIC_RAW", "-e", "cpu-clock", "-F", str(frequency), *perf_stack,
                                    "-o", folder / "perf.data", "--", program, rounds]))
        ours.append(seconds_of([arguments.hprofiler, "run", "--no-summary", "-o", trace, "-b", "cpu", "--perf-freq", str(frequency),
                                "--perf-callgraph", our_stack, "--", program, rounds]))
    result = {"frequency": frequency, "stack": stack, "bare_s": min(bare)[0], "perf_percent": slow_down(perf, bare),
              "hprofiler_percent": slow_down(ours, bare)}
    result.update(facts(arguments.hprofiler, trace))
    return result


def show(load, row):
    perf, ours = ("-" if both is None else f"{both[0]:.1f} {both[1]:.1f}" for both in (row["perf_percent"], row["hprofiler_percent"]))
    print(f"{load:<10} {row['frequency']:>6} {row['stack']:<6} {row['bare_s']:>8.3f} {perf:>12} {ours:>12} "
          f"{row['seen']:>8} {row['lost']:>6} {row['packed']:>7} {row['recorder_ms']:>9.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hprofiler", default=os.environ.get("HPROFILER_BIN", str(ROOT / "build/bin/hprofiler")))
    parser.add_argument("--frequencies", default="999,4999,9999")
    parser.add_argument("--stacks", default="fp,dwarf")
    parser.add_argument("--stack-bytes", type=int, default=16384)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="hprofiler-bench-") as name:
        folder = pathlib.Path(name)
        program = build(folder)
        rounds = str(max(1, int(500 * arguments.seconds / min(seconds_of([program, "500"])[0] for _ in range(3)))))
        cores = len(os.sched_getaffinity(0))
        print(f"{cores} cores; slow-down of the fastest of {arguments.runs} runs in percent: by the clock, by the program's CPU time\n"
              f"{'load':<10} {'Hz':>6} {'stacks':<6} {'bare s':>8} {'perf %':>12} {'hprofiler %':>12} {'samples':>8} {'lost':>6} {'packed':>7} {'own ms':>9}")
        for load, others in (("core free", 0), ("all busy", cores - 1)):
            with busy(program, others):
                for frequency in map(int, arguments.frequencies.split(",")):
                    for stack in arguments.stacks.split(","):
                        row = measure(arguments, program, rounds, frequency, stack, folder)
                        results.append({"load": load, **row})
                        show(load, row)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
