# SPDX-License-Identifier: MIT
"""Truncated, corrupted and foreign files and sessions, to every command that reads one: a clear error with the file's
name, or a read of what is whole that says what is not; never a crash, a hang or broken output."""
import concurrent.futures
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

TIMEOUT_S = 20
# How many damaged copies of each kind are tried; a long run sets more.
COPIES = int(os.environ.get("HPROFILER_HOSTILE_COPIES", "60"))

READERS = {
    "summary": lambda path, folder: ["summary", str(path), "--format", "json"],
    "query": lambda path, folder: ["query", str(path), "select count(*), sum(weight) from samples", "--format", "json"],
    "export": lambda path, folder: ["export", str(path), "--to", "folded", "-o", "-"],
    "recover": lambda path, folder: ["recover", str(path), "-o", str(folder / "out.hpt")],
}


def read(hprofiler, reader, path, folder):
    """Runs one reader on one path; returns (status, stdout, stderr). A crash or a hang fails here."""
    folder.mkdir(exist_ok=True)
    command = [hprofiler, *READERS[reader](path, folder)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{reader} hangs on {path}")
    stderr = done.stderr.decode(errors="replace")
    assert 0 <= done.returncode < 124, f"{reader} of {path}: status {done.returncode}: {stderr[:2000]}"
    assert "Sanitizer" not in stderr and "runtime error" not in stderr, stderr[:2000]
    return done.returncode, done.stdout, stderr


def check(hprofiler, reader, path, folder, name):
    """One clear error that names the file, or output that is whole by its own format."""
    status, stdout, stderr = read(hprofiler, reader, path, folder)
    if status:
        lines = [line for line in stderr.splitlines() if line.startswith("hprofiler")]
        assert len(lines) == 1 and name in lines[0], f"{reader} of {path}: {stderr!r}"
    elif reader in ("summary", "query"):
        json.loads(stdout)
    return status, stderr


@pytest.fixture(scope="module")
def material(hprofiler, apps, tmp_path_factory):
    """A small real trace in both formats, and the session that an interrupted run left."""
    folder = tmp_path_factory.mktemp("material")
    for ending in ("hpt", "json"):
        trace = folder / f"whole.{ending}"
        done = subprocess.run([hprofiler, "run", "--no-summary", "-o", str(trace), "--", str(apps / "target"), "fork", "burn", "30"],
                              capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
    sessions = folder / "sessions"
    sessions.mkdir()
    process = subprocess.Popen([hprofiler, "run", "--no-summary", "-o", str(folder / "x.hpt"), "--session-dir", str(sessions), "--",
                                str(apps / "target"), "burn", "200", "say", "ready", "forever"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    (left,) = sessions.iterdir()
    left.rename(folder / "session")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))


def lengths(size):
    """Truncations: the first bytes each, then ever wider apart, the last bytes each."""
    dice = random.Random(size)
    some = {*range(0, 40), size - 1, size - 2, size - 7, size - 8, size - 64, size // 2}
    some |= {dice.randrange(size) for _ in range(COPIES)}
    some |= {page for page in range(0, size, max(4096, size // 16 // 4096 * 4096))}
    return sorted(length for length in some if 0 <= length < size)


@pytest.mark.parametrize("ending", ["hpt", "json"])
@pytest.mark.parametrize("reader", ["summary", "query", "export"])
def test_truncated(hprofiler, material, tmp_path, reader, ending):
    whole = (material / f"whole.{ending}").read_bytes()

    def try_length(length):
        path = tmp_path / f"cut-{length}.{ending}"
        path.write_bytes(whole[:length])
        status, stderr = check(hprofiler, reader, path, tmp_path / f"out{length}", path.name)
        path.unlink()
        return length, status, stderr
    outcomes = in_parallel(try_length, lengths(len(whole)))
    # What is cut off must be said, by the error or by a line beside the part that could be read.
    silent = [length for length, status, stderr in outcomes if status == 0 and not stderr and length < len(whole) - 8]
    assert not silent, f"{reader} reads {ending} files cut to {silent} of {len(whole)} bytes as if they were whole"


@pytest.mark.parametrize("ending", ["hpt", "json"])
@pytest.mark.parametrize("reader", ["summary", "query", "export"])
def test_flipped_bits(hprofiler, material, tmp_path, reader, ending):
    whole = (material / f"whole.{ending}").read_bytes()
    dice = random.Random(f"{reader} {ending}")
    # Headers and tables are at the ends, so those are hit more often than their size deserves.
    places = [dice.randrange(min(512, len(whole))) for _ in range(COPIES)] + [len(whole) - 1 - dice.randrange(min(512, len(whole))) for _ in range(COPIES // 2)]
    places += [dice.randrange(len(whole)) for _ in range(COPIES)]
    truth = read(hprofiler, reader, material / f"whole.{ending}", tmp_path / "out")[1]
    silent = []

    def try_place(number):
        damaged = bytearray(whole)
        for place in [places[number]] + [dice_place for dice_place in places[:number % 3]]:
            damaged[place] ^= 1 << (number % 8)
        path = tmp_path / f"flip-{number}.{ending}"
        path.write_bytes(damaged)
        status, stderr = check(hprofiler, reader, path, tmp_path / f"out{number}", path.name)
        if ending == "hpt" and status == 0 and not stderr and read(hprofiler, reader, path, tmp_path / f"out{number}")[1] != truth:
            silent.append(places[number])
        path.unlink()
    in_parallel(try_place, range(len(places)))
    # JSON has no checksums; the native file has, and other figures than the recorded ones must not come out of it silently.
    assert not silent, f"{reader} gives other results, without a word, for bits flipped at {sorted(silent)} of {len(whole)}"


def foreign_files(folder):
    """Files of other kinds, and files that pretend."""
    dice = random.Random(1)
    contents = {
        "empty.hpt": b"", "zeros.hpt": bytes(10000), "ones.hpt": b"\xff" * 10000, "noise.hpt": dice.randbytes(50000),
        "program.hpt": pathlib.Path(sys.executable).read_bytes()[:100000], "zipped.hpt": gzip.compress(b"x" * 1000),
        "text.json": b"just some text\n", "empty.json": b"", "number.json": b"42", "null.json": b"null", "string.json": b'"text"',
        "list.json": b"[]", "object.json": b"{}", "other.json": b'{"name": "not a trace", "version": [1, 2]}',
        "open.json": b'{"traceEvents":[', "open-event.json": b'{"traceEvents":[{"ph":"X"', "deep.json": b"[" * 200000,
        "deep-object.json": b'{"traceEvents":' * 50000, "deep-args.json": b'{"traceEvents":[{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"args":' + b'{"a":' * 50000,
        "huge-number.json": b'{"traceEvents":[{"ph":"X","name":"a","ts":1e400,"dur":-1e308,"pid":99999999999999999999,"tid":-1}]}',
        "nan.json": b'{"traceEvents":[{"ph":"X","name":"a","ts":NaN,"dur":Infinity,"pid":1,"tid":1}]}',
        "types.json": b'{"traceEvents":[{"ph":1,"name":{},"ts":"x","dur":[],"pid":{},"tid":null,"args":7},7,"x",null,[[]]]}',
        "unbalanced.json": b'{"traceEvents":[{"ph":"E","ts":5,"pid":1,"tid":1},{"ph":"B","name":"b","ts":9,"pid":1,"tid":1}]}',
        "bad-utf8.json": b'{"traceEvents":[{"ph":"X","name":"\xff\xfe\xc0\x80","ts":1,"dur":1,"pid":1,"tid":1}]}',
        "bad-escape.json": b'{"traceEvents":[{"ph":"X","name":"\\ud800\\q\\u00","ts":1,"dur":1,"pid":1,"tid":1}]}',
        "control.json": b'{"traceEvents":[{"ph":"X","name":"a\x01\nb","ts":1,"dur":1,"pid":1,"tid":1}]}',
        "long-name.json": b'{"traceEvents":[{"ph":"X","name":"' + b"n" * 3000000 + b'","ts":1,"dur":1,"pid":1,"tid":1}]}',
        "section.json": b'{"traceEvents":[],"hprofiler":{"version":"999","stacks":[1,2],"strings":7,"samples":{"track":[9]}}}',
        "bom.json": b'\xef\xbb\xbf{"traceEvents":[]}', "utf16.json": '{"traceEvents":[]}'.encode("utf-16"),
        "trailing.json": b'{"traceEvents":[]} and more', "many.json": b'{"traceEvents":[' + b'{"ph":"X","ts":1},' * 20000,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder.hpt").mkdir()
    os.symlink("loop.hpt", folder / "loop.hpt")
    return [*contents, "folder.hpt", "loop.hpt", "missing.hpt"]


# Foreign files that are traces by the rules of Chrome's format, or whose damage leaves a whole part; the rest must be refused.
READABLE = {"list.json", "object.json", "open.json", "huge-number.json", "nan.json", "types.json", "unbalanced.json", "bad-utf8.json", "bad-escape.json", "control.json",
            "long-name.json", "section.json", "bom.json", "trailing.json", "many.json", "open-event.json", "deep-args.json"}


@pytest.mark.parametrize("reader", READERS)
def test_foreign(hprofiler, tmp_path, reader):
    names = foreign_files(tmp_path)

    def try_name(name):
        status, _ = check(hprofiler, reader, tmp_path / name, tmp_path / f"out-{name}", name)
        assert status or (name in READABLE and reader != "recover"), f"{reader} takes {name} for a trace"
    in_parallel(try_name, names)


@pytest.mark.parametrize("reader", READERS)
def test_special_files_do_not_hang(hprofiler, tmp_path, reader):
    os.mkfifo(tmp_path / "fifo.hpt")
    for path in (tmp_path / "fifo.hpt", pathlib.Path("/dev/zero"), pathlib.Path("/dev/null"), pathlib.Path("/proc/self/mem"), pathlib.Path("/proc/version")):
        status, _, stderr = read(hprofiler, reader, path, tmp_path / "out")
        assert status and path.name in stderr, f"{reader} of {path}: {status} {stderr}"


def test_unreadable_file(hprofiler, material, tmp_path):
    path = tmp_path / "secret.hpt"
    shutil.copy(material / "whole.hpt", path)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    status, _, stderr = read(hprofiler, "summary", path, tmp_path / "out")
    assert status and "Permission denied" in stderr


def session_files(session):
    return sorted(path for path in session.rglob("*") if path.is_file() and path.stat().st_size)


def damage(session, kind, number):
    """Damages one file of a session in one way; returns what was done."""
    dice = random.Random(f"{kind} {number}")
    files = session_files(session)
    path = files[number % len(files)]
    size = path.stat().st_size
    if kind == "truncated":
        os.truncate(path, dice.choice([0, 1, 7, 8, 63, 64, 100, size // 2, size - 1, dice.randrange(size)]) % size)
    elif kind == "flipped":
        content = bytearray(path.read_bytes())
        for _ in range(dice.choice([1, 1, 8])):
            content[dice.randrange(min(len(content), dice.choice([64, 4096, len(content)])))] ^= 1 << dice.randrange(8)
        path.write_bytes(content)
    elif kind == "overwritten":
        path.write_bytes(dice.choice([bytes(size), b"\xff" * size, dice.randbytes(size)]))
    elif kind == "missing":
        path.unlink()
    elif kind == "folder":
        path.unlink()
        path.mkdir()
    elif kind == "symlink":
        path.unlink()
        path.symlink_to(dice.choice(["/etc/passwd", path.name, "/dev/zero"]))
    else:
        (session / f"stranger-{number}").write_bytes(dice.randbytes(1000))
    return path.name


@pytest.mark.parametrize("kind", ["truncated", "flipped", "overwritten", "missing", "folder", "symlink", "stranger"])
def test_damaged_session(hprofiler, material, tmp_path, kind):
    """recover makes a trace of what is whole or refuses in one line; the trace that it makes opens."""
    def try_number(number):
        session, folder = tmp_path / f"session{number}", tmp_path / f"out{number}"
        shutil.copytree(material / "session", session)
        what = damage(session, kind, number)
        status, _, stderr = read(hprofiler, "recover", session, folder)
        if status:
            assert len(stderr.splitlines()) <= 3 and "hprofiler" in stderr, f"{kind} {what}: {stderr}"
        else:
            json.loads(read(hprofiler, "summary", folder / "out.hpt", folder)[1])
        shutil.rmtree(session, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
    in_parallel(try_number, range(max(8, COPIES // (3 if kind in ("flipped", "truncated") else 6))))


def test_recover_of_an_empty_folder(hprofiler, tmp_path):
    (tmp_path / "empty").mkdir()
    status, _, stderr = read(hprofiler, "recover", tmp_path / "empty", tmp_path / "out")
    assert status and "empty" in stderr


def test_session_of_another_boot_has_no_kernel_names(hprofiler, material, tmp_path):
    """After a crash of the machine the kernel's functions lie elsewhere: their old addresses must not get today's names."""
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    names = {}
    for kind in ("this", "another"):
        session = tmp_path / kind
        shutil.copytree(material / "session", session)
        header = (session / "session").read_bytes()
        assert header.count(boot) == 1
        if kind == "another":
            (session / "session").write_bytes(header.replace(boot, bytes(reversed(boot[:8])) + boot[8:]))
        status, _, stderr = read(hprofiler, "recover", session, tmp_path / f"out-{kind}")
        assert status == 0, stderr
        frames = subprocess.run([hprofiler, "query", str(tmp_path / f"out-{kind}/out.hpt"), "select name from frames where module = '[kernel]' and name <> '[kernel, not sampled]'",
                                 "--format", "json"], capture_output=True, timeout=60)
        names[kind] = {row["name"] for row in json.loads(frames.stdout)}
    if not any("+0x" not in name for name in names["this"]):
        pytest.skip("the kernel hides its names, or nothing of it was sampled")
    assert names["another"] and all("+0x" in name for name in names["another"])


EVIL = "\x1b[2J\x1b]0;owned\x07\u009b31m\x7f\r</script><script>alert(1)</script>"


def steering(output):
    """Characters that a terminal would obey, in what is printed for people."""
    return [c for c in output.decode(errors="replace") if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]


def test_names_cannot_steer_the_terminal(hprofiler, tmp_path):
    """Names of functions, threads, files and columns come from whoever made the program or the trace."""
    trace = tmp_path / "evil.json"
    place = {"pid": 1, "tid": 1}
    trace.write_text(json.dumps({
        "otherData": {"command": EVIL},
        "stackFrames": {"1": {"name": "main" + EVIL, "category": "/lib/" + EVIL}, "2": {"name": EVIL, "parent": "1"}},
        "traceEvents": [
            {"ph": "M", "name": "process_name", **place, "args": {"name": EVIL}},
            {"ph": "M", "name": "thread_name", **place, "args": {"name": EVIL}},
            {"ph": "X", "name": EVIL, "cat": EVIL, "ts": 1, "dur": 5, **place, "args": {EVIL: EVIL}},
            {"ph": "C", "name": EVIL, "ts": 2, **place, "args": {EVIL: 3}},
            {"ph": "P", "name": "cpu", "ts": 3, **place, "sf": "2"}]}))
    queries = [f"select * from {table}" for table in ("tracks", "spans", "frames", "processes", "metadata", "ledger")]
    commands = [["summary", str(trace)], ["view", str(trace)], ["summary", str(tmp_path / EVIL.replace("/", "_"))],
                ["summary", str(trace), "--where", EVIL + "=1"], ["query", str(trace), f'select 1 as "{EVIL}"'],
                ["query", str(trace), "select " + EVIL], [EVIL], ["run", "--", "/" + EVIL.replace("/", "_")],
                ["export", str(trace), "--to", "folded", "-o", "-"], *(["query", str(trace), query] for query in queries)]
    for command in commands:
        done = subprocess.run([hprofiler, *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        assert not steering(done.stdout + done.stderr), f"{command}: {done.stdout + done.stderr!r}"
    page = tmp_path / "page.html"
    subprocess.run([hprofiler, "export", str(trace), "--to", "flamegraph-html", "-o", str(page)], check=True, timeout=TIMEOUT_S)
    assert "<script>alert" not in page.read_text()


def test_what_is_made_of_a_damaged_trace_says_so(hprofiler, apps, tmp_path):
    whole = [tmp_path / f"r_{rank}.hpt" for rank in range(2)]
    subprocess.run([apps.parent / "trace_generator", "--kind", "messages", "--ranks", "2", "--rounds", "40", "--no-what-if", "-o", tmp_path / "r_%r.hpt"],
                   check=True, capture_output=True)
    cut = tmp_path / "cut.hpt"
    cut.write_bytes(whole[1].read_bytes()[:whole[1].stat().st_size * 3 // 4])
    made = {"export": [cut, "-o", tmp_path / "copy.hpt"], "merge-nodes": [whole[0], cut, "-o", tmp_path / "merged.hpt"]}
    for command, arguments in made.items():
        subprocess.run([hprofiler, command, *arguments], check=True, capture_output=True)
        said = subprocess.run([hprofiler, "summary", arguments[-1]], check=True, capture_output=True, text=True)
        assert "the file is truncated or damaged" in said.stdout and said.stderr.count("truncated or damaged") == 1
