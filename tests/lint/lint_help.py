#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Help, man pages and the three shells' completions name the same commands and options.

  tests/lint/lint_help.py HPROFILER"""
import re
import subprocess
import sys


def output(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"lint: {' '.join([PROGRAM, *arguments])} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def commands():
    """The names that `hprofiler help` lists, one indented line each."""
    return re.findall(r"^  ([a-z][a-z-]+)  ", output("help"), re.M)


def long_options(text):
    """--name and --[no-]name, the latter as both of its forms."""
    found = set()
    for negatable, name in re.findall(r"^\s+(?:-\w, )?--(\[no-\])?([a-z][a-z-]+)", text, re.M):
        found.add(name)
        if negatable:
            found.add("no-" + name)
    return found


def man_options(text):
    lines = [line for line in text.replace("\\-", "-").splitlines() if re.match(r"\\fB-", line)]
    return set(re.findall(r"\\fB--([a-z][a-z-]+)", "\n".join(lines)))


def check_command(name, completions):
    help_text, page = output(name, "--help"), output("man", name)
    options = long_options(help_text)
    if "help" not in options:
        yield f"{name} --help doesn't list --help itself"
    for option in sorted(options ^ man_options(page)):
        yield f"{name}: --{option} is in only one of help and man page"
    for shell, text in completions.items():
        if not re.search(rf"\b{re.escape(name)}\b", text):
            yield f"completion {shell} doesn't know {name}"
        for option in sorted(options):
            words = rf"-l {option}\b" if shell == "fish" else rf"--{option}\b|--\[no-\]{option.removeprefix('no-')}\b"
            if not re.search(words, text):
                yield f"completion {shell} doesn't know {name} --{option}"
    if not re.search(r"^\.SH EXIT STATUS", page, re.M):
        yield f"man page of {name} has no exit statuses"


def main():
    names = commands()
    if len(names) < 3:
        sys.exit(f"lint: `{PROGRAM} help` lists no commands")
    completions = {shell: output("completion", shell) for shell in ("bash", "zsh", "fish")}
    program_page = output("man", "hprofiler").replace("\\-", "-")
    findings = [f"man page of hprofiler doesn't list {name}" for name in names if f"hprofiler-{name}" not in program_page]
    findings += [finding for name in names for finding in check_command(name, completions)]
    print("\n".join(findings) if findings else f"{len(names)} commands: help, man and completion agree")
    sys.exit(1 if findings else 0)


if len(sys.argv) != 2:
    sys.exit(__doc__)
PROGRAM = sys.argv[1]
main()
