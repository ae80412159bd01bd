#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares hprofiler's top functions with `perf report`'s on real programs of Debian packages.

Each program runs three times: under perf, under hprofiler, under perf again. For every function that has a share of one
percent or more in any of them the table shows the three shares and what hprofiler may differ by: the sampling error of a
difference of two binomial shares (z = 3.5, so that one false alarm in 2,000 comparisons is expected), plus how far
perf's two runs are apart, which is the program's own unsteadiness. Code without symbols is compared by the function that
the unwind information (.eh_frame) bounds, else by 256-byte range. Needs perf (Debian: linux-perf), and the programs; what is missing is left out and said.

  agree_perf.py [--hprofiler PATH] [--only NAME,...] [--seconds S] [--frequency HZ] [--json FILE]
"""
import argparse
import bisect
import collections
import json
import math
import mmap
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Z = 3.5
RANGE_BYTES = 256
KERNEL = "[kernel]"


# ---- the programs: each prepares its input in a folder and returns the command ----

def noise_file(path, size):
    """Bytes that compress somewhat: words of a small random vocabulary."""
    dice = random.Random(5)
    vocabulary = [bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(4000)]
    with open(path, "wb") as file:
        while file.tell() < size:
            file.write(b" ".join(dice.choices(vocabulary, k=5000)) + b"\n")


def encoder(folder, seconds):
    if shutil.which("x264"):
        dice, frames = random.Random(3), max(8, int(80 * seconds))
        with open(folder / "in.yuv", "wb") as file:
            noise = dice.randbytes(640 * 360 * 3)
            for frame in range(frames):
                file.write(bytes(640 * 90) + noise[frame * 641:frame * 641 + 640 * 270] + bytes([128]) * (640 * 180))
        return ["x264", "--demuxer", "raw", "--input-res", "640x360", "--threads", "2", "--quiet", "-o", "out.264", "in.yuv"]
    noise_file(folder / "in", int(8_000_000 * seconds))
    return ["xz", "-T2", "-4", "-k", "--block-size=1MiB", "-f", "in"]


PYTHON_PROGRAM = """
import sys
def nbody(n):
    bodies = [[i * 1.1, i * 0.7, i * 0.3, 0.0, 0.0, 0.0, 1.0 + i] for i in range(5)]
    for _ in range(n):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1:]:
                dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
                m = 0.01 / (dx * dx + dy * dy + dz * dz) ** 1.5
                a[3] -= dx * b[6] * m; a[4] -= dy * b[6] * m; a[5] -= dz * b[6] * m
        for a in bodies:
            a[0] += 0.01 * a[3]; a[1] += 0.01 * a[4]; a[2] += 0.01 * a[5]
    return bodies
def words(n):
    counts = {}
    for i in range(n):
        word = "w%d" % (i * 7919 % 5003)
        counts[word] = counts.get(word, 0) + len(word)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
size = float(sys.argv[1])
nbody(int(80000 * size)); words(int(2000000 * size))
"""


def interpreter(folder, seconds):
    (folder / "program.py").write_text(PYTHON_PROGRAM)
    return ["/usr/bin/python3", "-S", "program.py", str(seconds)]


CXX_PROGRAM = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <variant>
#include <vector>
template <int N> struct tower { using type = std::map<std::string, std::vector<typename tower<N - 1>::type>>; };
template <> struct tower<0> { using type = std::variant<int, std::string, std::tuple<double, std::shared_ptr<int>>>; };
template <int N> int visit() { typename tower<N>::type all; all["a"].resize(N); return (int)all.size() + visit<N - 1>(); }
template <> int visit<0>() { return 0; }
int main(int argc, char **argv)
{
    std::regex pattern("([a-z]+)=([0-9]*);"); std::smatch match; std::string text = argv[0];
    std::vector<std::function<int(int)>> all; all.push_back([&](int x) { return x + argc; });
    std::sort(text.begin(), text.end());
    return std::regex_search(text, match, pattern) + visit<DEPTH>() + all[0](1);
}
"""


def templates(folder, seconds):
    (folder / "deep.cpp").write_text(CXX_PROGRAM)
    times = max(1, round(seconds / 2))
    return ["sh", "-c", "for i in $(seq %d); do clang++ -std=c++17 -O2 -DDEPTH=$((1 + i)) -c -o deep.o deep.cpp; done" % times]


