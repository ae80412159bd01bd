# SPDX-License-Identifier: MIT
"""Our stacks against gdb's at the same instruction, on a corpus built in many ways."""
import json
import os
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = os.environ.get("HP_UNWIND_PROBE", "")
PLACES = int(os.environ.get("HP_UNWIND_PLACES", "40"))

C = os.path.join(HERE, "corpus_c.c")
CPP = os.path.join(HERE, "corpus_cpp.cpp")
RUST = os.path.join(HERE, "corpus_rust.rs")

# name, compiler, flags, source, libraries; "least" is the share of gdb's stacks that ours must equal or surpass
PROGRAMS = [
    ("gcc-O0", "gcc", ["-O0", "-g"], C, ["-lm"]),
    ("gcc-O2-no-frame-pointer", "gcc", ["-O2", "-fomit-frame-pointer"], C, ["-lm"]),
    ("gcc-O3-native", "gcc", ["-O3", "-march=native", "-g"], C, ["-lm"]),
    ("gcc-O2-no-pie-stripped", "gcc", ["-O2", "-no-pie", "-Wl,--export-dynamic-symbol=work_start", "-s"], C, ["-lm"]),
    ("gcc-O2-static", "gcc", ["-O2", "-static"], C, ["-lm"]),
    ("gcc-O2-static-pie", "gcc", ["-O2", "-static-pie", "-fPIE"], C, ["-lm"]),
    ("gcc-O2-bind-now-no-plt", "gcc", ["-O2", "-Wl,-z,now", "-fno-plt"], C, ["-lm"]),
    ("gcc-O2-cf-protection-none", "gcc", ["-O2", "-fcf-protection=none", "-Wl,-z,lazy"], C, ["-lm"]),
    ("gcc-O2-debug-frame-compressed", "gcc", ["-O2", "-g", "-gz", "-fno-asynchronous-unwind-tables"], C, ["-lm"]),
    ("clang-O2", "clang", ["-O2"], C, ["-lm"]),
    ("clang-O2-lld", "clang", ["-O2", "-fuse-ld=lld"], C, ["-lm"]),
    ("musl-O2", "musl-gcc", ["-O2", "-g"], C, ["-lm"]),
    ("musl-O2-static", "musl-gcc", ["-O2", "-g", "-static"], C, ["-lm"]),
    ("g++-O2", "g++", ["-O2"], CPP, []),
    ("g++-O2-static", "g++", ["-O2", "-static"], CPP, []),
    ("clang++-O2", "clang++", ["-O2", "-g"], CPP, []),
    ("rustc-O", "rustc", ["-O"], RUST, []),
    ("rustc-debug", "rustc", ["-g"], RUST, []),
]


def build(tmp_path, compiler, flags, source, libraries):
    if not shutil.which(compiler):
        pytest.skip(compiler + " is not installed")
    program = str(tmp_path / "program")
    result = subprocess.run([compiler] + flags + ["-o", program, source] + libraries, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True)
    if result.returncode:
        pytest.skip("%s %s cannot build it: %s" % (compiler, " ".join(flags), result.stdout.strip().splitlines()[-1:]))
    return program


def collect(program, places, start="work_start", arguments=(), step=400):
    environment = dict(os.environ, HP_UNWIND_PLACES=str(places), HP_UNWIND_START=start, HP_UNWIND_STEP=str(step))
    result = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", os.path.join(HERE, "gdb_compare.py"), "--args", program]
                            + list(arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, errors="replace", timeout=240, stdin=subprocess.DEVNULL)
    found = [json.loads(line[6:]) for line in result.stdout.splitlines() if line.startswith("PLACE ")]
    assert len(found) >= places // 2, result.stdout[-3000:]
    return found


def judge(place):
    """'same', 'deeper' (ours goes on where gdb's ends), 'guessed' (gdb's went astray), 'shorter' or 'different'."""
    ours = [frame[0] for frame in place["ours"]]
    theirs = [frame[0] for frame in place["gdb"]]
    if place["gdb_end"] == "not code" and len(theirs) > len(ours) and ours == theirs[:len(ours)]:
        return "guessed"
    if ours == theirs:
        return "same"
    if ours[:len(theirs)] == theirs:
        return "deeper"
    if theirs[:len(ours)] == ours:
        return "shorter"
    return "different"


def report(name, places):
    counts = {"same": 0, "deeper": 0, "guessed": 0, "shorter": 0, "different": 0}
    roots = 0
    examples = []
    for place in places:
        verdict = judge(place)
        counts[verdict] += 1
        roots += place["end"] == "root"
        if verdict in ("shorter", "different") and len(examples) < 3:
            examples.append("%s, ours ended by %s, gdb by %s\n  ours %s\n  gdb  %s" % (
                verdict, place["end"], place["gdb_end"],
                " ".join("%x:%s" % tuple(frame) for frame in place["ours"]),
                " ".join("%x:%s" % tuple(frame[:2]) for frame in place["gdb"])))
    print("%-32s %d places: %s; root reached %d" % (name, len(places), counts, roots))
    return counts, roots, examples


@pytest.mark.parametrize("name,compiler,flags,source,libraries", PROGRAMS, ids=[program[0] for program in PROGRAMS])
def test_stacks_agree_with_gdb(tmp_path, name, compiler, flags, source, libraries):
    if not PROBE or not shutil.which("gdb"):
        pytest.skip("gdb is not installed" if PROBE else "HP_UNWIND_PROBE is not set")
    places = collect(build(tmp_path, compiler, flags, source, libraries), PLACES)
    counts, roots, examples = report(name, places)
    wrong = counts["shorter"] + counts["different"]
    assert wrong <= len(places) // 50, "\n".join(examples)
