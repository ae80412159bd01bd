#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a long OpenCL program's memory stays flat under us, and whether each of its launches is in the trace.

  tests/bench/opencl_many.py HPROFILER OPENCL_TARGET [LAUNCHES]      a million launches without an argument

Half of the launches ask for an event, half do not; exit status 1 when memory grew by more than 4 MB after the first tenth of
the run, beside what it grows bare, or when a launch is missing."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def run(command):
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    found = re.search(r"peak (\d+) kB after a tenth, (\d+) kB at the end", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return int(found.group(1)), int(found.group(2)), seconds


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    hprofiler, target = sys.argv[1:3]
    launches = int(sys.argv[3]) if len(sys.argv) > 3 else 1000000
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "many.hpt"
        rows = {"bare": run([target, "many", str(launches)]),
                "profiled": run([hprofiler, "run", "-b", "opencl", "--no-summary", "-o", str(trace), "--", target, "many", str(launches)])}
        sql = "select count(*) kernels from spans where kind = 'kernel'"
        answer = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], capture_output=True, text=True, check=True)
        kernels = json.loads(answer.stdout)[0]["kernels"]
    print(f"{'':10}{'peak at 1/10':>14}{'peak at end':>14}{'grew':>10}{'seconds':>10}")
    for name, (early, late, seconds) in rows.items():
        print(f"{name:10}{early:11} kB{late:11} kB{late - early:7} kB{seconds:10.1f}")
    print(f"kernels in the trace: {kernels} of {launches}")
    grew = (rows["profiled"][1] - rows["profiled"][0]) - (rows["bare"][1] - rows["bare"][0])
    sys.exit(1 if grew > 4096 or kernels != launches else 0)


main()
