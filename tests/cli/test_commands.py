# SPDX-License-Identifier: MIT
"""What all commands share: help, errors with a next step, exit statuses, man pages, completion, a stdout that must arrive."""
import csv
import io
import json
import os
import re
import select
import shutil
import subprocess
import time

import pytest

COMMANDS = ["run", "attach", "view", "summary", "critical-path", "what-if", "efficiency", "export", "query", "merge-nodes", "recover", "build", "doctor", "backends", "completion", "help"]
LATER = ["gui", "roofline", "compare", "analyze"]


@pytest.fixture
def call(hprofiler, tmp_path):
    def run(*arguments, **how):
        how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60, "cwd": tmp_path, **how}
        return subprocess.run([hprofiler, *map(str, arguments)], **how)
    return run


def listed(call):
    return re.findall(r"^  ([a-z][a-z-]+)  ", call("help").stdout.split("Exit status")[0], re.M)


def test_help_lists_exactly_the_commands_that_exist(call):
    assert listed(call) == COMMANDS
    for name in LATER:
        done = call(name)
        assert done.returncode == 2 and f"no command '{name}'" in done.stderr and not done.stdout


def test_no_command_is_an_error_that_explains(call):
    done = call()
    assert done.returncode == 2 and not done.stdout
    assert "usage: hprofiler COMMAND" in done.stderr and "hprofiler run" in done.stderr


def test_version(call):
    for option in ("--version", "-V"):
        done = call(option)
        assert done.returncode == 0 and re.fullmatch(r"hprofiler \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("typed, meant", [("rum", "run"), ("sumary", "summary"), ("exprot", "export"), ("doc", "doctor"), ("back", "backends"),
                                          ("report", "summary"), ("stat", "summary"), ("top", "summary"), ("record", "run"), ("script", "export")])
def test_mistyped_command_gets_its_neighbour(call, typed, meant):
    done = call(typed)
    assert done.returncode == 2 and f"did you mean '{meant}'?" in done.stderr


def test_program_in_place_of_a_command_is_explained(call):
    assert "hprofiler run -- PROGRAM" in call("/bin/true").stderr


@pytest.mark.parametrize("arguments, said", [
    (["summary"], "TRACE is missing"),
    (["summary", "a", "b"], "'b' is one argument too many"),
    (["summary", "a", "--", "b"], "takes no program"),
    (["summary", "a", "--tpo", "3"], "did you mean --top"),
    (["summary", "a", "--format", "xml"], "none of text|csv|json"),
    (["summary", "a", "--top", "many"], "needs a whole number"),
    (["export", "a", "b"], "one argument too many"),
    (["completion"], "SHELL is missing"),
    (["completion", "tcsh"], "bash, zsh and fish"),
    (["attach"], "attach -p PID"),
    (["attach", "-p", "1", "-g"], "for callers give --perf-callgraph"),
    (["attach", "-p", "1", "-o", "x.txt"], "names no format"),
    (["attach", "-p", "1", "--perf-callgraph", "frames"], "none of fp, dwarf"),
    (["recover", "x", "-o", "x.txt"], "names no format"),
    (["export", "a"], "which format?"),
    (["export", "a", "--to", "csv", "--window", "2:1"], "ends before it begins"),
    (["export", "a", "--to", "csv", "--where", "colour=red"], "name category kind"),
    (["summary", "a", "--where", "colour=red"], "name category kind"),
    (["help", "merge"], "no command 'merge'"),
    (["export", "a", "--to", "json"], "did you mean chrome"),
    (["export", "a", "--to", "pb"], "did you mean chrome"),
    (["export", "a", "--to", "html"], "did you mean flamegraph-html"),
    (["export", "a", "--to", "docx"], "use one of native, chrome"),
])
def test_wrong_usage_is_status_2_and_names_the_mistake(call, arguments, said):
    done = call(*arguments)
    assert done.returncode == 2 and said in done.stderr and not done.stdout
    assert done.stderr.startswith("hprofiler ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments, said", [
    (["run"], "no program is given"),
    (["run", "--"], "no program is given"),
    (["run", "true"], "hprofiler run -- true"),
    (["run", "--perf-freq", "0", "--", "true"], "too small"),
    (["run", "--perf-callgraph", "frames", "--", "true"], "none of fp, dwarf"),
    (["run", "--perf-callgraph", "dwarf,7", "--", "true"], "a size from 512"),
    (["run", "--perf-callgraph", "dwarf,65K", "--", "true"], "a size from 512 to 65536"),
    (["run", "ls", "-l"], "put -- before the command: hprofiler run -- ls -l"),
    (["run", "--no-summary", "ls", "-l", "/tmp"], "put -- before the command: hprofiler run -- ls -l /tmp"),
    (["run", "-b", "cup", "--", "true"], "no backend 'cup'"),
    (["run", "-b", "cpu,,mpi", "--", "true"], "no backend ''"),
    (["run", "-o", "trace.txt", "--", "true"], "names no format"),
])
def test_wrong_usage_of_run_is_status_125(call, arguments, said):
    done = call(*arguments)
    assert done.returncode == 125 and said in done.stderr and not done.stdout


