# SPDX-License-Identifier: MIT
"""`run --live` at a terminal: the program's own terminal, its output, and the trace."""
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from at_terminal import CTRL_C, live, python, wait_for_file


def summary(hprofiler, trace):
    done = subprocess.run([hprofiler, "summary", str(trace), "--format", "json"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def query(hprofiler, trace, sql):
    done = subprocess.run([hprofiler, "query", str(trace), sql, "--format", "json"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


# --- the program's terminal ----------------------------------------------------------------------------------------------


def test_the_program_has_a_terminal_and_that_is_said(live):
    session = live(*python("import os,sys; print(*[os.isatty(i) for i in range(3)], os.ttyname(0)); sys.stdin.readline();"
                           "print('controls', os.tcgetpgrp(0) == os.getpgrp(), os.open('/dev/tty', os.O_RDWR) > 0)"))
    session.expect(rb"the program runs on a terminal of its own")
    session.ui()
    session.leave()
    name = session.expect(rb"True True True (\S+)").group(1).decode()
    assert name != os.ttyname(session.master).replace("ptmx", "") and name.startswith("/dev/")
    session.send(b"\n")
    session.expect(rb"controls True True")
    assert session.end() == 0


def test_the_window_is_ours_once_the_ui_has_gone(live):
    session = live(*python("import os,sys\nfor line in sys.stdin: print('size', *os.get_terminal_size(0), flush=True)"))
    session.ui()
    session.leave()
    fcntl.ioctl(session.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 99, 0, 0))
    os.kill(session.pid, signal.SIGWINCH)
    for _ in range(100):  # the signal takes its way
        session.send(b"\n")
        if session.expect(rb"size (\d+ \d+)").group(1) == b"99 40":
            break
        time.sleep(0.1)
    else:
        pytest.fail("the size never came")
    session.send(b"\x04")
    assert session.end() == 0


@pytest.mark.parametrize("quit_early", [True, False], ids=["left early", "left at the end"])
def test_no_output_is_lost_and_the_status_is_the_programs(live, quit_early):
    script = ("import os,sys,time\nfor i in range(6000):\n print('line', i)\n if i % 2000 == 1999: time.sleep(0.3)\n"
              "open('done','w').close(); sys.exit(7)")
    session = live(*python(script))
    session.ui()
    if not quit_early:
        wait_for_file(session.directory / "done")
    session.leave()
    assert session.end() == 7
    text = session.behind()
    assert re.findall(r"line (\d+)$", text, re.M) == [str(i) for i in range(6000)]
    assert text.index("line 5999") < text.index("trace written to") < text.index("Ledger")
    assert session.trace.exists() and not list(session.directory.glob("hprofiler-*"))


def test_what_is_shown_again_asks_the_terminal_nothing(live):
    """The answers would be typed into the shell."""
    session = live(*python("print('\\033[c\\033[6nasked\\033[1mbold\\033[m'); open('done','w').close()"))
    session.ui()
    wait_for_file(session.directory / "done")
    session.leave()
    assert session.end() == 0
    text = session.behind()
    assert "asked\033[1mbold\033[m" in text and "\033[c" not in text and "\033[6n" not in text


def test_a_writer_that_never_rests_does_not_wait_for_the_ui(live):
    """More than any buffer of a terminal holds, while the UI has it."""
    session = live(*python("import os\nfor i in range(100): os.write(1, b'x' * 9999 + b'\\n')\nopen('done','w').close()"))
    session.ui()
    wait_for_file(session.directory / "done")
    session.leave()
    assert session.end() == 0
    assert session.behind().count("x" * 9999 + "\n") == 100


def test_a_terminal_is_needed(hprofiler, tmp_path):
    done = subprocess.run([hprofiler, "run", "--live", "--no-summary", "-o", tmp_path / "x.hpt", "--", "echo", "hello"],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"hello\n")
    assert b"--live: no terminal UI here: standard input and output must be a terminal" in done.stderr
    assert (tmp_path / "x.hpt").exists()
    done = subprocess.run([hprofiler, "run", "--live", "--no-ui", "--", "true"], capture_output=True, timeout=60)
    assert done.returncode == 125 and b"--no-ui" in done.stderr


# --- the trace -----------------------------------------------------------------------------------------------------------


def facts(hprofiler, trace):
    """What two recordings of one program have in common."""
    ask = lambda sql: [tuple(row.values()) for row in query(hprofiler, trace, sql)]
    return {"summary": sorted(summary(hprofiler, trace)),
            "metadata": ask("select key from metadata where key not like 'sampling.%' and key not like 'overhead.%' and key not like 'resident.%' order by 1"),
            "tracks": ask("select kind, count(*) from tracks group by 1 order by 1"),
            "spans": ask("select distinct category, kind from spans order by 1, 2"),
            "ledger": ask("select distinct source from ledger where recorded > 0 order by 1"),
            "hottest": ask("select f.name, count(*) from samples s join frames f on f.stack = s.stack group by 1 order by 2 desc limit 1")[0][0]}


def test_the_trace_is_that_of_a_plain_run(live, hprofiler, apps, tmp_path):
    program = [apps / "target", "threads", "2", "600"]
    plain = subprocess.run([hprofiler, "run", "--no-summary", "-o", tmp_path / "plain.hpt", "--", *program], capture_output=True, timeout=60)
    assert plain.returncode == 0, plain.stderr.decode()
    session = live(*program)
    session.ui()
    time.sleep(0.5)
    session.leave()
    assert session.end() == 0
    assert facts(hprofiler, session.trace) == facts(hprofiler, tmp_path / "plain.hpt")


def test_traces_come_while_it_runs(live, apps):
    session = live(apps / "target", "forever")
    session.ui()
    session.send(b"4")
    session.expect(rb"data [0-9.]+ s old")
    session.seen = 0
    session.expect(rb"\bburn\b")  # of a program that has not ended
    session.leave()
    session.send(CTRL_C)
    assert session.end() == 130
    assert "trace written" in session.behind()
