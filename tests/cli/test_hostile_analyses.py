# SPDX-License-Identifier: MIT
"""Absurd traces and absurd questions to critical-path, what-if and efficiency: an answer that can be true, or one clear error."""
import json
import subprocess

import pytest

TIMEOUT_S = 60
LONG_NS = 1 << 60
HEAD = '{"displayTimeUnit":"ns","otherData":{"generator":"hprofiler","format":1,"version":"0.1.0"},\n"traceEvents":[\n'
TAIL = '],\n"stackFrames":{},\n"samples":[],\n"metadata":{},\n"hprofiler":'


def microseconds(time_ns):
    return f"{time_ns // 1000}.{time_ns % 1000:03d}"


def write_ranks(path, ranks):
    """A trace in our JSON: for each rank its calls (name, begin, end), as spans of mpi. The n-th calls of all are one collective."""
    events, members = [], []
    for rank, calls in enumerate(ranks):
        for number, (name, begin_ns, end_ns) in enumerate(calls):
            members.append([number, len(events), rank])
            events.append(f'{{"ph":"X","name":"{name}","cat":"mpi","kind":"collective","pid":{rank + 1},"tid":{len(ranks) + 2 + rank},'
                          f'"ts":{microseconds(begin_ns)},"dur":{microseconds(end_ns - begin_ns)},'
                          f'"payload":"collective","args":{{"comm":7,"sequence":{number + 1}}}}}')
    names = [name for name, *_ in ranks[0]]
    world = {"kind": "communicator", "name": "MPI_COMM_WORLD", "size": len(ranks), "ranks": f"0-{len(ranks) - 1}"}
    text = HEAD + ",\n".join(events) + TAIL
    section = {
        "format": 1, "time_shift_ns": 0, "spans": len(events), "instants": 0, "counters": 0, "links": 0, "samples": 0,
        "metadata": [["command", "made"], ["mpi.world_size", str(len(ranks))], ["mpi.comm.7", json.dumps(world)]],
        "nodes": [{"name": "node", "clock_domain": "made:1"}],
        "processes": [{"node": 0, "pid": 100 + r, "rank": r, "start_ns": 0} for r in range(len(ranks))],
        "tracks": [{"kind": "thread", "name": f"rank {r}", "process": r, "tid": 100 + r, "tids": [len(ranks) + 2 + r]}
                   for r in range(len(ranks))],
        "modules": [], "frames": [], "stacks": [],
        "groups": [{"kind": "collective", "name": name, "sequence": n + 1} for n, name in enumerate(names)],
        "ledger": [], "members": members, "offset": len(text)}
    path.write_text(text + json.dumps(section, separators=(",", ":")) + "}\n")
    return path


def ask(hprofiler, command, path, *options):
    done = subprocess.run([hprofiler, command, str(path), *options], capture_output=True, timeout=TIMEOUT_S, text=True)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr[:2000]
    return done


