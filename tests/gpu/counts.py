#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exact counts, times and identities of CUDA programs on a machine with an NVIDIA GPU, as a table.

  tests/gpu/counts.py [-j JOBS] HPROFILER PROGRAM...      programs: builds of tests/gpu/cuda_counts.cu

Each mode of each program runs alone and profiled; what the trace holds is compared with what the program says it did, and for some
modes with what must stand in the fields. The mode `in_flight` ends with kernels under way: what has no record must stand in the ledger."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

MODES = ["plain", "graph", "graphs", "conditional", "driver", "nvrtc", "threads", "events", "order", "nvtx", "names", "spins", "replays", "pools",
         "managed", "fork", "fork_in_flight", "processes", "reset", "aborted", "client_first", "client_second"]


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"query failed: {done.stderr}")
    return json.loads(done.stdout)


def number(hprofiler, trace, sql):
    return list(query(hprofiler, trace, sql)[0].values())[0]


def expected(output):
    return {word: value for word, value in (line.split() for line in output.splitlines() if len(line.split()) == 2)}


def spans(hprofiler, trace, where):
    rows = query(hprofiler, trace, "select s.name, s.kind, s.begin_ns, s.end_ns, s.args, t.name as lane, t.stream as stream from spans s "
                 f"join tracks t on t.id = s.track where {where} order by s.begin_ns")
    return [{**row, "args": json.loads(row["args"] or "{}")} for row in rows]


def order_problems(hprofiler, trace):
    """Each recording, wait and synchronisation names what it must; what it waits for is over when it goes on."""
    problems = []
    calls = spans(hprofiler, trace, "json_extract(s.args, '$.what') is not null")
    kernels = spans(hprofiler, trace, "s.kind in ('kernel', 'copy')")
    starts = {row["launch"]: row["begin"] for row in query(
        hprofiler, trace, "select l.to_span as launch, a.begin_ns as begin from links l join spans a on a.id = l.from_span where l.kind = 'launch'")}
    ids = {(row["b"], row["t"]): row["i"] for row in query(
        hprofiler, trace, "select s.begin_ns as b, t.stream as t, s.id as i from spans s join tracks t on t.id = s.track where s.kind in ('kernel', 'copy')")}
    for kernel in kernels:
        kernel["launched"] = starts.get(ids[kernel["begin_ns"], kernel["stream"]], 0)

    def before(stream, time):
        return [kernel for kernel in kernels if kernel["stream"] == stream and kernel["launched"] < time]

    records = {}
    numbers = []
    for call in calls:
        args = call["args"]
        if args["what"] == "event record" and not args.get("captured"):
            records[args["record"]] = call
            numbers.append(args["record"])
        if args["what"] in ("event record", "stream wait", "stream") and not ("stream" in args and "context" in args):
            problems.append(f"{call['name']} without stream or context")
    if len(set(numbers)) != len(numbers) or len(numbers) != 8:
        problems.append(f"recordings numbered {numbers}")
    captured = sum(1 for call in calls if call["args"].get("captured"))
    if captured != 4:
        problems.append(f"{captured} of 4 captured calls")
    never = [call for call in calls if call["args"].get("record") == 0]
    if len(never) != 1 or never[0]["name"] != "cudaEventSynchronize":
        problems.append("the event that never was recorded")
    for call in calls:
        args = call["args"]
        covered = records.get(args.get("record"))
        if args["what"] == "event":
            done = before(covered["args"]["stream"], covered["begin_ns"]) if covered else []
        elif args["what"] == "stream":
            done = before(args["stream"], call["begin_ns"])
        elif args["what"] == "context":
            done = [kernel for kernel in kernels if kernel["launched"] < call["begin_ns"]]
        else:
            done = []
        late = [kernel for kernel in done if kernel["end_ns"] > call["end_ns"]]
        if late:
            problems.append(f"{call['name']} returned {(late[0]['end_ns'] - call['end_ns']) / 1e3:.1f} us before what it waits for")
        if args["what"] == "stream wait" and covered:
            later = [kernel for kernel in kernels if kernel["stream"] == args["stream"] and kernel["launched"] > call["end_ns"]]
            covered_work = before(covered["args"]["stream"], covered["begin_ns"])
            if later and covered_work and later[0]["begin_ns"] < covered_work[-1]["end_ns"]:
                problems.append("work behind a stream's wait began too early")
    lanes = {row["name"] for row in query(hprofiler, trace, "select name from tracks where kind = 'stream'")}
    for sort in ("(default)", "(non-blocking)"):
        if not any(sort in lane for lane in lanes) and "(thread's default)" not in " ".join(lanes):
            problems.append(f"no lane is {sort}: {sorted(lanes)}")
    free = spans(hprofiler, trace, "s.name = 'cudaFree'")
    busy = [kernel for kernel in kernels if free and kernel["launched"] < free[-1]["begin_ns"] and kernel["end_ns"] > free[-1]["end_ns"]]
    if busy or not free or free[-1]["args"].get("blocking") != 1:
        problems.append("cudaFree did not wait")
    return problems


