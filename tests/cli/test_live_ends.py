# SPDX-License-Identifier: MIT
"""`run --live`: signals, and what happens to whom when somebody dies or the disk is full."""
import os
import re
import resource
import signal
import subprocess
import termios
import time

import pytest

from at_terminal import CTRL_C, UI_GONE, live, python, wait_for_file

# --- signals and ends ----------------------------------------------------------------------------------------------------


def test_ctrl_c_behind_the_ui_is_the_programs(live):
    session = live(*python("import time\ntry:\n print('ready'); time.sleep(100)\nexcept KeyboardInterrupt:\n print('interrupted'); exit(9)"))
    session.ui()
    session.leave()
    session.expect(rb"ready")
    session.send(CTRL_C)
    session.expect(rb"interrupted")
    assert session.end() == 9


def test_a_program_that_is_killed(live):
    session = live(*python("import os; print('pid', os.getpid())\nimport time; time.sleep(100)"))
    session.ui()
    session.leave()
    os.kill(int(session.expect(rb"pid (\d+)").group(1)), signal.SIGKILL)
    assert session.end() == 137
    assert session.trace.exists()


def test_sigterm_closes_the_ui_and_goes_to_the_program(live):
    session = live(*python("import signal,sys,time\nsignal.signal(15, lambda *_: (print('told'), sys.exit(4)))\n"
                           "open('ready','w').close(); time.sleep(100)"))
    session.ui()
    wait_for_file(session.directory / "ready")
    os.kill(session.pid, signal.SIGTERM)
    session.expect(UI_GONE)
    assert session.end() == 4
    assert "told" in session.behind() and session.trace.exists()


def test_hprofiler_is_killed_and_the_program_goes_on(live, hprofiler):
    session = live(*python("import time\nfor i in range(40): print('step', i); time.sleep(0.05)\nopen('done','w').close()"))
    session.ui()
    os.kill(session.pid, signal.SIGKILL)
    session.end()
    wait_for_file(session.directory / "done")
    session.expect(rb"step 39")  # its keeper passes on what it writes
    flags = termios.tcgetattr(session.master)[3]
    assert flags & termios.ICANON and flags & termios.ECHO
    left, = session.directory.glob("hprofiler-*")
    for _ in range(100):  # the program may still be ending
        done = subprocess.run([hprofiler, "recover", str(left), "-o", session.trace], capture_output=True, timeout=60)
        if done.returncode == 0:
            break
        time.sleep(0.1)
    assert done.returncode == 0 and session.trace.exists(), done.stderr.decode()


def test_a_trace_that_cannot_be_written_keeps_the_recording(live):
    session = live(*python("import os; os.mkdir('live.hpt'); print('in its way')"))
    session.ui()
    session.leave()
    assert session.end() == 125
    text = session.behind()
    assert "in its way" in text and "go on with: hprofiler recover" in text
    assert list(session.directory.glob("hprofiler-*"))


def test_a_terminal_that_closes_hangs_up_the_program(live):
    session = live(*python("import signal,sys,time\nsignal.signal(1, lambda *_: (open('hung up','w').close(), sys.exit(5)))\n"
                           "open('ready','w').close(); time.sleep(100)"))
    session.ui()
    wait_for_file(session.directory / "ready")
    master, session.master = session.master, os.open("/dev/null", os.O_RDWR)
    os.close(master)
    wait_for_file(session.directory / "hung up")
    end = time.monotonic() + 60
    while not os.waitpid(session.pid, os.WNOHANG)[0]:
        assert time.monotonic() < end, "hprofiler does not end"
        time.sleep(0.05)
    session.status = 0
    assert session.trace.exists()


def test_a_program_that_stays_behind_keeps_its_terminal(live):
    session = live("sh", "-c", "(trap '' HUP; sleep 2; echo from behind; echo > late) & echo in front")
    session.ui()
    session.leave()
    assert session.end() == 0
    assert "in front" in session.behind()
    wait_for_file(session.directory / "late")
    session.expect(rb"from behind")


def test_a_silent_program_learns_that_the_terminal_went_after_hprofiler(live):
    script = ("import signal,sys\ndef gone(*_): open('hung up','w').close(); sys.exit()\n"
              "signal.signal(signal.SIGHUP, gone); open('ready','w').close(); signal.pause()")
    session = live(*python(script))
    session.ui()
    wait_for_file(session.directory / "ready")
    os.kill(session.pid, signal.SIGKILL)
    session.expect(UI_GONE)  # the keeper has taken over
    os.close(session.master)
    wait_for_file(session.directory / "hung up")
    session.master = os.open(os.devnull, os.O_RDWR)


def test_what_a_killed_watcher_did_not_show_is_recovered(live, hprofiler):
    script = ("import os\nprint('told nobody \\N{GREEK SMALL LETTER PI}', flush=True)\nopen('ready','w').close()\n"
              "while not os.path.exists('on'): __import__('time').sleep(0.05)\nopen('ended','w').close()")
    session = live(*python(script))
    session.ui()
    wait_for_file(session.directory / "ready")
    (left,) = session.directory.glob("hprofiler-*")
    end = time.monotonic() + 60
    while b"told nobody" not in (left / "terminal").read_bytes():
        assert time.monotonic() < end, "it is never kept"
        time.sleep(0.05)
    os.kill(session.pid, signal.SIGKILL)
    session.expect(UI_GONE)
    (session.directory / "on").touch()
    wait_for_file(session.directory / "ended")
    kept = session.directory / "saved.hpt.terminal"
    while True:  # its end has to be seen first
        done = subprocess.run([hprofiler, "recover", str(left), "-o", str(session.directory / "saved.hpt")], capture_output=True, timeout=60)
        if done.returncode == 0:
            break
        assert time.monotonic() < end and b"still being recorded" in done.stderr, done.stderr.decode()
        time.sleep(0.1)
    assert "told nobody \N{GREEK SMALL LETTER PI}".encode() in kept.read_bytes()
    assert str(kept).encode() in done.stderr and not left.exists()


def test_a_program_that_ends_at_once(live):
    session = live("true")
    session.ui()
    session.leave()
    assert session.end() == 0
    assert session.trace.exists()


@pytest.mark.parametrize("program,status", [("./not there", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_be_run(live, program, status):
    session = live(program)
    assert session.end() == status
    assert b"cannot run" in session.all and b"1049h" not in session.all
    assert not list(session.directory.glob("hprofiler-*"))


def test_a_full_disk_costs_what_is_kept_of_the_output_only(live):
    script = ("import os,sys\nprint('the first line')\nfor i in range(100): os.write(1, b'x' * 9999 + b'\\n')\n"
              "open('done','w').close(); sys.stdin.readline(); print('the last line')")
    session = live(*python(script), options=["--backend", "cpu", "--perf-freq", "1"], limits=[(resource.RLIMIT_FSIZE, 400 << 10)])
    session.ui()
    wait_for_file(session.directory / "done")
    session.leave()
    session.expect(b"the first line")
    session.send(b"\n")
    session.expect(b"the last line")
    assert session.end() == 0
    assert re.search(r"\d+ bytes of the program's output could not be kept", session.behind())