def test_help_of_each_command_is_complete(call):
    for name in COMMANDS:
        done = call(name, "--help")
        assert done.returncode == 0 and not done.stderr
        assert done.stdout.startswith(f"usage: hprofiler {name}")
        assert "\nOptions\n" in done.stdout and "--help" in done.stdout
        assert done.stdout == call("help", name).stdout
        assert call(name, "-h").stdout == done.stdout


@pytest.mark.parametrize("width", [40, 80])
def test_help_keeps_to_the_terminal_width(call, width):
    unbreakable = re.compile(r"^ *\S+(?: \\\\)?$")
    for arguments in (["help"], *([name, "--help"] for name in COMMANDS)):
        text = call(*arguments, env={**os.environ, "COLUMNS": str(width)}).stdout
        wide = [line for line in text.splitlines() if len(line) > width and not unbreakable.match(line)
                and not line.startswith("usage:") and not line.startswith("      --")]
        assert not wide, (arguments, wide)


def test_wrapped_examples_may_still_be_copied(call):
    text = call("help", "query", env={**os.environ, "COLUMNS": "40"}).stdout.split("Examples\n")[1]
    script = "hprofiler() { printf '%s|' \"$@\"; echo; }\n" + text.split("      total time")[0]
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert not done.stderr and " ".join(done.stdout.split()).startswith("query|app.hpt|select name, sum(end_ns - begin_ns) from spans")


def test_man_pages_are_clean_roff(call):
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    for name in ["hprofiler", *COMMANDS]:
        page = call("man", name).stdout
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-bcou"], input=page, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, (name, done.stderr)
        assert "NAME" in done.stdout and "EXIT STATUS" in done.stdout


def test_all_man_pages_into_a_directory(call, tmp_path):
    assert call("man", tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["hprofiler.1", *(f"hprofiler-{name}.1" for name in COMMANDS)])