def parallel_compile(folder, seconds):
    more = re.compile(r'#include <(mpi|omp|CL/.*)\.h>|#include "opencl|#pragma omp')  # needs more than the C library
    sources = [path for path in sorted((ROOT / "tests/apps").glob("*.c")) if not more.search(path.read_text())]
    rounds = max(1, round(seconds / 1.2))
    objects = [f"{source.stem}-{turn}.o" for source in sources for turn in range(rounds)]
    rules = "".join(f"{source.stem}-{turn}.o:\n\tgcc -std=gnu17 -D_GNU_SOURCE -O2 -g -c -o $@ {source}\n"
                    for source in sources for turn in range(rounds))
    (folder / "Makefile").write_text(f"all: {' '.join(objects)}\n{rules}")
    return ["sh", "-c", "rm -f *.o; make -s -j2"]


def stripped(folder, seconds):
    noise_file(folder / "in", int(30_000_000 * seconds))
    return ["gzip", "-9", "-k", "-f", "in"]


PROGRAMS = {  # name: (what it stands for, programs it needs, prepare)
    "encoder": ("multi-threaded encoder", [], encoder),
    "interpreter": ("interpreter", ["/usr/bin/python3"], interpreter),
    "templates": ("C++ with deep templates, no frame pointers", ["clang++"], templates),
    "compile": ("parallel compile that forks and execs", ["make", "gcc"], parallel_compile),
    "stripped": ("stripped program", ["gzip"], stripped),
}


# ---- the two profilers ----

def cpu_seconds(command, folder):
    """Runs a command; CPU seconds of it and all its descendants."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment():
    return {**os.environ, "PYTHONHASHSEED": "0", "LC_ALL": "C", "DEBUGINFOD_URLS": ""}


class Profile:
    """Samples per (module, function or code range)."""

    def __init__(self, counts, total, event):
        self.counts, self.total, self.event = counts, total, event

    def share(self, key):
        return self.counts[key] / self.total if self.total else 0.0


def module_name(text):
    text = text.removesuffix(" (deleted)")
    if "kernel" in text or "guest" in text or text.startswith("["):
        return text if text in ("[vdso]",) else KERNEL
    return os.path.basename(os.path.realpath(text)) if text.startswith("/") else text


def function_name(text):
    """A function without parameters and without the compiler's marks of copies."""
    text = re.sub(r"\s*\[clone [^\]]*\]|\.(isra|part|constprop|cold|lto_priv|localalias)(\.\d+)*|@plt$|@@?[A-Z]\w*[._0-9]*$", "", text)
    text = text.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    depth = 0
    for position, letter in enumerate(text):
        if letter == "<" and not text[:position].endswith("operator"):
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif letter == "(" and depth == 0 and position:
            return text[:position].strip()
    return text.strip()


