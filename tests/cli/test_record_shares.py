# SPDX-License-Identifier: MIT
"""Whose time it was: an ordinary user's recording without kernel code against measured CPU time and against root's recording;
and what belongs to a recording of a part of the run."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

PROGRAM = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static char block[1 << 20];
static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
__attribute__((noinline)) void in_system_calls(double seconds)
{
    int zero = open("/dev/zero", O_RDONLY);
    for (double end = cpu() + seconds; cpu() < end;)
        if (read(zero, block, sizeof block) < 0)
            return;
}
__attribute__((noinline)) void in_user_code(double seconds)
{
    static volatile unsigned long sink;
    for (double end = cpu() + seconds; cpu() < end;)
        for (unsigned i = 0; i < 20000; i++)
            sink = sink * 6364136223846793005u + i;
}
static void *waits(void *unused)
{
    for (int i = 0; i < 8; i++)
        usleep(200000);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1 && !strcmp(argv[1], "waits")) {
        pthread_create(&thread, NULL, waits, NULL);
        pthread_join(thread, NULL);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "short"))
        return 0;
    memset(block, 1, sizeof block);
    double begin = cpu();
    in_system_calls(0.6);
    double between = cpu();
    in_user_code(0.3);
    printf("%.6f %.6f %.6f\n", between - begin, cpu() - between, cpu());
    return 0;
}
"""


@pytest.fixture(scope="module")
def place(hprofiler):
    """A folder that anybody may use, with the program and hprofiler in it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shares-"))
    folder.chmod(0o777)
    (folder / "shares.c").write_text(PROGRAM)
    subprocess.run([compiler, "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", folder / "shares", folder / "shares.c"], check=True)
    shutil.copy(hprofiler, folder / "hprofiler")
    (folder / "hprofiler").chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def record(place, *options, mode="burn", user=None):
    """The program's own words, the summary, and the summary's text."""
    trace = place / f"{mode}-{user}.hpt"
    who = {"user": user, "group": user, "extra_groups": []} if user else {}
    done = subprocess.run([place / "hprofiler", "run", "--no-summary", "--session-dir", place, "-o", trace, *options, "--", place / "shares",
                           mode], capture_output=True, cwd=place, timeout=60, **who)
    assert done.returncode == 0, done.stderr.decode()
    summary, text = (subprocess.run([place / "hprofiler", "summary", trace, *more], check=True, capture_output=True, timeout=60).stdout
                     for more in (("--format", "json"), ()))
    trace.unlink()
    return done.stdout.decode(), json.loads(summary), " ".join(text.decode().split())


def stolen_ns():
    """CPU time that the hypervisor gave to others, of all CPUs since the boot."""
    return int(pathlib.Path("/proc/stat").read_text().split()[8]) * 1e9 / os.sysconf("SC_CLK_TCK")


def self_ns(summary, name):
    return sum(function["self_ns"] for function in summary["functions"] if function["name"] == name)


@pytest.mark.parametrize("callgraph", [(), ("--perf-callgraph", "fp"), ("--perf-callgraph", "dwarf")])
def test_kernel_time_that_cannot_be_sampled_is_no_user_functions(place, callgraph, measured):
    level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if os.geteuid() != 0 or level != 2:
        pytest.skip("needs root, to become an ordinary user, and kernel.perf_event_paranoid 2")
    before = stolen_ns()
    said, summary, text = record(place, *callgraph, user=65534)
    kernel, user, whole = (float(word) * 1e9 for word in said.split())
    sampling = summary["sampling"]
    near = 0.1 * whole + stolen_ns() - before  # what a hypervisor takes is on a thread's clock, and on no timer's
    assert abs(sampling["excluded_ns"] - kernel) < near
    assert abs(self_ns(summary, "[kernel, not sampled]") - sampling["excluded_ns"]) < 1e6
    assert -near - sampling["unsampled_ns"] < self_ns(summary, "in_user_code") - user < near
    assert abs(sampling["sampled_ns"] + sampling["unsampled_ns"] - whole) < near
    assert abs(sum(thread["cpu_ns"] for thread in summary["threads"]) - sampling["sampled_ns"]) < 1e6
    others = [function["self_ns"] for function in summary["functions"]
              if function["source"] == "samples" and function["name"] not in ("in_user_code", "[kernel, not sampled]")]
    assert max(others, default=0) < near
    assert "could not be sampled: the kernel's code is excluded (kernel.perf_event_paranoid is 2)" in text
    assert "root lifts that" in text
    assert all(not function.get("callers") for function in summary["functions"] if function["name"] == "[kernel, not sampled]")
    _, rooted, rooted_text = record(place, *callgraph)
    share = rooted["sampling"]["kernel_ns"] / rooted["sampling"]["sampled_ns"]
    assert abs(share - sampling["excluded_ns"] / (sampling["sampled_ns"] + sampling["unsampled_ns"])) < 0.1 + (stolen_ns() - before) / whole
    assert rooted["sampling"]["excluded_ns"] == 0 and "could not be sampled" not in rooted_text


@pytest.mark.parametrize("callgraph", [(), ("--perf-callgraph", "dwarf")])
@pytest.mark.parametrize("window", [("--duration", "400ms"), ("--delay", "500ms", "--duration", "400ms"), ("--delay", "1200ms")])
def test_a_recording_of_a_part_ends_with_that_part(place, callgraph, window, measured):
    _, summary, text = record(place, *callgraph, *window, mode="waits")
    assert 1.5e9 < summary["run_ns"] < 10e9
    part = 0.4e9 if "--duration" in window else summary["run_ns"] - 1.2e9  # a busy machine makes the program's own time longer
    assert abs(summary["duration_ns"] - part) < 0.25e9
    threads = summary["threads"]
    assert len(threads) == 2
    for thread in threads:
        assert 0 < thread["life_ns"] <= summary["duration_ns"]
        assert (thread["blocked_ns"] or 0) + (thread["preempted_ns"] or 0) <= summary["duration_ns"]
    assert any(thread["blocked_ns"] > 0.3e9 for thread in threads if thread["blocked_ns"])
    assert re.match(r"shares . ran \d\.\d* s, recorded \d+\.\d+ m?s of it ", text)


def test_a_program_that_ends_before_the_recording_begins_has_no_part(place):
    _, summary, text = record(place, "--delay", "5s", mode="short")
    assert summary["duration_ns"] == 0 and summary["threads"] == []
    assert "ended before the recording began" in text


def test_a_main_thread_lives_no_longer_than_its_program(place):
    for _ in range(5):
        _, summary, _ = record(place, mode="short")
        assert len(summary["processes"]) == 1 and len(summary["threads"]) == 1
        assert 0 < summary["threads"][0]["life_ns"] <= summary["duration_ns"]
        assert "run_ns" not in summary or summary["run_ns"] is None
