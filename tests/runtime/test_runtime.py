# SPDX-License-Identifier: MIT
"""The runtime as a guest: everything is recorded once, whatever the host does, and the host does not notice."""
import os
import shutil
import subprocess

import pytest

import probe
from probe import record

ROOT = os.geteuid() == 0
# How often what is statistical is asked at most: a machine may freeze whom it likes for seconds.
RUNS = 3
# A sanitized recorder takes ten times as long for a record; the target, which is none, makes them as fast as ever.
MANY = 600000 if os.environ.get("HP_SANITIZED") else 3000000


@pytest.mark.parametrize("options", [[], ["--raw-clock"], ["--no-shared-map"], ["--no-drain"]], ids=lambda o: "".join(o) or "plain")
def test_every_record_arrives_once(tmp_path, options):
    trace = record(tmp_path, "plain", 3000, options=options)
    assert trace.ranges() == [(1, 3000)]
    assert trace.json["instants"] == 1 and trace.json["counters"] == 2 and trace.json["links"] == 1
    assert trace.count("test_launch") == 1 and trace.count("test_work") == 1
    assert trace.lost() == 0


def test_times_are_those_of_the_run(tmp_path):
    for options in ([], ["--raw-clock"]):
        trace = record(tmp_path, "plain", 200, options=options)
        assert 0 < trace.json["begin_ns"] < trace.json["end_ns"] < 20e9


def test_many_chunks_are_packed_and_recycled(tmp_path):
    for _ in range(RUNS):
        trace = record(tmp_path, "burst", MANY)
        assert trace.count("test_call") + trace.lost() == MANY
        if trace.lost() < MANY * 2 // 3:  # on a busy machine the recorder may lag; nothing vanishes uncounted
            return
    pytest.fail(f"{trace.lost()} of {MANY} are lost")


def test_names_beyond_the_first_table(tmp_path):
    trace = record(tmp_path, "strings", 60000)
    spans = {name: tally["count"] for track in trace.threads() for name, tally in track["spans"].items()}
    assert len(spans) == 20000 and set(spans.values()) == {3}


def test_threads_each_on_a_track(tmp_path):
    trace = record(tmp_path, "threads", 20, 5000)
    assert trace.ranges() == [(1, 5000)] * 20


def test_two_thousand_threads(tmp_path):
    trace = record(tmp_path, "threads", 2000, 10)
    assert trace.ranges() == [(1, 10)] * 2000
    assert trace.lost() == 0


def test_chunks_of_ended_threads_are_used_again(tmp_path):
    trace = record(tmp_path, "short_threads", 500)
    assert sum(greatest for _, greatest in trace.ranges()) == 1500


def test_fork(tmp_path):
    trace = record(tmp_path, "fork")
    assert trace.ranges() == [(1, 30), (101, 120), (1001, 1030)]
    assert len(trace.processes) == 3
    assert sorted(process["parent"] for process in trace.processes)[0] == -1


def test_fork_past_the_c_library(tmp_path):
    assert record(tmp_path, "raw_fork").ranges() == [(1, 20), (101, 120)]


def test_fork_inside_a_traced_call(tmp_path):
    trace = record(tmp_path, "fork_inside")
    assert trace.ranges() == [(1, 9), (101, 103)]
    assert trace.count("test_call") == 1


def test_vfork_and_spawn(tmp_path):
    assert record(tmp_path, "vfork").ranges() == [(1, 30)]


def test_exec_chain(tmp_path):
    trace = record(tmp_path, "exec", 3)
    assert trace.ranges() == [(1, 10), (101, 110), (201, 210), (301, 310)]
    assert sorted(process["generation"] for process in trace.processes) == [0, 1, 2, 3]


@pytest.mark.parametrize("how", ["return", "pthread_exit"])
def test_threads_that_outlive_main(tmp_path, how):
    trace = record(tmp_path, "outlive", how, status=0 if how == "return" else 14)
    assert len(trace.tallies("step")) == 3
    for tally in trace.tallies("step"):
        assert tally["least"] == 1


