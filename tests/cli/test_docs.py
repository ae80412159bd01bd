# SPDX-License-Identifier: MIT
"""README and docs say what the program does: commands, options, formats and links are checked against it."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def options(hprofiler):
    """{command: its options as typed}"""
    def text(*arguments):
        return subprocess.run([hprofiler, *arguments], capture_output=True, text=True, timeout=60).stdout
    names = re.findall(r"^  ([a-z][a-z-]+)  ", text("help").split("Exit status")[0], re.M)
    found = {}
    for name in names:
        found[name] = set()
        for short, negatable, long in re.findall(r"^  (?:(-\w), |    )--(\[no-\])?([a-z][a-z-]+)", text(name, "--help"), re.M):
            found[name] |= {f"--{long}"} | ({short} if short else set()) | ({f"--no-{long}"} if negatable else set())
    assert len(names) > 5
    return found


def code(page):
    """Code of a page: fenced and indented blocks, and `inline` pieces."""
    text = page.read_text()
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S) + re.findall(r"^    (.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)
    return "\n".join(blocks)


def command_lines(page):
    for line in code(page).splitlines():
        for match in re.finditer(r"(?:^|[|$(/ ])hprofiler ([a-z][a-z-]*)\b([^|;)\n#]*)", line):
            yield match.group(1), match.group(2)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_use_what_exists(page, options):
    for command, rest in command_lines(page):
        assert command in options, f"{page.name}: there is no command {command}"
        own = rest.split(" -- ")[0]
        for option in re.findall(r"(?<!\S)(--[a-z][a-z-]+|-[a-z])\b", own):
            assert option in options[command], f"{page.name}: {command} has no option {option}"


def test_every_command_and_option_is_documented(options):
    text = "\n".join(page.read_text() for page in PAGES)
    for command, known in options.items():
        assert f"hprofiler {command}" in text, f"no page names `hprofiler {command}`"
        for option in known:
            if option.startswith("--") and not option.startswith("--no-"):
                assert option in text or option.replace("--", "--[no-]") in text, f"no page names {option} of {command}"


def test_every_format_is_documented(hprofiler):
    text = (ROOT / "docs/commands.md").read_text()
    help_text = subprocess.run([hprofiler, "export", "--help"], capture_output=True, text=True, timeout=60).stdout
    formats = re.findall(r"^  ([a-z][a-z-]+) +\.", help_text.split("Formats (")[1], re.M)
    assert len(formats) > 3
    for name in formats:
        assert f"`{name}`" in text, f"docs/commands.md does not name the format {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name}: {target} is missing"
    for target in re.findall(r"(?<![\w/.-])(docs/[\w./-]+\.(?:md|svg|png))", page.read_text()):
        assert (ROOT / target).exists(), f"{page.name}: {target} is missing"


def test_environment_and_exit_statuses_are_the_same_everywhere(hprofiler):
    help_text = subprocess.run([hprofiler, "help"], capture_output=True, text=True, timeout=60).stdout
    text = (ROOT / "docs/commands.md").read_text()
    for name in re.findall(r"^  ([A-Z_]{4,}\b)", help_text.split("Environment")[1].split("Files")[0], re.M):
        assert name in text, f"docs/commands.md does not name {name}"
    for status in ("125", "126", "127", "128+N"):
        assert status in text and status in help_text


KINDS = (ROOT / "src/wire/kinds.def").read_text()
FIELDS_PAGE = ROOT / "docs/fields.md"


@pytest.mark.parametrize("section, macros", [
    ("Kinds of spans", ["SPAN_KIND"]), ("Kinds of tracks", ["TRACK_KIND"]), ("Links", ["LINK_KIND", "CONFIDENCE"]), ("Events of samples", ["SAMPLE_EVENT"])])
def test_kinds_are_those_of_the_program(section, macros):
    text = FIELDS_PAGE.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    known = {name for macro in macros for name in re.findall(rf'^{macro}\(\w+, "([^"]+)"', KINDS, re.M)}
    assert len(known) > 4
    assert set(re.findall(r"`([a-z][a-z_-]*)`", text)) == known


def test_payloads_have_the_fields_of_the_program():
    names = dict(re.findall(r'^PAYLOAD\((\w+), "(\w+)"\)', KINDS, re.M))
    fields = {name: set(re.findall(rf"^FIELD\({payload}, (\w+),", KINDS, re.M)) for payload, name in names.items()}
    del fields["test"] # of a collector for tests, not installed
    fields["json"] = {"args"}
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \|$", FIELDS_PAGE.read_text().split("## Payloads\n")[1], re.M)
    assert {name: set(re.findall(r"`(\w+)`", text)) for name, _, text in rows} == fields