def complete_in_bash(script, line):
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\ncompopt() {{ :; }}\n_hprofiler\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("line, expected, refused", [
    ("hprofiler ", {"run", "summary", "--version"}, {"man", "gui"}),
    ("hprofiler su", {"summary"}, {"run"}),
    ("hprofiler run --perf", {"--perf-freq", "--perf-callgraph"}, {"--output"}),
    ("hprofiler run --no-", {"--no-summary"}, {"--summary"}),
    ("hprofiler run -b ", {"cpu", "auto", "mpi"}, set()),
    ("hprofiler run -b cpu,m", {"cpu,mpi"}, {"cpu,cuda"}),
    ("hprofiler run --perf-callgraph ", {"fp", "dwarf", "dwarf,", "lbr"}, set()),
    ("hprofiler attach -p ", {str(os.getpid())}, {"cpuinfo"}),
    ("hprofiler export x --to fl", {"flamegraph-html"}, {"folded"}),
    ("hprofiler summary x --format ", {"text", "csv", "json"}, set()),
    ("hprofiler completion ", {"bash", "zsh", "fish"}, set()),
    ("hprofiler help re", {"recover"}, {"run"}),
])
def test_bash_completion(call, line, expected, refused):
    words = set(complete_in_bash(call("completion", "bash").stdout, line))
    assert expected <= words and not refused & words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_parse(call, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n"], input=call("completion", shell).stdout, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr


@pytest.fixture
def session_directory(tmp_path):
    """The name of a session in a TMPDIR of its own, and the environment that has it."""
    (tmp_path / "hprofiler-Ab12Cd").mkdir()
    return str(tmp_path / "hprofiler-Ab12Cd"), {**os.environ, "TMPDIR": str(tmp_path)}


def test_bash_completes_sessions(call, session_directory, monkeypatch):
    session, environment = session_directory
    monkeypatch.setenv("TMPDIR", environment["TMPDIR"])
    script = call("completion", "bash").stdout
    assert session in complete_in_bash(script, "hprofiler recover ")
    assert session in complete_in_bash(script, "hprofiler recover " + session[:-3])


@pytest.mark.parametrize("line, expected", [
    ("hprofiler ", {"run", "doctor"}),
    ("hprofiler export --to ", {"flamegraph-html"}),
    ("hprofiler run --perf-callgraph ", {"fp", "dwarf", "lbr"}),
    ("hprofiler run -b cpu,", {"cpu,mpi"}),
    ("hprofiler run -- bas", {"bash"}),
    ("hprofiler run -- /bin/ech", {"/bin/echo"}),
    ("hprofiler attach -p ", {str(os.getpid())}),
    ("hprofiler recover ", {"SESSION"}),
])
def test_fish_completes(call, session_directory, line, expected):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    session, environment = session_directory
    script = call("completion", "fish").stdout
    done = subprocess.run(["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"], capture_output=True, text=True, timeout=60,
                          env=environment)
    words = {line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()}
    assert {session if word == "SESSION" else word for word in expected} <= words and not done.stderr


@pytest.mark.parametrize("arguments", [["doctor"], ["help"], ["backends", "--format", "json"], ["completion", "zsh"]])
def test_a_full_stdout_is_a_failure(call, arguments):
    with open("/dev/full", "w") as full:
        done = call(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and "No space left on device" in done.stderr


def test_a_closed_stdout_is_a_failure(hprofiler):
    done = subprocess.run(["sh", "-c", '"$0" help >&-', hprofiler], stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "standard output" in done.stderr


def test_doctor_says_the_same_in_three_formats(call):
    text = call("doctor").stdout
    checks = json.loads(call("doctor", "--format", "json").stdout)["checks"]
    rows = list(csv.DictReader(io.StringIO(call("doctor", "--format", "csv").stdout)))
    assert [row["check"] for row in rows] == [check["check"] for check in checks]
    ids = {check["check"] for check in checks}
    assert {"perf_event_paranoid", "perf_event_mlock_kb", "seccomp", "perf_event_max_sample_rate", "pmu", "debug_info", "capabilities",
            "kernel_symbols", "session_directory", "time_namespace", "attach", "container"} <= ids
    for check in checks:
        assert check["state"] in ("ok", "limited", "blocked", "unknown")
        if check["state"] in ("limited", "blocked"):
            assert check["cost"] and check["who"], check
            assert check["found"].split(":")[0].split(",")[0] in text
    assert "CPU sampling" in text.splitlines()[-1]


def test_doctor_judges_the_session_directory_it_is_given(call, tmp_path):
    def state(*arguments):
        checks = json.loads(call("doctor", "--format", "json", *arguments).stdout)["checks"]
        return next(check for check in checks if check["check"] == "session_directory")
    assert state("--session-dir", tmp_path)["found"].startswith(str(tmp_path))
    missing = state("--session-dir", tmp_path / "none")
    assert missing["state"] == "blocked" and "does not exist" in missing["found"]


def test_backends_names_all_and_says_why_not(call):
    backends = json.loads(call("backends", "--format", "json").stdout)["backends"]
    assert [backend["name"] for backend in backends] == ["cpu", "cuda", "opencl", "openmp", "rocm", "nccl", "mpi", "likwid"]
    for backend in backends:
        assert backend["available"] or backend["reason"]
        runtimes = [(backend["version"], backend["path"]), *((other["version"], other["path"]) for other in backend["others"])]
        paths = [os.path.realpath(path) for _, path in runtimes if path]
        assert len(set(paths)) == len(paths), f"{backend['name']}: a runtime is named twice"
        assert all(version for version, _ in runtimes[1:])
    cpu = backends[0]
    assert [way["name"] for way in cpu["ways"]] == ["cycles", "cpu-clock", "timers"]
    assert cpu["available"] == any(way["works"] for way in cpu["ways"])
    text = call("backends").stdout
    assert all(f"  {backend['name']}" in text for backend in backends)


def test_colours_and_width_only_for_a_terminal(call, hprofiler):
    assert "\033" not in call("doctor").stdout
    import pty
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        parent, child = pty.openpty()
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "72", **environment}
        env.pop("NO_COLOR", None) if not environment.get("NO_COLOR") else None
        process = subprocess.Popen([hprofiler, "doctor"], stdout=child, stdin=subprocess.DEVNULL, env=env)
        os.close(child)
        output = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            output += piece
        process.wait(timeout=60)
        os.close(parent)
        assert (b"\033[" in output) == coloured


def test_doctor_cuts_nothing_on_a_narrow_terminal(call, hprofiler):
    import pty
    wide = [line.split(None, 1)[1] for line in call("doctor").stdout.splitlines() if line.startswith("ok ")]
    parent, child = pty.openpty()
    process = subprocess.Popen([hprofiler, "doctor"], stdout=child, stdin=subprocess.DEVNULL,
                               env={**os.environ, "TERM": "dumb", "COLUMNS": "72", "LC_ALL": "C.UTF-8"})
    os.close(child)
    output = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    process.wait(timeout=60)
    os.close(parent)
    narrow = output.decode().replace("\r\n", "\n")
    fine = narrow[narrow.index("\nok "):]
    assert "…" not in fine and max(len(line) for line in fine.splitlines()) <= 72
    words = " ".join(fine.split())
    assert wide and all(" ".join(line.split())[:60] in words for line in wide if "MiB free" not in line and "Hz now" not in line)


class Zsh:
    """An interactive zsh with our completion loaded."""

    def __init__(self, script, folder):
        import pty
        (folder / "_hprofiler").write_text(script)
        self.terminal, child = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
        self.process = subprocess.Popen(["zsh", "-f", "-i"], stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True)
        os.close(child)
        os.write(self.terminal, f"PS1='' fpath=({folder} $fpath); autoload -U compinit; compinit -u -d {folder}/dump; echo rea''dy\n".encode())
        self.read_until("ready")

    def read_until(self, expected, seconds=30):
        output, deadline = "", time.monotonic() + seconds
        while expected not in output and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.2)[0]:
                output += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\r\a\b]", "", os.read(self.terminal, 65536).decode(errors="replace"))
        return output

    def complete(self, line, expected):
        os.write(self.terminal, b"\x15" + line.encode() + b"\t")
        output = self.read_until(expected)
        assert expected in output, (line, output)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


def test_zsh_completes(call, tmp_path, session_directory, monkeypatch):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    monkeypatch.setenv("TMPDIR", session_directory[1]["TMPDIR"])
    zsh = Zsh(call("completion", "zsh").stdout, tmp_path)
    try:
        zsh.complete("hprofiler su", "hprofiler summary ")
        zsh.complete("hprofiler export x --to fl", "--to flamegraph-html")
        zsh.complete("hprofiler run --no-s", "--no-summary")
        zsh.complete("hprofiler run -- /bin/ech", "/bin/echo")
        zsh.complete("hprofiler run --no-summary -- mkfif", "-- mkfifo ")
        zsh.complete("hprofiler run -- env mkfif", "env mkfifo ")
        zsh.complete("hprofiler run -b cpu,mp", "cpu,mpi")
        zsh.complete("hprofiler run --perf-callgraph=dwarf", "dwarf,")
        zsh.complete(f"hprofiler recover {session_directory[0][:-4]}", session_directory[0])
        zsh.complete("hprofiler completion fi", "completion fish")
    finally:
        zsh.close()
