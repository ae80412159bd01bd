# SPDX-License-Identifier: MIT
"""The small version of tests/bench/agree_perf.py: the same comparison with perf report on two short programs."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import agree_perf

PROGRAMS = os.environ.get("HPROFILER_AGREE", "interpreter,compile").split(",")
SECONDS = float(os.environ.get("HPROFILER_AGREE_SECONDS", "1.5"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_top_functions_agree_with_perf_report(hprofiler, name, capsys):
    if not shutil.which("perf"):
        pytest.skip("perf is missing (Debian: linux-perf)")
    if subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("perf may not sample here")
    result = agree_perf.measure(hprofiler, name, SECONDS, 999)
    if "skipped" in result:
        pytest.skip(result["skipped"])
    agree_perf.show(result)
    assert result["rows"] and result["samples"][1] > 100
    # One row outside is the false alarm that a table of dozens may have; a wrong attribution moves two at least.
    outside = [row for row in result["rows"] if not row[5]]
    assert len(outside) <= 1, capsys.readouterr().out


def test_sampling_weight_is_the_cpu_time(hprofiler):
    """The weights of all samples add up to the CPU time of a bare run, within the sampling interval's error."""
    if not shutil.which("perf"):
        pytest.skip("perf is missing")
    # Bare and profiled are two runs: on a shared machine the same work may cost a third more in one of them, so three pairs are tried.
    for _ in range(3):
        result = agree_perf.measure(hprofiler, "stripped", 1.0, 999)
        if "skipped" in result:
            pytest.skip(result["skipped"])
        if 0.8 * result["bare_cpu_s"] < result["weighed_s"] < 1.3 * result["bare_cpu_s"] + 0.05:
            return
    pytest.fail(f"weights {result['weighed_s']} s, CPU time {result['bare_cpu_s']} s")
