# SPDX-License-Identifier: MIT
"""Names, inlined frames and lines against addr2line's, and every place where debug info may be."""
import os
import random
import re
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = os.environ.get("HP_SYMBOL_PROBE", "")
C = os.path.join(HERE, "corpus_c.c")
CPP = os.path.join(HERE, "corpus_cpp.cpp")
RUST = os.path.join(HERE, "corpus_rust.rs")

pytestmark = pytest.mark.skipif(not PROBE, reason="HP_SYMBOL_PROBE is not set")


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(program + " is not installed")


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                            errors="replace", **options)
    if result.returncode:
        pytest.skip("%s: %s" % (" ".join(command), result.stdout[-300:]))
    return result.stdout


def build(tmp_path, compiler, flags, source):
    need(compiler)
    program = str(tmp_path / "program")
    run(compiler, *flags, "-o", program, source, *(["-lm"] if source == C else []))
    return program


def text_addresses(program, count):
    match = re.search(r" \.text\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)", run("readelf", "-SW", program))
    start, size = int(match.group(1), 16), int(match.group(2), 16)
    chooser = random.Random(5)
    return [start + chooser.randrange(size) for _ in range(count)]


def inside_functions(program):
    """Whether an address belongs to a function: binutils' addr2line names the padding behind one as if it did."""
    ranges = [(int(value, 16), int(size, 16)) for value, size, kind in
              (line.split()[:3] for line in run("nm", "-S", "--defined-only", program).splitlines() if len(line.split()) >= 4)
              if kind in "tTwWi"]
    return lambda address: any(start <= address < start + size for start, size in ranges)


def parse(text):
    found, frames = {}, None
    for line in text.splitlines():
        if re.match(r"^0x[0-9a-f]+$", line):
            frames = found.setdefault(int(line, 16), [])
        elif frames is not None:
            frames.append(line)
    return {address: list(zip(lines[0::2], lines[1::2])) for address, lines in found.items()}


def ours(program, addresses, *arguments, **options):
    result = subprocess.run([PROBE, program] + list(arguments), input="\n".join("%x" % a for a in addresses) + "\n",
                            stdout=subprocess.PIPE, universal_newlines=True, check=True, **options)
    return parse(result.stdout), result.stdout


def plain_function(name):
    name = re.sub(r" \[clone.*|\.(isra|part|cold|constprop|lto_priv|localalias)\b.*|\(.*", "", name)
    # addr2line shows return types of templates
    return name.rsplit(" ", 1)[-1] if "<" not in name and "{" not in name else name


def plain_line(place):
    name, line = place.split(" (discriminator")[0].rsplit(":", 1)
    return os.path.basename(name), line


@pytest.mark.parametrize("compiler,flags,source", [
    ("gcc", ["-O2", "-g"], C), ("gcc", ["-O3", "-g", "-gdwarf-4", "-flto"], C), ("gcc", ["-O0", "-g"], C),
    ("clang", ["-O2", "-g"], C), ("g++", ["-O2", "-g"], CPP), ("clang++", ["-O2", "-g"], CPP),
    ("g++", ["-O2", "-g", "-gz"], CPP), ("g++", ["-O2", "-g", "-gsplit-dwarf"], CPP), ("rustc", ["-O", "-g"], RUST),
], ids=lambda value: value if isinstance(value, str) and "/" not in value else
    "".join(value) if isinstance(value, list) else "")
def test_inlined_frames_and_lines_are_addr2lines(tmp_path, compiler, flags, source):
    # binutils' own does not follow clang's range lists nor split debug info
    reference = next((name for name in ("llvm-addr2line", "llvm-addr2line-14", "llvm-addr2line-15", "addr2line")
                      if shutil.which(name)), "addr2line")
    need(reference, "nm")
    if reference == "addr2line" and (compiler.startswith("clang") or "-gsplit-dwarf" in flags):
        pytest.skip("llvm-addr2line is not installed")
    program = build(tmp_path, compiler, flags, source)
    addresses = text_addresses(program, 400)
    mine, _ = ours(program, addresses)
    theirs = parse(run(reference, "-fiaC", "-e", program, *["%x" % a for a in addresses]))
    is_code = inside_functions(program)
    compared = wrong = 0
    examples = []
    for address in set(addresses):
        expected = theirs[address]
        if not is_code(address) or any(name == "??" or plain_line(place)[1] in ("?", "0") for name, place in expected):
            continue  # padding, or code without debug info
        compared += 1
        got = mine[address]
        if [plain_line(place) for _, place in got] != [plain_line(place) for _, place in expected]:
            wrong += 1
            examples.append("%x\n  ours %s\n  addr2line %s" % (address, got, expected))
    print("\n".join(examples[:3]))
    print("%s %s: %d addresses compared, %d differ" % (compiler, " ".join(flags), compared, wrong))
    assert compared > 50
    assert wrong <= compared // 100, "\n".join(examples[:5])


