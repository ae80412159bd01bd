#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the built in-target libraries bring into a process and ask from it.

  tests/lint/lint_libraries.py FOLDER      with libhprofiler_*.so

Exports are those of the library's exports.map and no others; needed are only libc, libdl and libpthread, at versions that
glibc 2.17 has, and by collectors the runtime; musl has each of these symbols too (checked where musl is installed)."""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECT = ROOT / "src/collect"
RUNTIME = "libhprofiler_runtime.so"
NEEDED = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
GLIBC_NEWEST = (2, 17)
SKIP = 77


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *map(str, arguments)], capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def dynamic_symbols(library):
    """(name, version or None, defined, weak) of each."""
    for line in readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit() or fields[3] == "SECTION":
            continue
        name, _, version = fields[7].partition("@")
        version = version.lstrip("@") or None
        yield name, version, fields[6] != "UND", fields[4] == "WEAK"


def allowed_exports(library):
    """Patterns of the collector's own exports.map, else the one all share. A map with a node name would hide us from versioned symbols."""
    name = re.fullmatch(r"libhprofiler_(.+)\.so", library.name).group(1)
    own = COLLECT / name / "exports.map"
    path = own if own.exists() else COLLECT / "exports.map"
    text = re.sub(r"/\*.*?\*/|#[^\n]*", " ", path.read_text(), flags=re.S).strip()
    if not text.startswith("{"):
        return path, None
    block = re.search(r"global:(.*?)(local:|\})", text, re.S)
    return path, re.findall(r"[\w*?]+", block.group(1)) if block else []


def musl_symbols():
    for path in [*pathlib.Path("/usr/lib").glob("*-linux-musl/libc.so"), *pathlib.Path("/lib").glob("ld-musl-*.so.1")]:
        return {name for name, _, defined, _ in dynamic_symbols(path) if defined}
    return None


def check_needed(library):
    for needed in re.findall(r"\(NEEDED\).*\[(.*?)\]", readelf("-d", library)):
        if needed not in NEEDED and (needed != RUNTIME or library.name == RUNTIME):
            yield f"needs {needed}: only {', '.join(sorted(NEEDED))} may be needed"


def check_stack(library):
    if re.search(r"GNU_STACK.*\bRWE\b", readelf("-l", library)):
        yield "asks for an executable stack"


def check_symbols(library, musl):
    runtime = library.with_name(RUNTIME)
    ours = {name for name, _, defined, _ in dynamic_symbols(runtime) if defined} if library != runtime else set()
    path, patterns = allowed_exports(library)
    if patterns is None:
        yield f"{path.relative_to(ROOT)} has a node name"
        patterns = ["*"]
    for name, version, defined, weak in dynamic_symbols(library):
        if defined:
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                yield f"exports {name}, which {path.relative_to(ROOT)} doesn't list"
            continue
        if name in ours:
            continue
        match = re.match(r"GLIBC_(\d+)\.(\d+)", version or "")
        if version and (not match or (int(match.group(1)), int(match.group(2))) > GLIBC_NEWEST):
            yield f"uses {name}@{version}: GLIBC_2.17 is the newest allowed"
        if not version and not weak:
            yield f"uses {name}, which no needed library has"
        if musl is not None and not weak and name not in musl:
            yield f"uses {name}, which musl doesn't have"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    libraries = sorted(pathlib.Path(sys.argv[1]).glob("libhprofiler_*.so"))
    if not libraries:
        print(f"skipped: no libhprofiler_*.so in {sys.argv[1]}")
        sys.exit(SKIP)
    musl = musl_symbols()
    findings = [f"{library.name}: {finding}" for library in libraries
                for finding in [*check_needed(library), *check_stack(library), *check_symbols(library, musl)]]
    print("\n".join(findings) if findings else f"{len(libraries)} libraries: clean"
          + ("" if musl is not None else " (musl is not installed: not compared with its symbols)"))
    sys.exit(1 if findings else 0)


main()
