# SPDX-License-Identifier: MIT
"""What hangs says so: a process of a test that does not end in time is described, with all that it started, before it is killed.

`watch(config)` of each conftest.py sets it up. Every wait for a process then has a limit, also where the test names none, and a file of
tests ends by itself, with a description, before CTest would end it without one.

A launcher of MPI gets a second try: one in many thousands has hung on a busy machine. What hung is described all the same, `make check` names
the test, and a second time is a failure."""
import faulthandler
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import threading
import time

WAIT_S = 100    # for one process, whatever a test would wait
STACKS_S = 25   # for the stacks of all that hangs
LAUNCHER_S = 60 # for the first try of a launcher of MPI
LEFT_S = 30     # of CTest's time, to describe what hangs
MARK = "HP_TEST_FILE"  # in the environment of all that a file of tests starts, also of what no longer has its parent
LOOK_S = 0.5           # between two looks at the processor times: who waits and who turns round and round?


real_wait, real_communicate, real_run = subprocess.Popen.wait, subprocess.Popen.communicate, subprocess.run
longest_s = WAIT_S
said_to = 2


def say(text):
    """Past pytest, which would show it at its end only: that may never come."""
    left = f"{text}\n".encode()
    while left:
        left = left[os.write(said_to, left):]


def read(path):
    try:
        return pathlib.Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""


def stat_of(pid):
    """(state, parent, ticks of the processor), None for one that is gone."""
    words = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (words[0], int(words[1]), int(words[11]) + int(words[12])) if words else None


