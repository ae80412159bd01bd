#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exact counts and times of CUDA programs on a machine with an NVIDIA GPU, as a table.

  tests/gpu/counts.py HPROFILER PROGRAM...      programs: builds of tests/gpu/cuda_counts.cu

Each mode of each program runs alone and profiled; what the trace holds is compared with what the program says it did. The mode
`in_flight` ends with kernels under way: what has no record must stand in the ledger."""
import json
import pathlib
import subprocess
import sys
import tempfile

MODES = ["plain", "graph", "driver", "threads", "events", "nvtx", "spins", "fork", "reset", "aborted", "managed"]


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"query failed: {done.stderr}")
    return json.loads(done.stdout)


def rows(answer):
    return answer["rows"] if isinstance(answer, dict) else answer


def number(hprofiler, trace, sql):
    first = rows(query(hprofiler, trace, sql))[0]
    return list(first.values())[0] if isinstance(first, dict) else first[0]


def expected(output):
    return {word: value for word, value in (line.split() for line in output.splitlines() if len(line.split()) == 2)}


def check(hprofiler, program, mode, folder):
    trace = folder / f"{pathlib.Path(program).name}-{mode}.hpt"
    bare = subprocess.run([program, mode], capture_output=True, text=True, timeout=120)
    done = subprocess.run([hprofiler, "run", "-b", "cuda", "--no-summary", "-o", trace, "--", program, mode], capture_output=True,
                          text=True, timeout=120)
    problems = []
    status = 128 - bare.returncode if bare.returncode < 0 else bare.returncode
    if done.returncode != status or done.stdout != bare.stdout:
        problems.append(f"output or status differ: {done.returncode} {done.stderr[-200:]}")
    for word, value in expected(done.stdout).items():
        if word not in ("kernel", "copy", "fill", "range"):
            continue
        seen = number(hprofiler, trace, f"select count(*) from spans where kind = '{word}'")
        if seen != int(value):
            problems.append(f"{word}: {seen} of {value}")
    early = number(hprofiler, trace, "select count(*) from links l join spans a on a.id = l.from_span join spans b on b.id = l.to_span "
                   "where l.kind = 'launch' and b.begin_ns < a.begin_ns")
    links = number(hprofiler, trace, "select count(*) from links where kind = 'launch'")
    negative = number(hprofiler, trace, "select count(*) from spans where end_ns < begin_ns")
    lost = number(hprofiler, trace, "select coalesce(sum(lost), 0) from ledger")
    if early or negative or lost:
        problems.append(f"before their launch {early}, negative {negative}, lost {lost}")
    print(f"{pathlib.Path(program).name:12} {mode:10} links {links:6} {'ok' if not problems else '; '.join(problems)}", flush=True)
    return not problems


def check_in_flight(hprofiler, program, folder):
    trace = folder / "in_flight.hpt"
    subprocess.run([hprofiler, "run", "-b", "cuda", "--no-summary", "-o", trace, "--", program, "in_flight"], capture_output=True, timeout=120)
    seen = number(hprofiler, trace, "select count(*) from spans where kind = 'kernel'")
    missing = number(hprofiler, trace, "select coalesce(sum(lost), 0) from ledger where source = 'cuda kernels'")
    print(f"{pathlib.Path(program).name:12} in_flight  ended {seen}, told as missing {missing}: {'ok' if seen + missing == 100 else 'wrong'}")
    return seen + missing == 100


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    hprofiler, programs = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        results = [check(hprofiler, program, mode, pathlib.Path(folder)) for program in programs for mode in MODES]
        results += [check_in_flight(hprofiler, program, pathlib.Path(folder)) for program in programs]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
