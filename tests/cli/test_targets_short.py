# SPDX-License-Identifier: MIT
"""Short programs have samples in proportion to their CPU time, from their first millisecond on, and a run costs little."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import short_programs


# At most. How many samples come is the kernel's affair, which throttles them when interrupts take long, and that of a virtual machine's host,
# which takes time that its guests' CPU clocks count.
RUNS = 3


def assert_in_proportion(runner, target, processes_of, cpu_ms, fits):
    """The samples of one run: fits(found, due) for each process that burns cpu_ms."""
    for _ in range(RUNS):
        profiled = runner.profiled(target, ["--perf-freq", str(short_programs.FREQUENCY)])
        summary = profiled.summary()
        found = processes_of(summary)
        sampling = summary["sampling"]
        assert sampling["sampled_ns"] + sampling["unsampled_ns"] > 0.9 * len(found) * cpu_ms * 1e6  # however many samples there are; but for the cost of switches
        hz = profiled.agreed_hz()
        if hz and all(fits(count, cpu_ms * hz / 1000) for count in found):
            return
    if not hz:
        pytest.skip("the kernel throttles sampling: how many samples come is not in proportion")
    pytest.fail(f"{found} samples of {cpu_ms} ms at {hz} Hz")


@pytest.mark.parametrize("cpu_ms", [20, 50, 100, 500])
def test_samples_are_in_proportion(runner, apps, cpu_ms):
    assert_in_proportion(runner, [apps / "target", "burn", cpu_ms], lambda summary: [sum(thread["samples"] for thread in summary["threads"])], cpu_ms,
                         lambda found, due: 0.8 * due - 2 <= found <= 1.2 * due + 8)


@pytest.mark.parametrize("cpu_ms", [20, 100])
def test_children_of_the_first_millisecond_are_sampled(runner, apps, cpu_ms):
    def children(summary):
        parent = min(summary["processes"], key=lambda process: process["start_ns"])["pid"]
        return [thread["samples"] for thread in summary["threads"] if thread["pid"] != parent]
    assert_in_proportion(runner, [apps / "target", "crowd", 4, cpu_ms], lambda summary: (children(summary) + [0] * 4)[:4], cpu_ms,
                         lambda found, due: 0.75 * due - 2 <= found <= 1.25 * due + 6)


def test_shares_of_functions_are_true(runner, apps):
    expected = {"burn_one_tenth": 0.1, "burn_three_tenths": 0.3, "burn_six_tenths": 0.6}
    for cpu_ms in (1000, 2000, 4000): # the fewer samples, the further from the truth they may be
        profiled = runner.profiled([apps / "target", "shares", cpu_ms])
        functions = {function["name"]: function["self_ns"] for function in profiled.summary()["functions"] if function["source"] == "samples"}
        total = sum(functions.get(name, 0) for name in expected)
        shares = {name: functions.get(name, 0) / total for name in expected}
        assert total > 0.8e6 * cpu_ms
        if all(abs(shares[name] - expected[name]) < 0.06 for name in expected):
            return
    pytest.fail(f"{shares}")


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