def test_exit_handlers_and_destructors(tmp_path):
    assert record(tmp_path, "exit").ranges() == [(1, 30)]


def test_quick_exit(tmp_path):
    assert record(tmp_path, "quick_exit", status=3 << 8).ranges() == [(1, 10)]


def test_destructors_of_thread_keys(tmp_path):
    trace = record(tmp_path, "thread_destructor")
    assert sum(tally["count"] for tally in trace.tallies("step")) == 10


def test_handlers_that_interrupt_the_writer(tmp_path):
    trace = record(tmp_path, "signals", 2000)
    done, handled = map(int, trace.output[0].split())
    assert handled >= 500
    assert trace.ranges("step") == [(1, done)]
    assert trace.ranges("in handler") == [(1, handled)]


def test_longjmp_out_of_a_call(tmp_path):
    trace = record(tmp_path, "longjmp")
    assert trace.ranges() == [(1, 10)]
    assert trace.count("test_call") == 10


def test_nested_calls_of_a_layer_count_once(tmp_path):
    assert record(tmp_path, "nested").count("test_call") == 10


def test_errno_is_kept(tmp_path):
    assert record(tmp_path, "errno").output == ["0"]


def test_host_closes_all_descriptors(tmp_path):
    trace = record(tmp_path, "close_all")
    (least, greatest), = trace.ranges()
    assert least == 1 and greatest + trace.lost() == 200000


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_chroot_stays_in_the_chunks_it_has(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    assert record(sessions, "chroot", root).ranges() == [(1, 20)]


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_dropped_privileges(tmp_path):
    assert record(tmp_path, "setuid").ranges() == [(1, 20)]


@pytest.mark.parametrize("how", ["prctl", "syscall"])
def test_seccomp_that_kills_on_any_file_call(tmp_path, how):
    trace = record(tmp_path, "seccomp", how)
    assert trace.ranges() == [(1, 20)]
    assert trace.count("test_call") + trace.lost("seccomp") == 1000000


@pytest.mark.parametrize("which,limit,count", [("fsize", 100000, 100000), ("nofile", 3, 100000), ("as", 400000000, 1000000)])
def test_resource_limits(tmp_path, which, limit, count):
    trace = record(tmp_path, "limit", which, limit, count)
    assert trace.count("test_call") > 0
    assert trace.count("test_call") + trace.lost() == count


def test_limit_on_all_chunks(tmp_path):
    trace = record(tmp_path, "burst", 200000, options=["--chunk-limit", "200000", "--no-drain"])
    assert trace.lost("limit") > 100000
    assert trace.count("test_call") + trace.lost() == 200000


def test_full_disk(tmp_path):
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("cannot mount a small file system")
    try:
        trace = record(tmp_path, "burst", 400000, options=["--no-drain"])
        assert trace.lost("disk full") > 0
        assert trace.count("test_call") + trace.lost() == 400000
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_flight_recorder_keeps_the_newest(tmp_path):
    trace = record(tmp_path, "plain", MANY, options=["--buffer-limit", str(MANY * 8 // 3)])
    tally, = trace.tallies("step")
    starved = trace.lost() - trace.lost("recycled") # a recorder that gets no time gives no chunks back
    assert tally["least"] > 1 and tally["greatest"] > MANY - 100000 - starved
    assert trace.lost("recycled") > MANY // 30
    assert trace.lost() + trace.count("step") >= MANY


def test_inactive_session_records_nothing(tmp_path):
    trace = record(tmp_path, "plain", 1000, options=["--inactive"])
    assert trace.json["spans"] == 0 and trace.lost() == 0


def test_dlclose(tmp_path):
    library = os.path.join(probe.LIBRARIES, "libhprofiler_test.so")
    assert record(tmp_path, "dlclose", library, options=["--no-preload"]).ranges() == [(1, 2)]


def test_a_session_of_another_major_switches_off(tmp_path):
    done = subprocess.run(probe.arguments(["--leave", "--no-preload"], ["/bin/true"], tmp_path), capture_output=True, text=True)
    directory, = tmp_path.iterdir()
    header = bytearray((directory / "session").read_bytes())
    header[8] += 1
    (directory / "session").write_bytes(header)
    library = os.path.join(probe.LIBRARIES, "libhprofiler_test.so")
    done = subprocess.run([probe.TARGET, "plain", "100"], env={**os.environ, "LD_PRELOAD": library, "HPROFILER_SESSION": str(directory)},
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    notes = list(directory.glob("note-*"))
    assert len(notes) == 1 and "another format" in notes[0].read_text()
    assert not list(directory.glob("process-*"))


@pytest.mark.parametrize("value", ["", "relative", "/nonexistent", "/", "/tmp", "/" + "x" * 5000])
def test_senseless_session_is_ignored(value):
    library = os.path.join(probe.LIBRARIES, "libhprofiler_test.so")
    done = subprocess.run([probe.TARGET, "plain", "100"], env={**os.environ, "LD_PRELOAD": library, "HPROFILER_SESSION": value},
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_a_session_of_another_user_is_ignored(tmp_path):
    done = subprocess.run(probe.arguments(["--leave", "--no-preload"], ["/bin/true"], tmp_path), capture_output=True, text=True)
    directory, = tmp_path.iterdir()
    os.chown(directory, 65534, 65534)
    library = os.path.join(probe.LIBRARIES, "libhprofiler_test.so")
    subprocess.run([probe.TARGET, "plain", "100"], check=True,
                   env={**os.environ, "LD_PRELOAD": library, "HPROFILER_SESSION": str(directory)})
    assert not list(directory.glob("process-*"))


def test_own_pid_and_time_namespace(tmp_path):
    unshare = ["unshare", "--fork", "--pid", "--time", "--monotonic", "100000"]
    if not ROOT or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("cannot make namespaces")
    done = subprocess.run(probe.arguments([], [*unshare, probe.TARGET, "plain", "2000"], tmp_path), capture_output=True, text=True)
    trace = probe.Recorded(done.stdout.splitlines()[-1])
    assert trace.ranges() == [(1, 2000)]
    assert 0 < trace.json["begin_ns"] < trace.json["end_ns"] < 20e9


@pytest.mark.parametrize("how", [1, 2, 3])
def test_sampling_by_timers_weighs_measured_cpu_time(tmp_path, how):
    for _ in range(RUNS):
        trace = record(tmp_path, "spin_threads", 600, options=["--sampling", str(how)])
        if trace.json["samples"] >= 5 and 500e6 < trace.json["sample_weight_ns"] < 650e6:
            return
    pytest.fail(f"{trace.json['samples']} samples weigh {trace.json['sample_weight_ns'] / 1e6:.0f} ms")


def test_musl_program(tmp_path):
    compiler = shutil.which("musl-gcc")
    if not compiler:
        pytest.skip("no musl-gcc")
    program = tmp_path / "program"
    source = tmp_path / "program.c"
    source.write_text("#include <dlfcn.h>\nint main(void) { void (*f)(const char *, unsigned long);"
                      " f = dlsym(RTLD_DEFAULT, \"hprofiler_test_named\"); if (!f) return 1;"
                      " for (int i = 1; i <= 500; i++) f(\"step\", i); return 0; }\n")
    subprocess.run([compiler, "-o", str(program), str(source)], check=True)
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    done = subprocess.run(probe.arguments([], [program], sessions), capture_output=True, text=True)
    trace = probe.Recorded(done.stdout.splitlines()[-1])
    assert trace.json["status"] == 0, done.stderr
    assert trace.ranges() == [(1, 500)]
