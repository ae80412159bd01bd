# SPDX-License-Identifier: MIT
"""Resident memory of processes: read by the recorder twice a second, and the kernel's own count of the greatest."""
MIB = 1 << 20
HELD = 200  # MiB; what else is in such a process is a few
# For how long it is held, from run to run until it is seen: who gets no CPU reads less often than twice a second.
HOLDS_MS = [2500, 2500, 10000]


def values(profiled):
    return profiled.query("select c.track, c.time_ns, c.value, c.unit, t.pid from counters c, tracks t where t.id = c.track"
                          " and c.name = 'resident memory' order by c.track, c.time_ns")


def peak(profiled):
    rows = profiled.query("select value from metadata where key = 'resident.peak_bytes'")
    return int(rows[0]["value"]) if rows else None


def test_what_is_filled_and_given_back_is_seen(runner, apps):
    for hold_ms in HOLDS_MS:
        done = runner.profiled([apps / "target", "hold", HELD, hold_ms, "sleep", hold_ms])
        assert done.status == 0
        rows = values(done)
        if HELD * MIB <= max((row["value"] for row in rows), default=0) and rows[-1]["value"] < HELD * MIB / 2:
            break
    assert {row["unit"] for row in rows} == {"By"} and len({row["pid"] for row in rows}) == 1
    assert HELD * MIB <= max(row["value"] for row in rows) < 2 * HELD * MIB
    assert rows[-1]["value"] < HELD * MIB / 2
    assert 0.98 * HELD * MIB <= peak(done) < 2 * HELD * MIB
    assert "MiB resident at most" in done.text_summary()


def test_each_process_has_its_own(runner, apps):
    target = apps / "target"
    for hold_ms in HOLDS_MS:
        done = runner.profiled(["sh", "-c", f"{target} hold 120 {hold_ms} & {target} hold 60 {hold_ms}; wait"])
        most = {}
        for row in values(done):
            most[row["pid"]] = max(row["value"], most.get(row["pid"], 0))
        two = sorted(most.values())[-2:]
        if len(two) == 2 and 60 * MIB <= two[0] and 120 * MIB <= two[1]:
            break
    assert 60 * MIB <= two[0] < 100 * MIB and 120 * MIB <= two[1] < 180 * MIB
    assert 0.98 * 120 * MIB <= peak(done) < 180 * MIB  # of those that the shell waited for
    assert "resident at most in one process" in done.text_summary()


def test_a_peak_that_is_over_at_once_is_the_kernels(runner, apps):
    done = runner.profiled([apps / "target", "hold", HELD, 0])
    assert 0.98 * HELD * MIB <= peak(done) < 2 * HELD * MIB


def test_our_own_memory_is_not_the_targets(runner):
    done = runner.profiled(["true"])
    assert peak(done) is None or peak(done) < 16 * MIB


def test_without_sampling_too(runner, apps):
    for hold_ms in HOLDS_MS:
        done = runner.profiled([apps / "target", "hold", HELD, hold_ms], options=["--backend", "openmp"])
        most = max((row["value"] for row in values(done)), default=0)
        if HELD * MIB <= most:
            break
    assert HELD * MIB <= most < 2 * HELD * MIB


def test_not_before_the_delay(runner, apps):
    done = runner.profiled([apps / "target", "hold", HELD, 700, "sleep", 3000], options=["--delay", "2"])
    begin, = done.query("select value from metadata where key = 'recording.begin_ns'")
    assert all(row["time_ns"] >= int(begin["value"]) for row in values(done))
