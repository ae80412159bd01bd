# SPDX-License-Identifier: MIT
"""hprofiler under a launcher (one trace a rank) and around one (one trace of all), with every MPI that is installed."""
import os
import shutil
import subprocess

import pytest

LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])],
    "mpich": ["mpirun.mpich"],
}
VARIABLES = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
             "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"]


@pytest.fixture
def call(hprofiler, tmp_path):
    """Runs hprofiler, or a launcher with it, in a fresh folder, with the launcher's variables that are given and no others."""
    def run(*arguments, launcher=(), status=0, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environment.update(variables)
        done = subprocess.run([*launcher, hprofiler, *arguments], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == status, done.stderr
        return done
    return run


@pytest.fixture(params=LAUNCHERS)
def launcher(request):
    command = LAUNCHERS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    return command


def names(folder):
    return sorted(path.name for path in folder.iterdir())


RUN = ["run", "--backend", "cpu", "--no-summary"]


@pytest.mark.parametrize("variables, rank", [
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, 2),
    ({"PMI_RANK": "1", "PMI_SIZE": "2"}, 1),
    ({"PMIX_RANK": "3"}, 3),
    ({"MV2_COMM_WORLD_RANK": "5", "MV2_COMM_WORLD_SIZE": "6"}, 5),
    ({"PALS_RANKID": "7"}, 7),
    ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "8"}, 1),
    ({"OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_SIZE": "8", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, 4),
])
def test_the_rank_of_every_launcher_is_found(call, tmp_path, variables, rank):
    call(*RUN, "--", "true", **variables)
    assert names(tmp_path) == [f"true.rank{rank}.hprofiler.json"]


@pytest.mark.parametrize("variables", [
    {},
    {"PMI_RANK": "0", "PMI_SIZE": "1"},                   # the only one there is
    {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},           # a batch script, outside of srun
    {"PMI_RANK": "x", "OMPI_COMM_WORLD_RANK": "-1"},
])
def test_without_other_ranks_the_name_has_no_rank(call, tmp_path, variables):
    call(*RUN, "--", "true", **variables)
    assert names(tmp_path) == ["true.hprofiler.json"]


@pytest.mark.parametrize("output, expected", [
    ("a.hpt", "a.rank3.hpt"),
    ("a.b.json", "a.b.rank3.json"),
    ("a.hprofiler.json", "a.rank3.hprofiler.json"),
    ("a.speedscope.json", "a.rank3.speedscope.json"),
    ("r%r-%%.hpt", "r3-%.hpt"),
    ("%h.%r.hpt", f"{os.uname().nodename}.3.hpt"),
])
def test_an_output_of_ranks_is_kept_apart(call, tmp_path, output, expected):
    busy = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]
    call(*RUN, "-o", output, "--", *busy, PMI_RANK="3", PMI_SIZE="4")
    assert names(tmp_path) == [expected]


@pytest.mark.parametrize("variables, coloured", [({}, True), ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, False)])
def test_a_launchers_terminal_is_no_screen(hprofiler, variables, coloured):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES and name not in ("NO_COLOR", "COLUMNS")}
    master, slave = os.openpty()
    with subprocess.Popen([hprofiler, "help"], stdout=slave, env={**environment, "TERM": "xterm", **variables}) as process:
        os.close(slave)
        printed = b""
        try:
            while chunk := os.read(master, 65536):
                printed += chunk
        except OSError: # its other side is closed
            pass
        assert process.wait(timeout=30) == 0
    os.close(master)
    assert printed and (b"\x1b" in printed) == coloured


def test_the_process_id_in_a_name(call, tmp_path):
    call(*RUN, "-o", "p%p.hpt", "--", "true")
    name = names(tmp_path)
    assert len(name) == 1 and name[0].removeprefix("p").removesuffix(".hpt").isdigit()


@pytest.mark.parametrize("output, said", [("a%r.hpt", "no launcher told one"), ("a%x.hpt", "stands for nothing")])
def test_a_placeholder_that_means_nothing_is_refused(call, tmp_path, output, said):
    done = call(*RUN, "-o", output, "--", "touch", "ran", status=125)
    assert said in done.stderr and names(tmp_path) == []


def test_each_rank_writes_its_trace_and_the_first_prints(call, launcher, tmp_path, hprofiler):
    done = call("run", "--backend", "cpu", "--", "sleep", "0.05", launcher=[*launcher, "-np", "3"])
    assert names(tmp_path) == [f"sleep.rank{rank}.hprofiler.json" for rank in range(3)]
    assert done.stdout.count("exit status 0") == 1
    for rank in range(3):
        assert f"trace written to sleep.rank{rank}.hprofiler.json" in done.stderr
    rows = subprocess.run([hprofiler, "query", "--format", "csv", str(tmp_path / "sleep.rank2.hprofiler.json"),
                           "SELECT p.rank, r.value, s.value FROM processes p, metadata r, metadata s "
                           "WHERE r.key = 'launcher.rank' AND s.key = 'launcher.size'"], capture_output=True, text=True, timeout=60)
    assert rows.stdout.splitlines()[1:] == ["2,2,3"], rows.stderr


def test_around_a_launcher_all_ranks_are_in_one_trace(call, launcher, tmp_path, hprofiler):
    call("run", "--backend", "cpu", "--no-summary", "-o", "all.hpt", "--", *launcher, "-np", "3", "sleep", "0.05")
    rows = subprocess.run([hprofiler, "query", "--format", "csv", str(tmp_path / "all.hpt"),
                           "SELECT count(*) FROM processes WHERE command = 'sleep'"], capture_output=True, text=True, timeout=60)
    assert rows.stdout.splitlines()[1:] == ["3"], rows.stderr


def test_around_a_launcher_its_exit_status_is_passed_on(hprofiler, launcher, tmp_path):
    """A launcher whose ranks fail at once may die of a broken pipe of its own, now and then: the two are given some chances to end alike."""
    command = [*launcher, "-np", "2", "sh", "-c", "exit 7"]
    status_of = lambda argv: subprocess.run(argv, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode
    outcomes = []
    while len(outcomes) < 5 and (not outcomes or outcomes[-1][0] != outcomes[-1][1]):
        outcomes.append((status_of([hprofiler, *RUN, "-o", "all.hpt", "--", *command]), status_of(command)))
    assert outcomes[-1][0] == outcomes[-1][1] != 0, outcomes