def all_processes():
    found = {int(entry): stat_of(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    return {pid: stat for pid, stat in found.items() if stat}


def below(roots, processes):
    """These processes and their descendants."""
    tree, grown = set(roots) & set(processes), True
    while grown:
        more = {pid for pid, (_, parent, _) in processes.items() if parent in tree} - tree
        tree, grown = tree | more, bool(more)
    return tree


def marked(processes):
    """What this file of tests has started and is still there."""
    mark = f"{MARK}={os.environ.get(MARK)}"
    return {pid for pid in processes if mark in read(f"/proc/{pid}/environ").split("\0")} - {os.getpid()}


def describe_threads(pid):
    lines = []
    for thread in sorted(map(int, os.listdir(f"/proc/{pid}/task")) if os.path.isdir(f"/proc/{pid}/task") else [])[:40]:
        folder = f"/proc/{pid}/task/{thread}"
        state = stat_of(f"{pid}/task/{thread}")
        lines.append(f"    thread {thread} {read(f'{folder}/comm').strip()}: {state[0] if state else 'gone'}, in {read(f'{folder}/wchan') or '?'}, "
                     f"system call {read(f'{folder}/syscall').split(' ')[0].strip() or '?'}")
    return lines


def describe_files(pid):
    try:
        names = sorted(os.listdir(f"/proc/{pid}/fd"), key=int)
        return "    files: " + " ".join(f"{name}={os.readlink(f'/proc/{pid}/fd/{name}')}" for name in names[:40])
    except OSError as error:
        return f"    files: {error.strerror}"


def stacks(pid, seconds):
    command = ["timeout", "-s", "KILL", str(seconds), "gdb", "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off",
               "-ex", "thread apply all backtrace 16", "-p", str(pid)]
    # Not by way of subprocess.run: its limits are what brought us here.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, MARK: ""})
    text = process.stdout.read().decode(errors="replace")
    real_wait(process)
    lines = [f"    {line}" for line in text.splitlines() if line.startswith(("#", "Thread", "ptrace", "Could not"))]
    return "\n".join([f"stacks of process {pid}", *lines])


def describe(pid, before):
    """What this process does, and what it has done since `before`."""
    stat = stat_of(pid)
    if not stat:
        return f"process {pid} is gone"
    words = read(f"/proc/{pid}/cmdline").replace("\0", " ").strip() or read(f"/proc/{pid}/comm").strip()
    ran = stat[2] - before.get(pid, stat)[2]
    signals = [line.replace("\t", " ") for line in read(f"/proc/{pid}/status").splitlines() if line.startswith(("SigPnd", "ShdPnd", "SigBlk"))]
    return "\n".join([f"process {pid} of {stat[1]}: {stat[0]}, {stat[2]} ticks of the processor, {ran} in the last moment: {words[:300]}",
                      f"    {' '.join(signals)}", *describe_threads(pid), describe_files(pid)])


def report(why, roots):
    """Describes the trees below these processes and all else that is left of this file of tests; gives the processes."""
    before = all_processes()
    time.sleep(LOOK_S)
    processes = all_processes()
    pids = sorted(below(roots, processes) | marked(processes))
    say(f"== stuck: {why} ({os.environ.get('PYTEST_CURRENT_TEST', 'between tests')}), load {os.getloadavg()}")
    for pid in pids:
        say(describe(pid, before))
    end = time.monotonic() + STACKS_S
    for pid in pids if shutil.which("gdb") else []:
        if time.monotonic() < end and stat_of(pid) and read(f"/proc/{pid}/cmdline"): # no zombie
            say(stacks(pid, max(1, end - time.monotonic())))
    say("== end of what is stuck")
    return pids


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def limited(real, self, timeout, *arguments):
    """The real function within the limit; says what hangs and kills it if that does not suffice."""
    began, limit = time.monotonic(), longest_s if timeout is None else min(timeout, longest_s)
    try:
        return real(self, *arguments, timeout=limit)
    except subprocess.TimeoutExpired:
        if limit < 5: # a test that looks again and again
            raise
        kill(report(f"{self.args} did not end in {time.monotonic() - began:.0f} s", [self.pid]))
        raise


def wait(self, timeout=None):
    return limited(real_wait, self, timeout)


def communicate(self, input=None, timeout=None):
    return limited(real_communicate, self, timeout, input)


def tries(command, timeout):
    """How long each try may take."""
    words = [command] if isinstance(command, (str, bytes, os.PathLike)) else command
    launched = any(os.path.basename(os.fsdecode(word)).startswith("mpirun") for word in words)
    return [min(timeout or LAUNCHER_S, LAUNCHER_S), timeout] if launched else [timeout]


def run(*arguments, timeout=None, **how):
    *early, last = tries(arguments[0] if arguments else how["args"], timeout)
    for seconds in early:
        try:
            return real_run(*arguments, timeout=seconds, **how)
        except subprocess.TimeoutExpired:
            say("== it is tried once more")
    return real_run(*arguments, timeout=last, **how)


def end_left():
    """What a test has started and forgotten would keep the processors from all that come after."""
    for pid in marked(all_processes()):
        say(f"left behind, killed now: {read(f'/proc/{pid}/cmdline').replace(chr(0), ' ')[:300]}")
        kill([pid])


def end_file(limit_s):
    """The last word of a file of tests that took too long."""
    faulthandler.dump_traceback(said_to)
    pids = report(f"this file of tests did not end in {limit_s:.0f} s", [])
    kill(pids)
    os._exit(1)


def watch(config, wait_s=WAIT_S):
    """HP_TEST_LIMIT_S: the time after which CTest kills this file of tests."""
    global longest_s, said_to
    said_to = os.dup(2)  # nothing is captured yet
    longest_s = float(os.environ.get("HP_STUCK_WAIT_S", wait_s))
    os.environ[MARK] = f"{os.getpid()}.{secrets.token_hex(4)}"
    subprocess.Popen.wait, subprocess.Popen.communicate, subprocess.run = wait, communicate, run
    config.add_cleanup(end_left)
    limit_s = float(os.environ.get("HP_TEST_LIMIT_S", "0")) - LEFT_S
    if limit_s > 0:
        timer = threading.Timer(limit_s, end_file, [limit_s])
        timer.daemon = True
        timer.start()
        config.add_cleanup(timer.cancel)