def names_problems(hprofiler, trace):
    names = {row["name"] for row in query(hprofiler, trace, "select name from tracks")}
    return [f"no track is named {wanted}" for wanted in ("solver worker number one", "the fast one", "halo exchange: stream")
            if not any(name and name.startswith(wanted) for name in names)]


def pools_problems(hprofiler, trace):
    peaks = {row["name"]: row["peak"] for row in query(
        hprofiler, trace, "select name, max(value) as peak from counters where unit = 'By' group by 1")}
    last = {row["name"]: row["value"] for row in query(
        hprofiler, trace, "select name, value, max(time_ns) from counters where unit = 'By' group by 1")}
    wanted = {"allocated: device": 8 << 20, "allocated: pinned": 1 << 20}
    return [f"{name}: peak {peaks.get(name)}, at last {last.get(name)}" for name, peak in wanted.items()
            if peaks.get(name) != peak or last.get(name) != 0] + [
        f"no {name}" for name in ("pool 1: used", "pool 1: reserved") if not peaks.get(name)]


def managed_problems(hprofiler, trace):
    kinds = {row["name"]: row["n"] for row in query(hprofiler, trace, "select name, count(*) as n from spans where name like 'migration %' or kind = 'fault' group by 1")}
    return [f"no {name}: {kinds}" for name in ("migration host to device", "migration device to host", "GPU page fault", "CPU page fault") if not kinds.get(name)]


def built_problems(hprofiler, trace):
    n = number(hprofiler, trace, "select count(*) from spans s join tracks t on t.id = s.track where s.kind = 'build' and t.name = 'code made at run time'")
    return [] if n else ["nothing was compiled at run time"]


FURTHER = {"order": order_problems, "names": names_problems, "pools": pools_problems, "managed": managed_problems, "nvrtc": built_problems,
           "driver": built_problems}


def counted(output):
    """What a program says, without the times that it measured itself."""
    return [line for line in output.splitlines() if not line.partition(" ")[0].endswith("_us")]


