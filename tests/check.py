#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All tests, stage by stage, each in a build folder of its own below build/check.

  tests/check.py [--list] [STAGE...]

A stage whose tools are missing is skipped with a line that says so. The last line is 'N passed, N failed, N skipped'."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build/check"
JOBS = str(len(os.sched_getaffinity(0)))
# Whole-program tests wait more than they compute: of those that may run side by side, more run than there are cores.
TESTS_AT_ONCE = str(2 * int(JOBS))
FUZZ_SECONDS = 20 # of each target; tests/fuzz/run by hand is for hours
TSAN_MODULES = ("base", "wire", "record", "sample", "trace")
CROSS_MODULES = ("base", "wire", "trace", "symbol")
# Lint reads sources, bench and the comparisons with gdb and perf measure, foreign programs read files: none of it depends on the build.
NOT_SANITIZED = r"^((lint|bench|unwind|foreign)\.|cli\.test_targets_agree)"
# A sanitizer finds by code that runs, not by how often: the plain build's stage has the full numbers.
FEWER = {"HPROFILER_KILLS": "6", "HPROFILER_HOSTILE_COPIES": "20", "HPROFILER_KNOWN_SEEDS": "1", "HPROFILER_KILL_MOMENTS": "4"}


class Skip(Exception):
    """The stage cannot run here; the text says why."""


