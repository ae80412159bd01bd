# SPDX-License-Identifier: MIT
"""Call stacks, code addresses and device work of collectors, from real processes to the trace."""
import re

import pytest

import probe
from probe import record


def of(trace, name):
    return [track["spans"][name] for track in trace.threads() if name in track["spans"]]


def test_stacks_are_taken_and_named(tmp_path):
    trace = record(tmp_path, "stacks", 5, options=["--call-tree", "--symbols"])
    tallies = of(trace, "test_stack")
    assert len(tallies) == 6  # the main thread, four more, and the child of fork
    assert all(tally["stacks"] == tally["count"] for tally in tallies)
    stacks = sorted(tally["stack"] for tally in tallies)
    for depth in (2, 3, 4, 5):
        assert any(stack[:depth + 1] == ["deep"] * depth + ["thread_deep"] for stack in stacks)
    main = [stack for stack in stacks if "case_stacks" in stack]
    assert len(main) == 2  # parent and child
    assert ["deep"] * 3 + ["case_stacks"] in [stack[:4] for stack in main]  # the child's own
    assert trace.lost("call stacks") == 0 and trace.lost() == 0


def test_a_stack_has_one_number(tmp_path):
    trace = record(tmp_path, "stacks", 40, options=["--call-tree"])
    first = [tally for tally in of(trace, "test_stack") if tally["count"] == 11][0]
    assert first["valued"] == 11 and first["greatest"] - first["least"] == 1  # ten of one, one of the next
    assert first["sum"] == 10 * first["least"] + first["greatest"]


def test_without_the_option_none_are_taken(tmp_path):
    trace = record(tmp_path, "stacks", 5)
    assert all(tally["stacks"] == 0 and tally["greatest"] == 0 for tally in of(trace, "test_stack"))


def test_deep_stacks_are_cut_at_the_innermost_frames(tmp_path):
    trace = record(tmp_path, "stacks", 300, options=["--call-tree", "--symbols"])
    stack = [tally for tally in of(trace, "test_stack") if tally["count"] == 10][0]["stack"]
    assert stack == ["deep"] * 128


def test_handlers_that_interrupt_the_unwinder(tmp_path):
    trace = record(tmp_path, "stack_signals", options=["--call-tree"])
    assert sum(tally["count"] for tally in of(trace, "test_stack")) >= 20000
    assert sum(tally["stacks"] for tally in of(trace, "test_stack")) >= 20000


def test_code_addresses_are_listed_once(tmp_path):
    trace = record(tmp_path, "code", probe.LIBRARIES + "/libhprofiler_test.so", options=["--keep"])
    logs = list(tmp_path.glob("hprofiler-*/process-*"))
    assert len(logs) == 1
    lines = re.findall(rb"[0-9a-f]+-[0-9a-f]+ ..x. [^\n]*\n", logs[0].read_bytes())
    assert len(lines) == len(set(lines)), "a mapping is listed twice"
    assert any(b"/runtime_target" in line for line in lines)
    assert any(b"/libhprofiler_test.so" in line for line in lines)
    assert trace.lost() == 0


def test_more_mappings_than_there_is_room_for_are_not_listed_for_ever(tmp_path):
    trace = record(tmp_path, "many_code", 2000, options=["--keep"])
    log = next(tmp_path.glob("hprofiler-*/process-*")).read_bytes()
    assert 2000 <= len(re.findall(rb"[0-9a-f]+-[0-9a-f]+ ..x. ", log)) < 100000
    assert trace.lost() == 0


@pytest.mark.parametrize("options", [[], ["--raw-clock"], ["--no-shared-map"]], ids=lambda options: "".join(options) or "plain")
def test_work_of_a_device_with_a_clock_of_its_own(tmp_path, options):
    for _ in range(3):  # how near the clocks can be brought depends on how often the processor is lost between two readings
        trace = record(tmp_path, "device", 500, options=options)
        lanes = [track for track in trace.json["tracks"] if track["kind"] == "stream"]
        assert [(lane["name"], lane["device"], lane["stream"]) for lane in lanes] == [("test queue", 0, 0)]
        assert [track["name"] for track in trace.json["tracks"] if track["kind"] == "device"] == ["test device"]
        work, launch = lanes[0]["spans"]["test_work"], of(trace, "test_launch")[0]
        assert work["count"] == launch["count"] == trace.json["links"] == 500
        error_ns = int(trace.json["metadata"]["clock.device.0.error_ns"])
        assert work["begin_ns"] >= launch["begin_ns"] - error_ns and work["end_ns"] >= launch["end_ns"] - error_ns
        assert trace.lost("contradict") == 0
        if error_ns < 100000:
            return
    pytest.fail(f"error of {error_ns} ns")


@pytest.mark.parametrize("options", [[], ["--no-shared-map"]], ids=["mapped", "written"])
def test_objects_are_files_of_the_session(tmp_path, options):
    trace = record(tmp_path, "object", 5000, options=["--keep", *options])
    files = sorted(tmp_path.glob("hprofiler-*/object-*"), key=lambda path: path.name.rsplit("-", 1)[1])
    assert [path.stat().st_size for path in files] == [5000, 1]
    assert files[0].read_bytes() == b"\xa5" * 5000
    assert [(row["seen"], row["lost"]) for row in trace.json["ledger"] if row["source"] == "device code"] == [(2, 0)]