class CodeRanges:
    """Names code without symbols by where its function begins, as addresses of the file's own virtual memory."""

    def __init__(self):
        self.known, self.paths = {}, {}  # paths: by a module's name; perf report says the name only

    def _load(self, path):
        segments, starts = [], []
        try:
            with open(path, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            table = None
            start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
            for index in range(count):
                kind, _, offset, base, _, length = struct.unpack_from("<IIQQQQ", data, start + index * size)
                if kind == 1:
                    segments.append((offset, base, length))
                elif kind == 0x6474E550:  # PT_GNU_EH_FRAME
                    table = offset, base
            if table and data[table[0] + 3] == 0x3B:  # pairs of 4-byte distances from the table: function, its unwind entry
                rows = struct.unpack_from("<I", data, table[0] + 8)[0]
                for start, entry in struct.iter_unpack("<ii", data[table[0] + 12:table[0] + 12 + 8 * rows]):
                    length = struct.unpack_from("<I", data, table[0] + entry + 12)[0]
                    starts.append((table[1] + start, table[1] + start + length))
        except (OSError, ValueError, struct.error):
            pass
        self.known[path] = segments, starts
        return self.known[path]

    def name(self, path, address, in_file):
        """in_file: the address counts bytes of the file, as perf's do."""
        segments, starts = self.known.get(path) or self._load(path)
        if in_file:
            address = next((address - offset + base for offset, base, length in segments if offset <= address < offset + length), address)
        place = bisect.bisect_right(starts, (address, 1 << 64)) - 1
        if place >= 0 and starts[place][0] <= address < starts[place][1]:
            return f"function at 0x{starts[place][0]:x}"
        return f"code at 0x{address // RANGE_BYTES * RANGE_BYTES:x}"


ranges = CodeRanges()


def name_ranges(profile):
    """Names the nameless addresses that perf left as numbers."""
    for module, symbol in [key for key in profile.counts if isinstance(key[1], int)]:
        name = ranges.name(ranges.paths.get(module, module), symbol, True)
        profile.counts[module, name] += profile.counts.pop((module, symbol))


def perf_profile(command, folder, frequency, event):
    data = folder / "perf.data"
    cpu_seconds(["perf", "record", "-q", "-N", "-B", "-e", event, "-F", str(frequency), "-o", str(data), "--"] + command, folder)
    text = subprocess.run(["perf", "report", "-i", str(data), "--stdio", "-q", "--no-inline", "--no-children", "-n", "-F", "sample,dso,sym",
                           "-t", "\t", "--percent-limit", "0"], capture_output=True, env=environment(), cwd=folder).stdout.decode(errors="replace")
    data.unlink()
    counts = collections.Counter()
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 3 or not fields[0].isdigit():
            continue
        module, symbol = module_name(fields[1]), re.sub(r"^\[.\] ", "", fields[2])
        symbol = int(symbol, 16) if re.fullmatch(r"0x[0-9a-f]+", symbol) else function_name(symbol)
        counts[module, symbol] += int(fields[0])
    return Profile(counts, sum(counts.values()), event)


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], capture_output=True, env=environment())
    if done.returncode:
        sys.exit(f"hprofiler query: {done.stderr.decode()}")
    return json.loads(done.stdout)


def hprofiler_profile(hprofiler, command, folder, frequency):
    """The profile of a run, and the CPU seconds that its samples stand for. Inlined functions count for the one they are in."""
    trace = folder / "agree.hpt"
    cpu_seconds([hprofiler, "run", "--no-summary", "--perf-freq", str(frequency), "-o", str(trace), "--"] + command, folder)
    leaves = {}
    for frame in query(hprofiler, trace, "select stack, depth, name, module from frames where inlined = 0 order by depth"):
        leaves.setdefault(frame["stack"], (frame["module"] or "?", frame["name"]))
    rows = query(hprofiler, trace, "select stack, event, count(*) as n, sum(weight) as ns from samples"
                                   " where event in ('cycles', 'cpu-clock', 'timer') group by stack, event")
    counts, total, weight_ns = collections.Counter(), 0, 0
    for row in rows:
        path, name = leaves.get(row["stack"], ("?", "?"))
        if name == "[kernel, not sampled]":  # perf leaves out what may not be sampled, we say how much it was
            weight_ns += row["ns"]
            continue
        ranges.paths[module_name(path)] = path
        offset = re.fullmatch(r".*\+0x([0-9a-f]+)", name)
        name = ranges.name(path, int(offset.group(1), 16), False) if offset else function_name(name)
        counts[module_name(path), name] += row["n"]
        total, weight_ns = total + row["n"], weight_ns + row["ns"]
    trace.unlink()
    return Profile(counts, total, rows[0]["event"] if rows else "cpu-clock"), weight_ns / 1e9


def merge_aliases(profiles):
    """Functions of several names at one address (memcpy, __memcpy_chk ...) are one: a name that only one side has takes the
    name of its address's other names."""
    paths = {}
    for line in subprocess.run(["ldconfig", "-p"], capture_output=True).stdout.decode().splitlines():
        if "=> " in line:
            path = os.path.realpath(line.split("=> ")[1])
            paths.setdefault(os.path.basename(path), path)
    modules = {key[0] for profile in profiles for key in profile.counts}
    for module in modules & paths.keys():
        names, first = {}, {}
        for line in subprocess.run(["nm", "-D", "-C", "--defined-only", paths[module]], capture_output=True).stdout.decode(errors="replace").splitlines():
            fields = line.split(" ", 2)
            if len(fields) == 3 and fields[1] in "tTwWiIuU":
                name = function_name(fields[2])
                names[name] = first.setdefault(fields[0], name)
        for profile in profiles:
            for key in [key for key in profile.counts if key[0] == module and names.get(key[1], key[1]) != key[1]]:
                profile.counts[module, names[key[1]]] += profile.counts.pop(key)