def strip_to(program, debug):
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", "-s", program)


def function_addresses(program):
    return {name: int(value, 16) for value, kind, name in
            (line.split()[:3] for line in run("nm", "--defined-only", program).splitlines() if len(line.split()) == 3)
            if kind in "tT"}


def assert_named(program, addresses, *arguments, **options):
    mine, _ = ours(program, list(addresses.values()), *arguments, **options)
    for name, address in addresses.items():
        assert mine[address][-1][0] == name


WANTED = ("recurse", "leaf", "dynamic_stack", "callbacks", "main")


def test_stripped_programs_show_module_and_offset(tmp_path):
    need("gcc", "nm", "strip")
    program = build(tmp_path, "gcc", ["-O1", "-g"], C)
    address = function_addresses(program)["recurse"]
    run("strip", "-s", program)
    mine, text = ours(program, [address], str(tmp_path))
    assert mine[address] == [("program+0x%x" % address, ":0")]


@pytest.mark.parametrize("where", ["build-id", "beside", ".debug", "directory"])
def test_separate_debug_files(tmp_path, where):
    need("gcc", "nm", "strip", "objcopy")
    flags = ["-O1", "-g", "-Wl,--build-id=" + ("sha1" if where == "build-id" else "none")]
    program = build(tmp_path, "gcc", flags, C)
    addresses = {name: address for name, address in function_addresses(program).items() if name in WANTED}
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", program))
    debug_directory = tmp_path / "debug"
    beside = {"beside": tmp_path, ".debug": tmp_path / ".debug", "directory": str(debug_directory) + str(tmp_path),
              "build-id": str(debug_directory / ".build-id" / (build_id.group(1)[:2] if build_id else ""))}[where]
    os.makedirs(str(beside), exist_ok=True)
    debug = os.path.join(str(beside), build_id.group(1)[2:] + ".debug" if where == "build-id" else "program.debug")
    strip_to(program, debug)
    if where != "build-id":
        run("objcopy", "--add-gnu-debuglink=" + debug, program)
    assert_named(program, addresses, str(debug_directory))
    mine, _ = ours(program, [addresses["main"]], str(debug_directory))
    assert plain_line(mine[addresses["main"]][-1][1])[0] == "corpus_c.c"
    if where != "build-id":  # a debug file that does not belong is not believed
        with open(debug, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        mine, _ = ours(program, [addresses["main"]], str(debug_directory))
        assert mine[addresses["main"]][0][0].startswith("program+0x")


def test_names_packed_into_the_program(tmp_path):
    need("gcc", "nm", "strip", "objcopy", "xz")
    program = build(tmp_path, "gcc", ["-O1"], C)
    addresses = {name: address for name, address in function_addresses(program).items() if name in WANTED}
    mini = str(tmp_path / "mini")
    shutil.copy(program, mini)
    run("strip", "--strip-debug", mini)
    run("xz", "-f", mini)
    run("strip", "-s", program)
    run("objcopy", "--add-section", ".gnu_debugdata=" + mini + ".xz", program)
    mine, text = ours(program, list(addresses.values()), str(tmp_path))
    if "program+0x" in text:
        pytest.skip("built without liblzma")
    assert_named(program, addresses, str(tmp_path))


def test_32_bit_programs(tmp_path):
    need("gcc", "nm")
    include = "/usr/include/" + run("gcc", "-print-multiarch").strip()
    program = build(tmp_path, "gcc", ["-m32", "-idirafter", include, "-O1", "-g"], C)
    addresses = {name: address for name, address in function_addresses(program).items() if name in WANTED}
    assert_named(program, addresses)
    mine, _ = ours(program, [addresses["main"]])
    assert plain_line(mine[addresses["main"]][-1][1])[0] == "corpus_c.c"


def test_shared_parts_of_debug_info(tmp_path):
    need("g++", "dwz", "nm")
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    for program in (one, two):
        run("g++", "-O2", "-g", "-gdwarf-4", "-Wl,--build-id=sha1", "-o", program, CPP, "-DNAME=" + os.path.basename(program))
    before, _ = ours(one, text_addresses(one, 200))
    common = str(tmp_path / "common.debug")
    run("dwz", "-m", common, "-M", common, one, two)
    assert os.path.exists(common)
    after, _ = ours(one, text_addresses(one, 200))
    assert before == after


def debuginfod_environment(tmp_path, urls):
    return dict(os.environ, DEBUGINFOD_URLS=urls, DEBUGINFOD_CACHE_PATH=str(tmp_path / "cache"))


def test_debug_files_from_a_server(tmp_path):
    """libdebuginfod also speaks file://, so a folder laid out like a server's answers is server enough."""
    need("gcc", "nm", "strip", "objcopy")
    program = build(tmp_path, "gcc", ["-O1", "-g", "-Wl,--build-id=sha1"], C)
    addresses = {name: address for name, address in function_addresses(program).items() if name in WANTED}
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", program)).group(1)
    folder = tmp_path / "server" / "buildid" / build_id
    folder.mkdir(parents=True)
    strip_to(program, str(folder / "debuginfo"))
    server = "file://" + str(tmp_path / "server")
    _, text = ours(program, [addresses["main"]], str(tmp_path), env=debuginfod_environment(tmp_path, ""))
    assert "program+0x" in text  # not asked without DEBUGINFOD_URLS
    try:
        import ctypes
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        pytest.skip("libdebuginfod.so.1 is not installed")
    assert_named(program, addresses, str(tmp_path), env=debuginfod_environment(tmp_path, server))


def test_a_server_that_does_not_answer_costs_a_bounded_time(tmp_path):
    import socket
    import time
    need("gcc", "nm", "strip")
    program = build(tmp_path, "gcc", ["-O1", "-g", "-Wl,--build-id=sha1"], C)
    address = function_addresses(program)["main"]
    run("strip", "-s", program)
    with socket.socket() as listener:  # accepts connections and says nothing
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        took = []
        while len(took) < 3 and (not took or took[-1] >= 12):  # who gets no processor needs longer
            begin = time.monotonic()
            _, text = ours(program, [address], str(tmp_path), env=debuginfod_environment(
                tmp_path, "http://127.0.0.1:%d" % listener.getsockname()[1]))
            assert "program+0x" in text
            took.append(time.monotonic() - begin)
    assert took[-1] < 12


def test_programs_in_other_mount_namespaces(tmp_path):
    """The program lies on a file system that only its own namespace has."""
    need("gcc", "unshare", "mount")
    probe = os.environ.get("HP_UNWIND_PROBE", "")
    if not probe:
        pytest.skip("HP_UNWIND_PROBE is not set")
    program = build(tmp_path, "gcc", ["-O1", "-no-pie"], C)
    address = function_addresses(program)["recurse"]
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    script = "mount -t tmpfs none %s && cp %s %s/program && exec %s/program" % (hidden, program, hidden, hidden)
    target = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stderr=subprocess.PIPE)
    try:
        import time
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.02)
            if target.poll() is not None:
                pytest.skip("no mount namespaces here: " + target.stderr.read().decode(errors="replace")[-200:])
            if os.readlink("/proc/%d/exe" % target.pid).endswith("hidden/program"):
                break
        registers = " ".join(["0"] * 7 + ["7fff00000000"] + ["0"] * 8 + ["%x" % address])
        answer = subprocess.run([probe], input="%x 7fff00000000 1ffff %s %s\n" % (target.pid, registers, "00" * 64),
                                stdout=subprocess.PIPE, universal_newlines=True).stdout
        assert answer.splitlines()[0].split(" ", 1)[1] == "recurse"
        assert not os.path.exists(str(hidden / "program"))
    finally:
        target.kill()
        target.wait()


def test_linkage_stubs_are_named(tmp_path):
    need("gcc", "objdump")
    for flags in (["-O2", "-Wl,-z,lazy"], ["-O2", "-Wl,-z,now"], ["-O2", "-fcf-protection=none", "-Wl,-z,lazy", "-no-pie"]):
        program = build(tmp_path, "gcc", flags, C)
        stubs = {name: int(address, 16) for address, name in
                 re.findall(r"^([0-9a-f]+) <(\w+@plt)>:", run("objdump", "-d", "--section=.plt", "--section=.plt.sec",
                                                              "--section=.plt.got", program), re.M)}
        assert "qsort@plt" in stubs
        assert_named(program, {name: address + 4 for name, address in stubs.items()})
