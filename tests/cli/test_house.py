# SPDX-License-Identifier: MIT
"""What a newcomer meets first: scripts/install-deps, and an installation to any prefix."""
import re
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALL_DEPS = ROOT / "scripts/install-deps"


def run(*argv, **how):
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **how)


def test_install_deps_print_only_lists():
    done = run(INSTALL_DEPS, "--print", "build", "test")
    assert done.returncode == 0, done.stderr
    rows = [line.split(None, 3) for line in done.stdout.splitlines()]
    assert {row[0] for row in rows} <= {"installed", "missing", "unknown"}
    assert {"cmake", "libcmocka-dev"} <= {row[2] for row in rows}
    assert len({row[2] for row in rows}) == len(rows)


def test_install_deps_default_is_the_build_set():
    assert "libcmocka-dev" not in run(INSTALL_DEPS, "--print").stdout


def test_install_deps_refuses_what_it_does_not_know():
    done = run(INSTALL_DEPS, "--prnt")
    assert done.returncode == 1
    assert "unknown argument --prnt" in done.stderr


def system_of(folder, *programs):
    """A folder of links to these programs, to be the whole PATH."""
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    return folder


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


TOOLS = ("sh", "cat", "awk", "grep", "cut", "tr", "mktemp", "rm", "tail", "sed", "env")


def test_install_deps_on_a_foreign_system_names_what_to_install(tmp_path):
    done = run(INSTALL_DEPS, "build", env={"PATH": str(system_of(tmp_path / "bin", *TOOLS, "id"))})
    assert done.returncode == 0
    assert "libdw-dev" in done.stderr and "by hand" in done.stderr


def test_install_deps_without_root_names_what_is_missing_and_goes_on(tmp_path):
    path = system_of(tmp_path / "bin", *TOOLS)
    script(path / "id", "echo 1000")
    script(path / "apt-get", "exit 99")
    # Everything is installed but two packages.
    script(path / "dpkg-query", 'for name; do :; done\ncase $name in libdw-dev|cmake) exit 1 ;; *Provides*) ;; *) echo "ii " ;; esac')
    done = run(INSTALL_DEPS, "build", env={"PATH": str(path)})
    assert done.returncode == 0, done.stderr
    named = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert named == ["cmake", "libdw-dev"]
    assert "apt-get install --no-install-recommends cmake libdw-dev" in done.stdout


def test_install_deps_fails_when_a_required_package_cannot_be_had(tmp_path):
    path = system_of(tmp_path / "bin", *TOOLS)
    script(path / "id", "echo 0")
    script(path / "apt-get", "exit 100")
    script(path / "dpkg-query", 'for name; do :; done\ncase $name in cmake) exit 1 ;; *Provides*) ;; *) echo "ii " ;; esac')
    done = run(INSTALL_DEPS, "build", env={"PATH": str(path)})
    assert done.returncode == 1
    assert "cmake" in done.stdout and "required" in done.stderr


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation of the build that holds the program under test, in a folder with a blank in its name."""
    program = pathlib.Path(os.environ.get("HPROFILER_BIN") or ROOT / "build/bin/hprofiler").absolute()
    build = program.parents[1]
    if not (build / "CMakeCache.txt").exists() or not shutil.which("cmake"):
        pytest.skip("the program under test is not in a build folder")
    if not os.access(build, os.W_OK):
        pytest.skip("the build folder is somebody else's: cmake notes there what it installs")
    folder = tmp_path_factory.mktemp("install") / "a prefix"
    done = run("cmake", "--install", build, "--prefix", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_installed_program_finds_its_libraries_beside_it(prefix, tmp_path):
    assert (prefix / "lib/libhprofiler_runtime.so").exists()
    assert not (prefix / "lib/libhprofiler_test.so").exists()
    done = run(prefix / "bin/hprofiler", "run", "--no-summary", "-o", tmp_path / "t.hpt", "--", "true")
    assert done.returncode == 0, done.stderr
    assert run(prefix / "bin/hprofiler", "summary", tmp_path / "t.hpt").returncode == 0


def test_every_library_of_the_build_is_installed(prefix):
    build = pathlib.Path(os.environ.get("HPROFILER_BIN") or ROOT / "build/bin/hprofiler").absolute().parents[1]
    built = {path.name for path in (build / "lib").glob("libhprofiler_*.so")} - {"libhprofiler_test.so"}
    assert "libhprofiler_opencl.so" in built
    assert {path.name for path in (prefix / "lib").glob("libhprofiler_*.so")} == built


def test_links_of_installed_documents_lead_to_installed_files(prefix):
    documents = prefix / "share/doc/hprofiler"
    pages = sorted(documents.rglob("*.md"))
    assert {"README.md", "getting-started.md", "sampling.md", "metrics.md", "commands.md", "native.md"} <= {page.name for page in pages}
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if not target.startswith(("http:", "https:")):
                assert (page.parent / target).exists(), f"{page.relative_to(documents)}: {target} is not installed"


def test_demo_builds_no_tests():
    assert "-DHP_TESTS=OFF" in (ROOT / "Makefile").read_text()


def test_installed_pages_and_completions(prefix):
    assert (prefix / "share/man/man1/hprofiler.1").read_text().startswith(".TH HPROFILER 1")
    assert (prefix / "share/man/man1/hprofiler-run.1").exists()
    for path in ("bash-completion/completions/hprofiler", "zsh/site-functions/_hprofiler", "fish/vendor_completions.d/hprofiler.fish"):
        assert "doctor" in (prefix / "share" / path).read_text()
    if shutil.which("bash"):
        assert run("bash", "-n", prefix / "share/bash-completion/completions/hprofiler").returncode == 0
