#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The house rules that a program can check in the sources.

  tests/lint/lint.py CHECK...      includes sizes spdx words guests; without one: all

Each finding is one line FILE:LINE: what is wrong. The table of who may use whom is the one in ARCHITECTURE.md."""
import ast
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ.get("HP_LINT_ROOT") or pathlib.Path(__file__).resolve().parents[2])
SKIPPED_FOLDERS = {".git", ".cache", "node_modules", "__pycache__", "corpus", "data", "found"}
SOURCE_SUFFIXES = {".c", ".h", ".def", ".py", ".sh", ".cmake", ".map", ".js", ".css", ".html", ".S"}
FILE_LINES_MAXIMUM, FUNCTION_LINES_MAXIMUM = 1000, 100

# A guest in somebody's process doesn't print, end the process, allocate from its heap or change its environment.
GUEST_CALLS = """printf fprintf vprintf vfprintf sprintf vsprintf snprintf vsnprintf dprintf vdprintf asprintf vasprintf puts fputs
    putchar perror exit _exit _Exit quick_exit abort assert malloc calloc realloc reallocarray free strdup strndup posix_memalign
    aligned_alloc memalign valloc fopen fdopen fclose fread fwrite fgets getline system popen setenv putenv unsetenv clearenv
    atexit on_exit setlocale strtok strerror gmtime localtime ctime rand srand""".split()


def sources():
    for folder, names, files in os.walk(ROOT):
        here = pathlib.Path(folder)
        names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS and (name[0] != "." or name == ".ci") and
                          not (here == ROOT and name.startswith("build")))
        for name in sorted(files):
            path = here / name
            if path.is_symlink() or not path.is_file():
                continue
            if path.suffix in SOURCE_SUFFIXES or name in ("CMakeLists.txt", "Makefile", ".clang-tidy", ".clang-format"):
                yield path
            elif not path.suffix and path.stat().st_mode & 0o111 and path.read_bytes()[:2] == b"#!":
                yield path


def shown(path, line=1):
    return f"{path.relative_to(ROOT)}:{line}"


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def without_comments_and_strings(text):
    """C text with comments and string contents blanked, lines kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        piece = match.group(0)
        return re.sub(r"[^\n]", " ", piece) if piece[0] == "/" else piece[0] + re.sub(r"[^\n]", " ", piece[1:-1]) + piece[-1]
    return pattern.sub(blank, text)


def allowed_uses():
    """{folder: set of folders it may use}, from the table in ARCHITECTURE.md."""
    table = {}
    for line in read(ROOT / "ARCHITECTURE.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) >= 2 and re.fullmatch(r"`[a-z]+`", cells[0]):
            table[cells[0].strip("`")] = set(re.findall(r"`([a-z]+)`", cells[1]))
    if "base" not in table or "cli" not in table:
        sys.exit("lint: ARCHITECTURE.md has no table of who may use whom")
    return table


def check_includes():
    table = allowed_uses()
    for path in sources():
        parts = path.relative_to(ROOT).parts
        if parts[0] != "src" or len(parts) < 3 or path.suffix not in (".c", ".h", ".def"):
            continue
        module = parts[1]
        if module not in table:
            yield f"{shown(path)}: folder src/{module} is not in ARCHITECTURE.md's table"
            continue
        for number, line in enumerate(read(path).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            beside = pathlib.Path(os.path.normpath(path.parent / match.group(1)))
            if beside.is_relative_to(ROOT / "src") and beside.exists():
                used = beside.relative_to(ROOT / "src").parts[0]
            else:
                used = match.group(1).split("/")[0]
            if used in table and used != module and used not in table[module]:
                yield f"{shown(path, number)}: {module} may not use {used}"
    yield from check_linked_modules(table)


def check_linked_modules(table):
    """The same law for what CMake links."""
    for path in sorted((ROOT / "src").glob("*/CMakeLists.txt")):
        for match in re.finditer(r"hp_module\((\w+)([^)]*)\)", read(path)):
            uses = re.search(r"\bUSES\b([\w\s]*)", match.group(2).split("LIBS")[0])
            for used in uses.group(1).split() if uses else []:
                if used not in table.get(match.group(1), set()):
                    yield f"{shown(path)}: {match.group(1)} may not use {used}"


def c_functions(text):
    """(line, name, lines) of each function: the house style has its braces alone in column 0."""
    lines = text.splitlines()
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
            while begin > 0 and lines[begin - 1].strip() and not re.match(r"[}#]|.*;\s*$", lines[begin - 1]):
                begin -= 1
        elif line == "}" and begin is not None:
            header = " ".join(lines[begin:begin + 8])
            name = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", header))
            yield begin + 1, name.group(1) if name else "?", number - begin + 1
            begin = None


def check_sizes():
    for path in sources():
        text = read(path)
        count = text.count("\n")
        if count > FILE_LINES_MAXIMUM:
            yield f"{shown(path)}: {count} lines: {FILE_LINES_MAXIMUM} are the most allowed"
        if path.suffix in (".c", ".h"):
            functions = c_functions(without_comments_and_strings(text))
        elif path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
            functions = ((node.lineno, node.name, node.end_lineno - node.lineno + 1) for node in ast.walk(ast.parse(text))
                         if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        else:
            functions = ()
        for line, name, lines in functions:
            if lines > FUNCTION_LINES_MAXIMUM:
                yield f"{shown(path, line)}: {name} has {lines} lines: {FUNCTION_LINES_MAXIMUM} are the most allowed"


def check_spdx():
    for path in sources():
        lines = read(path).splitlines()
        place = next((index for index, line in enumerate(lines[:3]) if "SPDX-License-Identifier: MIT" in line), None)
        if place is None:
            yield f"{shown(path)}: no line 'SPDX-License-Identifier: MIT' on top"
        elif path.suffix in (".c", ".h", ".def") and not re.match(r"/\*.*\w|/\*$", "".join(lines[place + 1:place + 2])):
            yield f"{shown(path, place + 2)}: the line behind SPDX says what the file is for"


def check_words():
    pattern = re.compile(r"\b(TO" r"DO|FIX" r"ME|HA" r"CK)\b")
    for path in sources():
        for number, line in enumerate(read(path).splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield f"{shown(path, number)}: {match.group(1)}: finish it, or say in CONTRIBUTING.md what is open"


def check_guests():
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(GUEST_CALLS) + r")\s*\(")
    for path in sources():
        if path.relative_to(ROOT).parts[:2] != ("src", "collect") or path.suffix not in (".c", ".h", ".def"):
            continue
        for number, line in enumerate(without_comments_and_strings(read(path)).splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield f"{shown(path, number)}: {match.group(1)}() is not for a guest in somebody's process"


CHECKS = {"includes": check_includes, "sizes": check_sizes, "spdx": check_spdx, "words": check_words, "guests": check_guests}


def main():
    wanted = sys.argv[1:] or list(CHECKS)
    unknown = [name for name in wanted if name not in CHECKS]
    if unknown:
        sys.exit(f"lint: unknown check {unknown[0]}\n{__doc__}")
    findings = [finding for name in wanted for finding in CHECKS[name]()]
    print("\n".join(findings) if findings else f"{' '.join(wanted)}: clean")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