def check(hprofiler, program, mode, folder):
    trace = folder / f"{pathlib.Path(program).name}-{mode}.hpt"
    bare = subprocess.run([program, mode], capture_output=True, text=True, timeout=120)
    done = subprocess.run([hprofiler, "run", "-b", "cuda", "--no-summary", "-o", trace, "--", program, mode], capture_output=True,
                          text=True, timeout=120)
    problems = []
    status = 128 - bare.returncode if bare.returncode < 0 else bare.returncode
    if done.returncode != status or counted(done.stdout) != counted(bare.stdout):
        problems.append(f"output or status differ: {done.returncode} instead of {status} {done.stderr[-200:]}")
    for word, value in expected(done.stdout).items():
        if word not in ("kernel", "copy", "fill", "range"):
            continue
        seen = number(hprofiler, trace, f"select count(*) from spans where kind = '{word}' and name not like 'migration %'")
        if seen != int(value):
            problems.append(f"{word}: {seen} of {value}")
    early = number(hprofiler, trace, "select count(*) from links l join spans a on a.id = l.from_span join spans b on b.id = l.to_span "
                   "where l.kind = 'launch' and b.begin_ns < a.begin_ns")
    links = number(hprofiler, trace, "select count(*) from links where kind = 'launch'")
    negative = number(hprofiler, trace, "select count(*) from spans where end_ns < begin_ns")
    lost = number(hprofiler, trace, "select coalesce(sum(lost), 0) from ledger")
    if early or negative or (lost and mode != "client_first"):  # there the calls that launched are not seen
        problems.append(f"before their launch {early}, negative {negative}, lost {lost}")
    problems += FURTHER[mode](hprofiler, trace) if mode in FURTHER else []
    print(f"{pathlib.Path(program).name:20} {mode:14} links {links:6} {'ok' if not problems else '; '.join(problems)}", flush=True)
    return not problems


def check_in_flight(hprofiler, program, folder):
    trace = folder / f"{pathlib.Path(program).name}-in_flight.hpt"
    subprocess.run([hprofiler, "run", "-b", "cuda", "--no-summary", "-o", trace, "--", program, "in_flight"], capture_output=True, timeout=120)
    seen = number(hprofiler, trace, "select count(*) from spans where kind = 'kernel'")
    missing = number(hprofiler, trace, "select coalesce(sum(lost), 0) from ledger where source = 'cuda kernels'")
    print(f"{pathlib.Path(program).name:20} in_flight      ended {seen}, told as missing {missing}: {'ok' if seen + missing == 100 else 'wrong'}")
    return seen + missing == 100


def check_whole_graphs(hprofiler, program, folder):
    """With --cuda-graphs whole a launch of a graph is one span; with --call-tree nodes have the stack of the call that made them."""
    trace = folder / f"{pathlib.Path(program).name}-whole.hpt"
    run = [hprofiler, "run", "-b", "cuda", "--no-summary", "-o", trace]
    subprocess.run([*run, "--cuda-graphs", "whole", "--", program, "graph"], capture_output=True, timeout=120)
    graphs = spans(hprofiler, trace, "s.kind in ('graph', 'kernel')")
    whole = len(graphs) == 20 and all(span["args"].get("opaque") == 1 for span in graphs)
    done = []
    for mode in ("graph", "graphs"):
        subprocess.run([*run, "--call-tree", "--", program, mode], capture_output=True, timeout=120)
        done.append(number(hprofiler, trace, "select count(*) from spans s join frames f on f.stack = s.stack where s.kind = 'kernel' and "
                           "f.name like '%cudaLaunchKernel%' or s.kind = 'kernel' and f.name like '%GraphAddKernelNode%'"))
        done.append(number(hprofiler, trace, "select count(*) from spans where kind = 'kernel' and stack is not null and stack >= 0"))
    print(f"{pathlib.Path(program).name:20} whole graphs {len(graphs)} of 20; stacks of nodes {done}: {'ok' if whole and done[1] == 200 and done[3] == 160 else 'wrong'}")
    return whole and done[1] == 200 and done[3] == 160


def main():
    arguments = sys.argv[1:]
    jobs = int(arguments[1]) if arguments[:1] == ["-j"] else 1
    arguments = arguments[2:] if arguments[:1] == ["-j"] else arguments
    if len(arguments) < 2:
        sys.exit(__doc__)
    hprofiler, programs = arguments[0], arguments[1:]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        folder = pathlib.Path(name)
        work = [pool.submit(check, hprofiler, program, mode, folder) for program in programs for mode in MODES]
        work += [pool.submit(one, hprofiler, program, folder) for program in programs for one in (check_in_flight, check_whole_graphs)]
        results = [each.result() for each in work]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