def answer(hprofiler, command, path, *options):
    done = ask(hprofiler, command, path, *options, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refusal(hprofiler, command, path, *options):
    done = ask(hprofiler, command, path, *options)
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1, (done.returncode, done.stderr)
    return done.stderr


@pytest.fixture
def two_ranks(tmp_path):
    return write_ranks(tmp_path / "two.json", [[("MPI_Barrier", 1000, 5000), ("MPI_Barrier", 7000, 9000)],
                                               [("MPI_Barrier", 4000, 5000), ("MPI_Barrier", 8000, 9000)]])


@pytest.mark.parametrize("change", [("--scale", ":1e300"), ("--scale", ":1e18"), ("--scale", "kind=compute:1e300", "--balance", "ranks"),
                                    ("--scale", ":1e300", "--network", "1us,1"), ("--scale", ":1e200", "--scale", ":1e200")])
def test_a_run_of_ages_is_no_prediction(hprofiler, two_ranks, change):
    assert "longer than 73 years" in refusal(hprofiler, "what-if", two_ranks, *change)


def test_a_run_of_years_is_one(hprofiler, two_ranks):
    report = answer(hprofiler, "what-if", two_ranks, "--scale", "kind=compute:1e12")
    assert report["replayed_ns"] == report["measured_ns"]
    assert 6e15 < report["predicted_ns"] < 7e15 # 4 + 3 us of code, less what the path has not


def test_a_window_ends_with_the_processes(hprofiler, two_ranks):
    whole = answer(hprofiler, "efficiency", two_ranks, "--window", ":")["runs"][0]
    wide = answer(hprofiler, "efficiency", two_ranks, "--window", "0:1h")["runs"][0]
    assert wide["end_ns"] == whole["end_ns"] == 9000
    assert wide["threads"] == whole["threads"]
    assert "in the window" in refusal(hprofiler, "efficiency", two_ranks, "--window", "1h:2h")


def test_waits_of_ages_add_up(hprofiler, tmp_path):
    """Each wait is a time, all together are longer than any."""
    ranks = [[("MPI_Barrier", 1000, LONG_NS + 2000)] for _ in range(9)] + [[("MPI_Barrier", LONG_NS + 1000, LONG_NS + 2000)]]
    run = answer(hprofiler, "efficiency", write_ranks(tmp_path / "long.json", ranks))["runs"][0]
    assert run["waited_ns"] == (1 << 63) - 1
    assert all(row["time_ns"] > 0 for row in run["patterns"])


def test_spans_that_are_missing_are_said(hprofiler, two_ranks, tmp_path):
    """A native file of which any one page is damaged: what is whole of a run has no critical path."""
    native, damaged = tmp_path / "two.hpt", tmp_path / "damaged.hpt"
    assert ask(hprofiler, "export", two_ranks, "-o", str(native)).returncode == 0
    content = native.read_bytes()
    missing = 0
    for at in range(4096 + 64, len(content), 4096):
        damaged.write_bytes(content[:at] + bytes([content[at] ^ 0xff]) + content[at + 1:])
        for command, options in (("critical-path", ()), ("what-if", ("--network", "0,inf")), ("efficiency", ())):
            done = ask(hprofiler, command, damaged, *options)
            assert done.returncode in (0, 1), (at, done.stderr)
            missing += "not finished, or damaged" in done.stderr
    assert missing >= 3


def test_a_machine_is_not_off_against_itself(hprofiler, tmp_path):
    """A machine whose clock may be a millisecond off against others', and a kernel that runs one microsecond after its launch: both
    times are of that machine."""
    span = '{{"ph":"X","name":"{}","cat":"cuda","kind":"{}","pid":1,"tid":{},"ts":{},"dur":4.000}}'
    link = '{"ph":"M","name":"hprofiler_link","cat":"launch","ts":0,"pid":1,"tid":3,"id":1,' \
           '"args":{"from":0,"to":1,"kind":"launch","confidence":"certain"}}'
    text = HEAD + ",\n".join([span.format("cudaLaunchKernel", "launch", 3, "1.000"), span.format("saxpy", "kernel", 4, "2.000"), link]) + TAIL
    section = {
        "format": 1, "time_shift_ns": 0, "spans": 2, "instants": 0, "counters": 0, "links": 1, "samples": 0,
        "metadata": [["command", "made"], ["clock.bound_ns.0", "1000000"]], "nodes": [{"name": "node", "clock_domain": "made:1"}],
        "processes": [{"node": 0, "pid": 100, "start_ns": 0}],
        "tracks": [{"kind": "thread", "name": "main", "process": 0, "tid": 100, "tids": [3]},
                   {"kind": "stream", "name": "stream 7", "process": 0, "device": 0, "stream": 7, "tids": [4]}],
        "modules": [], "frames": [], "stacks": [], "groups": [], "ledger": [], "members": [], "offset": len(text)}
    path = tmp_path / "device.json"
    path.write_text(text + json.dumps(section, separators=(",", ":")) + "}\n")
    report = answer(hprofiler, "critical-path", path)
    assert {"rule": "launch", "confidence": "certain", "count": 1} in report["edges"]


@pytest.mark.parametrize("events", ["[]", '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":0}]'])
def test_where_nothing_takes_time_there_is_no_path(hprofiler, tmp_path, events):
    path = tmp_path / "empty.json"
    path.write_text(events)
    done = ask(hprofiler, "critical-path", path)
    assert done.returncode == 0 and "no critical path" in done.stdout and "%" not in done.stdout, done.stdout
    report = answer(hprofiler, "critical-path", path)
    assert (report["length_ns"], report["hops"], report["composition"]) == (0, [], [])
