# SPDX-License-Identifier: MIT
"""Signals sent to hprofiler, to the target, to both: who gets them, what the exit status is, and what of the data is left."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

# Random moments of killing; the full count takes minutes.
MOMENTS = int(os.environ.get("HPROFILER_KILL_MOMENTS", "8"))


PATIENCE_S = 60


def child_that_is(pid, name):
    """The child of this process that runs this program."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                for child in (task / "children").read_text().split():
                    if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == name:
                        return int(child)
        except OSError: # one of them has just ended
            pass
        time.sleep(0.01)
    pytest.fail(f"process {pid} has no child that is {name}")


class Live:
    """A recording under way."""

    def __init__(self, runner, target, options=(), **popen):
        self.hprofiler, self.trace = runner.hprofiler, runner.directory / "live.hpt"
        self.sessions = runner.directory / "sessions"
        self.sessions.mkdir(exist_ok=True)
        command = [runner.hprofiler, "run", "--no-summary", "-o", str(self.trace), "--session-dir", str(self.sessions), *options, "--"]
        self.process = subprocess.Popen(command + [str(word) for word in target], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=runner.directory, start_new_session=True, **popen)

    def await_line(self, line):
        assert self.process.stdout.readline() == line + b"\n", self.process.stderr.read1().decode()

    def target_pid(self):
        """The child of hprofiler that runs the target program."""
        return child_that_is(self.process.pid, "target")

    def await_cpu_time(self, ms):
        """Until the target has computed for so long, whatever else the machine does."""
        end = time.monotonic() + PATIENCE_S
        while cpu_ms(self) < ms and time.monotonic() < end:
            time.sleep(0.02)

    def end(self):
        stdout, stderr = self.process.communicate(timeout=60)
        return self.process.returncode, stdout, stderr.decode(errors="replace")

    def session(self):
        left = list(self.sessions.iterdir())
        return left[0] if left else None


