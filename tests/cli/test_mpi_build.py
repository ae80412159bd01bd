# SPDX-License-Identifier: MIT
"""`hprofiler build`: the MPI collector for a site's own MPI."""
import os
import subprocess

import pytest

from test_mpi import FAMILIES, TIMEOUT_S, calls, launch, profiled, program, root_may_use_open_mpi


# The compiler takes ten seconds; what a sanitizer can find is the same with each.
@pytest.mark.parametrize("family", FAMILIES[1:] if os.environ.get("HP_SANITIZED") else FAMILIES)
def test_build_makes_the_library_for_a_sites_own_mpi(runner, apps, hprofiler, tmp_path, family):
    app, home = program(apps, "mpi_counts", family), tmp_path / "home"
    done = subprocess.run([hprofiler, "build", "--mpicc", f"mpicc.{family}", "--user"], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env={**os.environ, "HOME": str(home)})
    assert done.returncode == 0, done.stderr
    library = home / f".local/lib/hprofiler/libhprofiler_mpi-{family}.so"
    assert done.stdout == f"built {library} for mpicc.{family}\n"
    run = profiled(runner, launch(family, 2, app, 1, "maps"), env={"HOME": str(home)})
    assert run.status == 0, run.stderr.decode(errors="replace")
    assert str(library) in run.stdout.decode().splitlines()
    assert calls(run)["MPI_Reduce"] == 2


def test_build_says_what_is_wrong(hprofiler, tmp_path):
    for mpicc, text in {str(tmp_path / "nowhere"): "name the compiler wrapper of your MPI with --mpicc", "false": "failed"}.items():
        done = subprocess.run([hprofiler, "build", "--mpicc", mpicc, "--user"], capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path)})
        assert done.returncode == 1 and text in done.stderr and not done.stdout
    assert not (tmp_path / ".local").exists()