def considered(profiles):
    """What is compared. A code range that only one side has a name for stays as it is: that disagreement is worth seeing."""
    return {key for profile in profiles for key in profile.counts if profile.share(key) >= 0.01}


# ---- the comparison ----

def compare(first, ours, second):
    """Rows (key, perf, hprofiler, perf again, allowed difference, agrees), by share."""
    merge_aliases([first, ours, second])
    rows = []
    for key in considered([first, ours, second]):
        theirs = (first.counts[key] + second.counts[key]) / max(1, first.total + second.total)
        pooled = (first.counts[key] + second.counts[key] + ours.counts[key]) / max(1, first.total + second.total + ours.total)
        error = Z * math.sqrt(pooled * (1 - pooled) * (1 / max(1, first.total + second.total) + 1 / max(1, ours.total)))
        allowed = error + abs(first.share(key) - second.share(key))
        rows.append((key, first.share(key), ours.share(key), second.share(key), allowed, abs(ours.share(key) - theirs) <= allowed))
    return sorted(rows, key=lambda row: -row[2])


def by_module(profile):
    counts = collections.Counter()
    for (module, _), count in profile.counts.items():
        counts[module, "(all)"] += count
    return Profile(counts, profile.total, profile.event)


def measure(hprofiler, name, seconds, frequency):
    """Runs one program all three times; a dict with its rows, or a reason why not."""
    what, needs, prepare = PROGRAMS[name]
    missing = [need for need in needs if not shutil.which(need)]
    if missing:
        return {"name": name, "skipped": f"{', '.join(missing)} is missing"}
    event = "cycles" if os.path.exists("/sys/bus/event_source/devices/cpu") else "cpu-clock"
    with tempfile.TemporaryDirectory(prefix="agree-") as folder:
        folder = pathlib.Path(folder)
        command = prepare(folder, seconds)
        bare_cpu_s = cpu_seconds(command, folder)
        first = perf_profile(command, folder, frequency, event)
        ours, weighed_s = hprofiler_profile(hprofiler, command, folder, frequency)
        second = perf_profile(command, folder, frequency, event)
    name_ranges(first)
    name_ranges(second)
    rows = compare(first, ours, second)
    modules = compare(by_module(first), by_module(ours), by_module(second))
    return {"name": name, "what": what, "command": " ".join(command), "samples": [first.total, ours.total, second.total], "event": ours.event,
            "bare_cpu_s": bare_cpu_s, "weighed_s": weighed_s, "rows": modules + rows}


def show(result):
    if "skipped" in result:
        print(f"{result['name']}: left out: {result['skipped']}\n")
        return True
    wrong = [row for row in result["rows"] if not row[5]]
    print(f"{result['name']}: {result['what']}: {result['command']}")
    print(f"  samples: perf {result['samples'][0]}, hprofiler {result['samples'][1]} ({result['event']}), perf again {result['samples'][2]};"
          f" CPU time: bare {result['bare_cpu_s']:.2f} s, weight of hprofiler's samples {result['weighed_s']:.2f} s")
    print(f"  {'perf':>7} {'hprof':>7} {'perf':>7} {'may differ':>10}")
    for (module, symbol), first, ours, second, allowed, agrees in result["rows"]:
        print(f"  {first:7.2%} {ours:7.2%} {second:7.2%} {allowed:10.2%}  {'' if agrees else 'DIFFERS '}{module} {symbol[:70]}")
    print(f"  {len(result['rows'])} compared, {len(wrong)} outside\n")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hprofiler", default=os.environ.get("HPROFILER_BIN", str(ROOT / "build/bin/hprofiler")))
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=4.0, help="rough length of each run")
    parser.add_argument("--frequency", type=int, default=999)
    parser.add_argument("--json", help="write the figures here too")
    options = parser.parse_args()
    if not shutil.which("perf"):
        sys.exit("perf is missing (Debian: linux-perf)")
    results = [measure(options.hprofiler, name, options.seconds, options.frequency) for name in options.only.split(",")]
    agree = [show(result) for result in results]
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    sys.exit(0 if all(agree) else 1)


if __name__ == "__main__":
    main()