def sampling_of(hprofiler, trace):
    done = subprocess.run([hprofiler, "summary", str(trace), "--format", "json"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["sampling"]


def opens(hprofiler, trace):
    """The trace opens; returns the CPU time in it, in ms: its samples stand for all there was, however many the kernel took."""
    sampling = sampling_of(hprofiler, trace)
    return ((sampling["sampled_ns"] or 0) + (sampling["unsampled_ns"] or 0)) / 1e6


# What may be lost is the newest 250 ms of samples; a busy machine gets some more, and more than one try.
WINDOW_S = 0.35
TRIES = 3


def lost_ms(hprofiler, trace, safe_ms, processes):
    """How much is missing of the CPU time that was safe, but for what no sample can have told: that since each process' last one."""
    sampling = sampling_of(hprofiler, trace)
    sampled_ms = (sampling["sampled_ns"] or 0) / 1e6
    between_ms = sampled_ms / sampling["samples"] if sampling["samples"] else 10
    return 0.9 * safe_ms - 5 - processes * between_ms - sampled_ms


def cpu_ms(live):
    """CPU time of the processes of a recording's process group that are alive, hprofiler itself left out."""
    total_ns = 0
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != live.process.pid:
            try:
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[2]) == live.process.pid:
                    total_ns += sum(int((task / "schedstat").read_text().split()[0]) for task in (entry / "task").iterdir())
            except (OSError, IndexError, ValueError):
                continue
    return total_ns / 1e6


def recovered(live, runner):
    rescued = runner.directory / "rescued.hpt"
    done = subprocess.run([live.hprofiler, "recover", str(live.session()), "-o", str(rescued)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return rescued


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_signal_to_hprofiler_is_handed_to_the_target(runner, apps, name):
    """`kill` of the process one started, as job schedulers do it, must not leave the real program running alone."""
    number = int(getattr(signal, name))
    live = Live(runner, [apps / "target", "burn", "50", "await", number, "200", "exit", "5"])
    live.await_line(b"ready")
    live.process.send_signal(number)
    status, stdout, stderr = live.end()
    assert (status, stdout) == (5, b"caught 1\n"), stderr
    assert opens(live.hprofiler, live.trace) > 45


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_signal_to_hprofiler_ends_a_target_that_does_not_mind(runner, apps, name):
    number = int(getattr(signal, name))
    live = Live(runner, [apps / "target", "say", "ready", "forever"])
    live.await_line(b"ready")
    live.await_cpu_time(100)
    live.process.send_signal(number)
    status, _, stderr = live.end()
    assert status == 128 + number, stderr
    assert opens(live.hprofiler, live.trace) > 75


def test_target_that_survives_its_signals(runner, apps):
    """A target that handles SIGTERM runs on, as without us, however often it comes; the recording goes on with it."""
    script = ("import os, signal, sys, time\ncaught = []\nsignal.signal(signal.SIGTERM, lambda *_: (caught.append(1), print('caught', len(caught), flush=True)))\n"
              "print('ready', flush=True)\nwhile len(caught) < 3: time.sleep(0.01)\n"
              "os.execv(sys.argv[1], ['target', 'burn', '100', 'exit', '5'])")
    live = Live(runner, [sys.executable, "-c", script, apps / "target"])
    live.await_line(b"ready")
    for count in range(1, 4):
        live.process.send_signal(signal.SIGTERM)
        live.await_line(b"caught %d" % count)
    status, stdout, stderr = live.end()
    assert (status, stdout) == (5, b""), stderr
    assert opens(live.hprofiler, live.trace) > 95


def test_kill_of_the_target(runner, apps):
    live = Live(runner, [apps / "target", "say", "ready", "forever"])
    live.await_line(b"ready")
    live.await_cpu_time(400)
    os.kill(live.target_pid(), signal.SIGKILL)
    status, _, stderr = live.end()
    assert status == 137, stderr
    assert opens(live.hprofiler, live.trace) > 300


def test_stop_and_continue_of_hprofiler(runner, apps):
    """While we are stopped the target runs on; what the kernel could not keep is counted, the trace is whole."""
    live = Live(runner, [apps / "target", "say", "ready", "burn", "1000", "exit", "5"])
    live.await_line(b"ready")
    live.process.send_signal(signal.SIGSTOP)
    time.sleep(0.4)
    live.process.send_signal(signal.SIGCONT)
    status, _, stderr = live.end()
    assert status == 5, stderr
    assert opens(live.hprofiler, live.trace) > 100


def test_kill_of_hprofiler_leaves_the_target_alone_and_the_data_recoverable(runner, apps):
    for _ in range(TRIES):
        done = runner.directory / "done"
        live = Live(runner, [apps / "target", "say", "ready", "burn", "1000", "write-file", done, "64"])
        live.await_line(b"ready")
        time.sleep(0.3)
        safe_ms = cpu_ms(live)
        time.sleep(WINDOW_S)
        live.process.kill()
        live.process.wait(timeout=60)
        end = time.monotonic() + PATIENCE_S
        while not (done.exists() and done.stat().st_size == 64) and time.monotonic() < end:
            time.sleep(0.05)
        assert done.read_bytes() == b"." * 64
        assert not live.trace.exists() and live.session()
        listed = subprocess.run([live.hprofiler, "recover", "--session-dir", str(live.sessions)], capture_output=True, timeout=60)
        if listed.returncode == 0:
            assert live.session().name.encode() in listed.stdout
        missing_ms = lost_ms(live.hprofiler, recovered(live, runner), safe_ms, 1)
        if missing_ms < 0:
            return
        done.unlink()
        forget(live)
    pytest.fail(f"{missing_ms:.0f} of {safe_ms:.0f} ms are lost")


def forget(live):
    for left in live.sessions.iterdir():
        subprocess.run(["rm", "-r", str(left)], check=True)


def kill_after(runner, apps, whom, delay_s):
    """Returns what was lost of CPU time, negative for nothing, and how much should be safe."""
    live = Live(runner, [apps / "target", "crowd", "4", "120", "forever"])
    time.sleep(max(0, delay_s - WINDOW_S))
    safe_ms = cpu_ms(live)
    time.sleep(min(delay_s, WINDOW_S))
    try:
        target = live.target_pid() if whom != "hprofiler" and delay_s > 0.1 else None
        if whom == "target" and target:
            os.kill(target, signal.SIGKILL)
        elif whom == "target":
            os.killpg(live.process.pid, signal.SIGTERM)
        elif whom == "hprofiler":
            live.process.kill()
        else:
            os.killpg(live.process.pid, signal.SIGKILL)
        live.process.wait(timeout=60)
    finally:
        try:
            os.killpg(live.process.pid, signal.SIGKILL)  # what is left of the target
        except ProcessLookupError:
            pass
        live.process.communicate()
    missing_ms = safe_ms - 5
    if live.trace.exists():
        opens(live.hprofiler, live.trace)
        live.trace.unlink()
        missing_ms = -1
    elif live.session():
        rescued = recovered(live, runner)
        missing_ms = lost_ms(live.hprofiler, rescued, safe_ms, 5)
        rescued.unlink()
    forget(live)
    return missing_ms, safe_ms


@pytest.mark.parametrize("whom", ["hprofiler", "both", "target"])
def test_kill_at_random_moments(runner, apps, whom):
    """Whatever the moment, an hprofiler trace or a recoverable session is left, or nothing had been recorded yet."""
    dice = random.Random(f"{whom} {MOMENTS}")
    for moment in range(MOMENTS):
        delay_s = dice.uniform(0, 0.9)
        for _ in range(TRIES):
            missing_ms, safe_ms = kill_after(runner, apps, whom, delay_s)
            if missing_ms < 0:
                break
        assert missing_ms < 0, f"killed {whom} after {delay_s:.3f} s: {missing_ms:.0f} of {safe_ms:.0f} ms are lost"


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def await_state(pid, states):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if state_of(pid) in states:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} is {state_of(pid)}, not {states}")


def test_stop_and_continue_of_the_target_alone(runner, apps):
    """We stop when the target does, as a shell waits for us; and go on when it does, though nobody continues us."""
    live = Live(runner, [apps / "target", "say", "ready", "burn", "300", "exit", "5"])
    live.await_line(b"ready")
    target = live.target_pid()
    for _ in range(2):
        os.kill(target, signal.SIGSTOP)
        await_state(target, "T")
        await_state(live.process.pid, "T")
        os.kill(target, signal.SIGCONT)
        await_state(live.process.pid, "SRD")
    status, _, stderr = live.end()
    assert status == 5, stderr
    assert opens(live.hprofiler, live.trace) > 100


def test_kill_of_a_stopped_target(runner, apps):
    live = Live(runner, [apps / "target", "say", "ready", "forever"])
    live.await_line(b"ready")
    target = live.target_pid()
    os.kill(target, signal.SIGSTOP)
    await_state(live.process.pid, "T")
    os.kill(target, signal.SIGKILL)
    status, _, stderr = live.end()
    assert status == 137, stderr
    opens(live.hprofiler, live.trace)


def test_under_timeout(runner, apps):
    """coreutils' timeout signals its child and then its whole group."""
    trace = runner.directory / "timeout.hpt"
    for seconds in ("0.7", "5", "20"): # on a busy machine a recording may take its time to begin
        done = subprocess.run(["timeout", seconds, runner.hprofiler, "run", "--no-summary", "-o", str(trace), "--", str(apps / "target"), "forever"],
                              capture_output=True, timeout=60)
        assert done.returncode == 124, done.stderr.decode()
        if trace.exists() and sampling_of(runner.hprofiler, trace)["samples"] > 5:
            return
    pytest.fail("there are no samples")


def test_under_nohup(runner, apps):
    """A hangup that the caller ignores is ignored by both."""
    live = Live(runner, ["nohup", apps / "target", "say", "ready", "burn", "400", "exit", "6"], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    live.await_line(b"ready")
    os.killpg(live.process.pid, signal.SIGHUP)
    status, _, stderr = live.end()
    assert status == 6, stderr


def test_a_second_hangup_does_not_cost_the_trace(runner):
    """A terminal that closes hangs up twice, by its shell and by the kernel, at any moment of the end."""
    for delay_ms in range(0, 20, 2):
        trace = runner.directory / f"hangup{delay_ms}.hpt"
        process = subprocess.Popen([runner.hprofiler, "run", "--no-summary", "-o", str(trace), "--", "sleep", "20"], start_new_session=True,
                                   stderr=subprocess.DEVNULL)
        child_that_is(process.pid, "sleep")
        os.killpg(process.pid, signal.SIGHUP)
        time.sleep(delay_ms / 1000)
        try:
            os.killpg(process.pid, signal.SIGHUP)
        except ProcessLookupError:
            pass
        process.wait(timeout=60)
        assert trace.exists(), f"second hang-up after {delay_ms} ms"
