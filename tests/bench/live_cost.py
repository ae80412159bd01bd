#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a program notices of being watched: the same work under `run` and under `run --live` with the Flame Graph open, in turns; the least CPU
time and the least time of each, and their ratios. The CPU time that hprofiler itself took stands beside it.

    tests/bench/live_cost.py build/bin/hprofiler [ROUNDS [SECONDS OF CPU TIME]]"""
import os
import pty
import re
import select
import statistics
import subprocess
import sys
import tempfile

WORK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
static volatile double sum;
__attribute__((noinline)) static void leaf(int n) { for (int i = 0; i < n; i++) sum += i * 0.5; }
__attribute__((noinline)) static void deep(int level, int n) { if (level) deep(level - 1, n); else leaf(n); sum += 1; }
static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }
int main(int count, char **words)
{
    struct timespec begin, end;
    struct rusage used;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long left = count > 1 ? atol(words[1]) : 1000; left > 0; left--)
        deep((int)(left % 40), 100000);
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_SELF, &used);
    FILE *out = fopen(words[2], "w");
    fprintf(out, "%.6f %.6f %.6f\n", seconds(used.ru_utime), seconds(used.ru_stime),
            (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    fclose(out);
    return 0;
}
"""


def run_at_terminal(command, folder, done):
    """Runs it on a terminal with the Flame Graph shown; leaves the UI once the program has written its file."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color")
        os.execv(command[0], command)
    shown, chosen, left = b"", False, False
    while True:
        if select.select([master], [], [], 0.1)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            shown += piece
        if b"System" in shown and not chosen:
            os.write(master, b"6")
            chosen = True
        if os.path.exists(done) and os.path.getsize(done) and chosen and not left:
            os.write(master, b"q")
            left = True
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def overhead_s(hprofiler, trace):
    rows = subprocess.run([hprofiler, "query", trace, "select value from metadata where key = 'overhead.recorder_ns'", "--format", "csv"],
                          capture_output=True, text=True, check=True).stdout
    return int(re.search(r"\d+", rows).group()) * 1e-9


def measure(hprofiler, folder, program, count, live):
    done, trace = os.path.join(folder, "done"), os.path.join(folder, "x.hpt")
    if os.path.exists(done):
        os.unlink(done)
    options = ["--live"] if live else ["--no-ui"]
    command = [hprofiler, "run", *options, "--no-summary", "--perf-callgraph", "fp", "-o", trace, "--", program, str(count), done]
    status = run_at_terminal(command, folder, done) if live else subprocess.run(command, capture_output=True).returncode
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    user, system, wall = (float(word) for word in open(done).read().split())
    return user + system, wall, overhead_s(hprofiler, trace)


def main():
    hprofiler, rounds, length_s = os.path.abspath(sys.argv[1]), int((sys.argv[2:] or [5])[0]), float((sys.argv[3:] or [8])[0])
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "work")
        subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-x", "c", "-", "-o", program], input=WORK, text=True, check=True)
        subprocess.run([program, "1000", os.path.join(folder, "done")], check=True)
        count = int(1000 * length_s / float(open(os.path.join(folder, "done")).read().split()[0]))
        results = {False: [], True: []}
        for _ in range(rounds):
            for live in (False, True):
                results[live].append(measure(hprofiler, folder, program, count, live))
        print(f"{'':12}{'least CPU s':>12}{'least time s':>14}{'hprofiler CPU s':>17}")
        for live in (False, True):
            cpu, wall, own = zip(*results[live])
            print(f"{'run --live' if live else 'run':12}{min(cpu):12.3f}{min(wall):14.3f}{statistics.median(own):17.3f}")
        ratios = [min(row[i] for row in results[True]) / min(row[i] for row in results[False]) for i in range(2)]
        print(f"{'ratio':12}{ratios[0]:12.4f}{ratios[1]:14.4f}")


main()
