# SPDX-License-Identifier: MIT
"""A part of a trace: `export --window` and `--where` into any format, and what the summary says of it."""
import json
import shutil
import subprocess

import pytest

SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *work(void *name)
{
    pthread_setname_np(pthread_self(), name);
    for (double end = now() + 0.4; now() < end;)
        for (int i = 0; i < 10000; i++)
            sink += i;
    usleep(600000);
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, "worker-1");
    pthread_create(&threads[1], 0, work, "worker-2");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 3;
}
"""


def sleepers(hprofiler, trace):
    """When the last of the long sleeps began, when the first ended, and how many there are."""
    return query(hprofiler, trace, "select max(begin_ns) as since, min(end_ns) as until, count(*) as n from spans where kind = 'blocked' and "
                 "end_ns - begin_ns > 300000000")[0]


@pytest.fixture(scope="module")
def recording(hprofiler, tmp_path_factory):
    """A trace of two threads that work, then sleep for 0.6 s; on a busy machine not always at the same time, so that more than one is asked for."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("part")
    (folder / "workers.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-pthread", "-o", folder / "workers", folder / "workers.c"], check=True)
    trace = folder / "workers.hpt"
    for _ in range(5):
        done = subprocess.run([hprofiler, "run", "-o", trace, "--", folder / "workers"], capture_output=True, text=True)
        assert done.returncode == 3, done.stderr
        asleep = sleepers(hprofiler, trace)
        if asleep["n"] == 3 and asleep["until"] > asleep["since"] + 250_000_000:
            break
    return trace


def summary(hprofiler, trace, *options):
    done = subprocess.run([hprofiler, "summary", "--format", "json", *options, trace], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", trace, sql, "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def off_cpu(hprofiler, trace):
    found = summary(hprofiler, trace)["sampling"]["blocked_ns"]
    if found is None:
        pytest.skip("no context switches can be recorded here")
    return found


@pytest.mark.parametrize("ending", ["json", "hpt"])
def test_a_window_holds_no_more_time_than_it_has(hprofiler, recording, tmp_path, ending):
    off_cpu(hprofiler, recording)
    part = tmp_path / f"part.{ending}"
    begin_s = sleepers(hprofiler, recording)["since"] / 1e9 + 0.01
    subprocess.run([hprofiler, "export", "--window", f"{begin_s:.9f}:{begin_s + 0.2:.9f}", "-o", part, recording], check=True, timeout=60)
    found = summary(hprofiler, part)
    assert found["duration_ns"] == 200_000_000
    assert len(found["threads"]) == 3
    for thread in found["threads"]:
        assert thread["life_ns"] <= 200_000_000
        spent = thread["cpu_ns"] + (thread["blocked_ns"] or 0) + (thread["preempted_ns"] or 0)
        assert spent <= 205_000_000  # a sample stands for what was before it
    assert 590_000_000 < found["sampling"]["blocked_ns"] <= 600_000_000  # all three sleep
    assert found["overhead_ns"] is None  # is the whole run's


def test_a_filter_makes_a_native_trace(hprofiler, recording, tmp_path):
    off_cpu(hprofiler, recording)
    part = tmp_path / "part.hpt"
    subprocess.run([hprofiler, "export", "--where", "thread=worker-1", "-o", part, recording], check=True)
    found, whole = summary(hprofiler, part), summary(hprofiler, recording, "--where", "thread=worker-1")
    assert [thread["name"] for thread in found["threads"]] == ["worker-1"]
    for key in ("sampled_ns", "blocked_ns", "preempted_ns"):
        assert found["sampling"][key] == whole["sampling"][key]
    assert whole["sampling"]["blocked_ns"] > 500_000_000


def test_times_off_the_cpu_are_unknown_where_other_spans_are_asked_for(hprofiler, recording):
    off_cpu(hprofiler, recording)
    found = summary(hprofiler, recording, "--where", "name=work*")
    assert found["sampling"]["blocked_ns"] is None and found["sampling"]["preempted_ns"] is None
    assert all(thread["blocked_ns"] is None for thread in found["threads"])
    text = subprocess.run([hprofiler, "summary", "--where", "name=work*", recording], capture_output=True, text=True).stdout
    assert "off CPU" not in text
    found = summary(hprofiler, recording, "--where", "kind=blocked")
    assert found["sampling"]["blocked_ns"] > 0


FORKS = r"""
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(void)
{
    volatile double sink = 0;
    for (double end = now() + 0.8; now() < end;) {
#pragma omp parallel num_threads(2)
        for (double until = now() + 0.01; now() < until;)
            ;
        for (int i = 0; i < 1000000; i++)
            sink += i;
    }
    return 0;
}
"""


def answer(hprofiler, command, trace, *options):
    done = subprocess.run([hprofiler, command, trace, "--format", "json", *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_analyses_of_a_window_count_no_time_outside_of_it(hprofiler, tmp_path):
    compiler = shutil.which("clang") or shutil.which("gcc")
    (tmp_path / "forks.c").write_text(FORKS)
    built = compiler and subprocess.run([compiler, "-O1", "-fopenmp", "-o", tmp_path / "forks", tmp_path / "forks.c"], capture_output=True, text=True)
    if not built or built.returncode:
        pytest.skip("no compiler for OpenMP" + (f": {built.stderr}" if built else ""))
    trace, part = tmp_path / "forks.hpt", tmp_path / "part.hpt"
    subprocess.run([hprofiler, "run", "-o", trace, "--", tmp_path / "forks"], capture_output=True, check=True, timeout=60)
    first, = query(hprofiler, trace, "select min(begin_ns) as begin_ns from spans where category = 'openmp'")
    if first["begin_ns"] is None:
        pytest.skip("this OpenMP runtime does not say what it does")
    inside, = query(hprofiler, trace, f"select min(begin_ns) as begin_ns from spans where kind = 'parallel' and begin_ns >= {first['begin_ns'] + 200_000_000}")
    begin_s = inside["begin_ns"] / 1e9 - 0.001
    subprocess.run([hprofiler, "export", "--window", f"{begin_s:.9f}:{begin_s + 0.2:.9f}", "-o", part, trace], check=True, timeout=60)
    assert 0 < answer(hprofiler, "critical-path", part)["makespan_ns"] <= 200_000_000
    run = answer(hprofiler, "efficiency", part)["runs"][0]
    assert run["end_ns"] - run["begin_ns"] == 200_000_000
    whole = answer(hprofiler, "efficiency", trace)["runs"][0]
    assert whole["end_ns"] - whole["begin_ns"] >= 700_000_000
