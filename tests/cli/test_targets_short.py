# SPDX-License-Identifier: MIT
"""Short programs have samples in proportion to their CPU time, from their first millisecond on, and a run costs little."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import short_programs


@pytest.mark.parametrize("cpu_ms", [20, 50, 100, 500])
def test_samples_are_in_proportion(runner, apps, cpu_ms):
    found = short_programs.samples_of(runner.hprofiler, apps, runner.directory, cpu_ms, 0)[0]
    assert 0.8 * cpu_ms - 2 <= found <= 1.2 * cpu_ms + 8, f"{found} samples of {cpu_ms} ms"


@pytest.mark.parametrize("cpu_ms", [20, 100])
def test_children_of_the_first_millisecond_are_sampled(runner, apps, cpu_ms):
    found = short_programs.samples_of(runner.hprofiler, apps, runner.directory, cpu_ms, 4)
    assert all(0.75 * cpu_ms - 2 <= count <= 1.25 * cpu_ms + 6 for count in found), f"{found} samples of {cpu_ms} ms each"


def test_shares_of_functions_are_true(runner, apps):
    profiled = runner.profiled([apps / "target", "shares", "1000"])
    functions = {function["name"]: function["self_ns"] for function in profiled.summary()["functions"] if function["source"] == "samples"}
    names = ["burn_one_tenth", "burn_three_tenths", "burn_six_tenths"]
    total = sum(functions.get(name, 0) for name in names)
    assert total > 800_000_000
    for name, share in zip(names, (0.1, 0.3, 0.6)):
        assert abs(functions[name] / total - share) < 0.06, {name: functions.get(name) for name in names}


def test_least_cost_of_a_run(runner, measured):
    """50 ms over `true` is the promise; a machine busy with other tests gets some more, and more than one try."""
    least = []
    while len(least) < 6 and (not least or min(least) >= 0.075):
        bare, profiled = short_programs.least_cost(runner.hprofiler, runner.directory, 9)
        least.append(profiled[0] - bare[0])
    assert min(least) < 0.075, f"`hprofiler run -- true` takes {min(least) * 1e3:.1f} ms over `true` at best"


def test_memory_stays_flat(runner, apps, measured):
    series, peak = short_programs.endless(runner.hprofiler, [apps / "target", "forever"], runner.directory, 4, ())
    assert peak < 200 << 10, f"{peak} kB"
    assert series[-1] - series[1] < 16 << 10, f"{series} kB"