class Stage:
    """What a running stage notes down: its log and what it counted."""

    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped = name, 0, 0, 0
        self.log_path = WORK / f"{name}.log"
        self.log_path.write_text("")

    def say(self, line):
        print(f"    {line}", flush=True)

    def count(self, passed, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def run(self, *command, check=True, **environment):
        """Runs a command into the log. Returns (exit status, output)."""
        command = [str(word) for word in command]
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env={**os.environ, **environment})
        with self.log_path.open("a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout}\n")
        if check and done.returncode:
            self.count(0, 1)
            print("\n".join(telling_lines(done.stdout)), flush=True)
            self.say(f"FAILED ({done.returncode}): {' '.join(command)}")
            raise subprocess.CalledProcessError(done.returncode, command)
        return done.returncode, done.stdout

    def build(self, *options, targets=("all",), compiler="gcc", folder=None):
        folder = folder or WORK / self.name
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        self.run("cmake", "-S", ROOT, "-B", folder, *generator, f"-DCMAKE_C_COMPILER={compiler}", "-DHP_WERROR=ON", *options)
        self.run("cmake", "--build", folder, "--parallel", JOBS, "--target", *targets)
        return folder

    def ctest(self, folder, *options, **environment):
        """Runs CTest; a pytest file counts by its cases."""
        cases = folder / "pytest-cases"
        shutil.rmtree(cases, ignore_errors=True)
        results = folder / "ctest.xml"
        _, output = self.run("ctest", "--test-dir", folder, "--output-on-failure", "--parallel", TESTS_AT_ONCE, "--output-junit", results,
                             "--test-output-size-passed", "100000",
                             *options, check=False, **environment)
        if not results.exists():
            self.count(0, 1)
            print(output[-4000:])
            return
        tests = list(xml.etree.ElementTree.parse(results).getroot().iter("testcase"))
        for test in tests:
            self.count_ctest(test, cases / f"{test.get('name')}.xml")
        slowest = sorted(((float(test.get("time") or 0), test.get("name")) for test in tests), reverse=True)[:10]
        self.say("slowest: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in slowest))

    def count_ctest(self, case, pytest_xml):
        failed = case.get("status") == "fail" or case.find("failure") is not None
        skipped = case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None
        name = case.get("name")
        if failed:
            self.say(f"FAILED {name}")
            print((case.findtext("system-out") or "")[-30000:], flush=True)
        elif "== stuck" in (case.findtext("system-out") or ""):
            self.say(f"hung once, then passed: {name}")
            print(case.findtext("system-out")[-30000:], flush=True)
        if pytest_xml.exists():
            self.count_pytest(pytest_xml, failed)
        elif skipped:
            self.count(0, 0, 1)
            self.say(f"skipped {name}: {last_line(case.findtext('system-out'))}")
        else:
            self.count(not failed, failed)

    def count_pytest(self, path, file_failed):
        failures = 0
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            skip = case.find("skipped")
            failed = case.find("failure") is not None or case.find("error") is not None
            failures += failed
            self.count(not failed and skip is None, failed, skip is not None)
            if skip is not None:
                self.say(f"skipped {path.stem}::{case.get('name')}: {skip.get('message')}")
        if file_failed and not failures: # it was killed, or collecting failed
            self.count(0, 1)


def telling_lines(output):
    """What a reader needs of a failed build: the errors with what stands around them, not each step."""
    return [line[:400] for line in output.splitlines() if not re.match(r"\[\d+/\d+\]|-- ", line)][-80:]


def last_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else "no reason given"


def test_programs(modules):
    """Build targets: the unit tests of these modules, the runtime's threads in one process, and a run that is watched."""
    return [f"{path.parent.name}_{path.stem}" for path in sorted((ROOT / "tests/unit").glob("*/test_*.c"))
            if path.parent.name in modules] + ["runtime_threads", "runtime_live"]


def tests_of(modules):
    return rf"^(unit\.({'|'.join(modules)})\.|runtime\.(threads|live)$)"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")


def stage_gcc(stage):
    """The build that users get, and every test"""
    stage.ctest(stage.build())


def stage_clang(stage):
    """A second compiler, and everything under AddressSanitizer and UBSan"""
    need("clang")
    folder = stage.build("-DHP_FUZZ=ON", compiler="clang") # one build for this stage, for fuzz and for tidy
    stage.ctest(folder, "-E", NOT_SANITIZED, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1",
                LSAN_OPTIONS=f"suppressions={ROOT}/tests/lint/leaks.txt:print_suppressions=0", UBSAN_OPTIONS="print_stacktrace=1",
                HP_SANITIZED="address", **FEWER)


def stage_tsan(stage):
    """Runtime, record and thread pool under ThreadSanitizer"""
    folder = stage.build("-DHP_SANITIZE=thread", targets=test_programs(TSAN_MODULES))
    stage.ctest(folder, "-R", tests_of(TSAN_MODULES), TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1", HP_SANITIZED="thread")


def stage_fuzz(stage):
    """Each fuzz target for 20 seconds"""
    need("clang")
    folder = WORK / "clang"
    if not list((folder / "tests/fuzz").glob("fuzz_*")):
        folder = stage.build("-DHP_FUZZ=ON", compiler="clang", folder=folder)
    _, output = stage.run(ROOT / "tests/fuzz/run", folder, FUZZ_SECONDS, check=False)
    for line in output.splitlines()[:-1]:
        stage.say(line)
    passed, failed = re.search(r"(\d+) passed, (\d+) failed", output).groups()
    stage.count(int(passed), int(failed))


def file_digest(paths, salt):
    digest = hashlib.sha256(salt)
    for path in sorted(paths):
        digest.update(path.encode() + b"\0" + pathlib.Path(path).read_bytes())
    return digest.hexdigest()


def tidy_commands(folder):
    """One compile command for each source: clang-tidy would look at one that several targets compile once for each of them."""
    commands = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if ROOT / "src" in source.parents:
            commands.setdefault(source, entry)
    return commands


def tidy_source(source, entry, cache, salt):
    """What clang-tidy has against a source, None for nothing. It is not asked again before the source, its headers or the rules change."""
    command = entry["command"].replace("\\", "").replace("-isystem ", "-isystem")
    words = [word for word in command.split() if re.match(r"-[IDf]|-isystem|-std", word)]
    includes = subprocess.run(["clang", "-MM", *words, source], capture_output=True, text=True, check=True).stdout
    stamp = cache / file_digest(includes.replace("\\\n", " ").split(":", 1)[1].split(), salt + entry["command"].encode())
    if not stamp.exists():
        done = subprocess.run(["clang-tidy", "-p", cache, "--quiet", source], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode:
            return done.stdout
        stamp.touch()
    return None


def stage_tidy(stage):
    """clang-tidy on the sources"""
    need("clang", "clang-tidy")
    folder, cache = WORK / "clang", WORK / "tidy-passed"
    if not (folder / "compile_commands.json").exists():
        raise Skip("the clang stage has not run")
    cache.mkdir(exist_ok=True)
    salt, commands = (ROOT / ".clang-tidy").read_bytes(), tidy_commands(folder)
    (cache / "compile_commands.json").write_text(json.dumps(list(commands.values())))
    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
        answers = pool.map(lambda source: tidy_source(source, commands[source], cache, salt), commands)
        for source, complaints in zip(commands, answers):
            stage.count(complaints is None, complaints is not None)
            if complaints is not None:
                print(complaints[-4000:], flush=True)
                stage.say(f"FAILED clang-tidy {source.relative_to(ROOT)}")


def stage_cppcheck(stage):
    """cppcheck on the sources"""
    need("cppcheck")
    cache = WORK / "cppcheck-cache"
    cache.mkdir(exist_ok=True)
    stage.run("cppcheck", "--enable=warning,performance,portability", "--inline-suppr", "--std=c11", "--quiet", "--error-exitcode=1",
              f"--cppcheck-build-dir={cache}", f"-j{JOBS}", "-I", "src", "-D_GNU_SOURCE", "-D__x86_64__", "-DHP_VERSION=\"0\"",
              f"--suppressions-list={ROOT}/tests/lint/cppcheck.txt", "src")
    stage.count(1)


def stage_aarch64(stage):
    """Cross build; unit tests under qemu-user"""
    need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    status, _ = stage.run("aarch64-linux-gnu-gcc", "-x", "c", "/dev/null", "-shared", "-o", stage.log_path.with_suffix(".probe"), check=False)
    if status:
        raise Skip("aarch64-linux-gnu-gcc links nothing: libc6-dev-arm64-cross is not installed")
    sysroot = WORK / "aarch64-sysroot"
    status, output = stage.run("scripts/aarch64-sysroot", sysroot, check=False)
    if status:
        raise Skip(last_line(output))
    folder = stage.build(f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/aarch64.cmake", f"-DHP_SYSROOT={sysroot}",
                         compiler="aarch64-linux-gnu-gcc", targets=[*test_programs(CROSS_MODULES), "runtime", "test_collector"])
    stage.ctest(folder, "-R", tests_of(CROSS_MODULES))
    status, output = stage.run(sys.executable, "-B", ROOT / "tests/lint/lint_libraries.py", folder / "lib", check=False)
    stage.count(status == 0, status not in (0, 77), status == 77)
    if status:
        stage.say(output.strip())


STAGES = {name.removeprefix("stage_"): function for name, function in list(globals().items()) if name.startswith("stage_")}


def run_stage(name):
    stage, begin = Stage(name), time.monotonic()
    print(f"== {name}: {STAGES[name].__doc__}", flush=True)
    try:
        STAGES[name](stage)
    except Skip as skip:
        stage.count(0, 0, 1)
        stage.say(f"skipped: {skip}")
    except subprocess.CalledProcessError:
        pass # counted and shown where it happened
    print(f"   {name}: {stage.passed} passed, {stage.failed} failed, {stage.skipped} skipped, "
          f"{time.monotonic() - begin:.0f} s ({stage.log_path.relative_to(ROOT)})", flush=True)
    return stage


def main():
    if "--list" in sys.argv:
        for name, function in STAGES.items():
            print(f"{name:9} {function.__doc__}")
        return
    wanted = sys.argv[1:] or list(STAGES)
    unknown = [name for name in wanted if name not in STAGES]
    if unknown:
        sys.exit(f"check: there is no stage {unknown[0]}: {' '.join(STAGES)}")
    WORK.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    stages = [run_stage(name) for name in wanted]
    failed = [stage.name for stage in stages if stage.failed]
    print(f"check took {time.monotonic() - begin:.0f} s" + (f"; failed: {' '.join(failed)}" if failed else ""))
    print(f"{sum(stage.passed for stage in stages)} passed, {sum(stage.failed for stage in stages)} failed, "
          f"{sum(stage.skipped for stage in stages)} skipped", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
