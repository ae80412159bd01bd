# SPDX-License-Identifier: MIT
"""MPI from C: what a program does is recorded to the byte, its results stay as they are, and who ends badly leaves what was done."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, Runner

FAMILIES = ["openmpi", "mpich"]
ROUNDS = 4
TIMEOUT_S = 200
WRAPPERS = ROOT / "src/collect/mpi/wrappers.def"


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@pytest.fixture(autouse=True)
def root_may_use_open_mpi(monkeypatch):
    for name, value in AS_ROOT.items():
        monkeypatch.setenv(name, value)


def launch(family, ranks, *command):
    if not shutil.which(f"mpirun.{family}"):
        pytest.skip(f"mpirun.{family} is not installed")
    return [f"mpirun.{family}", "-np", str(ranks), *map(str, command)]


def program(apps, name, family):
    path = apps / f"{name}-{family}"
    if not path.exists():
        pytest.skip(f"{path.name} is not built: there was no mpicc.{family}")
    return path


def profiled(runner, command, *options, **how):
    return runner.profiled(command, ["-b", "mpi", *options], timeout=TIMEOUT_S, **how)


def numbers(run, sql):
    """The first row's values."""
    row = run.query(sql)
    row = row["rows"][0] if isinstance(row, dict) else row[0]
    return list(row.values()) if isinstance(row, dict) else row


def calls(run):
    rows = run.query("SELECT name, count(*) AS n FROM spans WHERE category = 'mpi' GROUP BY 1")
    rows = rows["rows"] if isinstance(rows, dict) else rows
    return {row["name"]: row["n"] for row in rows}


def expected_calls(ranks):
    each = {"MPI_Init_thread": 1, "MPI_Finalize": 1, "MPI_Reduce": 1, "MPI_Isend": ROUNDS + 40, "MPI_Irecv": ROUNDS + 40, "MPI_Waitall": ROUNDS + 1,
            "MPI_Send_init": 1, "MPI_Recv_init": 1, "MPI_Startall": ROUNDS, "MPI_Startall request": 2 * ROUNDS, "MPI_Wait": 3 * ROUNDS,
            "MPI_Request_free": 2, "MPI_Barrier": ROUNDS, "MPI_Bcast": ROUNDS, "MPI_Allreduce": 2 * ROUNDS, "MPI_Alltoall": ROUNDS,
            "MPI_Gatherv": ROUNDS, "MPI_Ibarrier": ROUNDS, "MPI_Comm_split": ROUNDS, "MPI_Comm_dup": ROUNDS, "MPI_Comm_free": 2 * ROUNDS}
    total = {name: count * ranks for name, count in each.items()}
    total["MPI_Ssend"] = total["MPI_Recv"] = ROUNDS * (ranks - 1)
    return total


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_call_and_byte_is_counted(counted, family, ranks):
    bare, run = counted(family, ranks)
    assert bare.status == run.status == 0, run.stderr.decode(errors="replace")
    assert run.stdout == bare.stdout
    assert calls(run) == expected_calls(ranks)
    ring = sum(40 * (round + 1) for round in range(ROUNDS))
    sent = ranks * (ring + 40 + 24 * ROUNDS) + 4 * ROUNDS * (ranks - 1)
    messages = ranks * (ROUNDS + 40 + ROUNDS) + ROUNDS * (ranks - 1)
    field = "json_extract(args, '$.{}')".format
    assert numbers(run, f"SELECT count({field('send_to')}), sum({field('send_bytes')}) FROM spans") == [messages, sent]
    assert numbers(run, f"SELECT count({field('receive_from')}), sum({field('receive_bytes')}) FROM spans") == [messages, sent]
    assert numbers(run, "SELECT count(*) FROM links WHERE kind = 'message' AND confidence = 'certain'") == [messages]
    assert numbers(run, "SELECT coalesce(sum(lost), 0) FROM ledger") == [0]
    # Both of each ring message, the persistent ones and the Ibarriers lead to the call that ended them.
    requests = ranks * (2 * (ROUNDS + 40) + 2 * ROUNDS + ROUNDS)
    assert numbers(run, "SELECT count(*) FROM links WHERE kind = 'request'") == [requests]


@pytest.fixture(scope="module")
def counted(hprofiler, apps, tmp_path_factory):
    """mpi_counts as it ran bare and recorded, each once."""
    runner, done = Runner(hprofiler, tmp_path_factory.mktemp("counted")), {}

    def runs(family, ranks):
        if (family, ranks) not in done:
            command = launch(family, ranks, program(apps, "mpi_counts", family), ROUNDS)
            done[family, ranks] = runner.bare(command, timeout=TIMEOUT_S, env=AS_ROOT), profiled(runner, command, env=AS_ROOT)
        return done[family, ranks]
    return runs


@pytest.mark.parametrize("family", FAMILIES)
def test_collectives_tell_root_sizes_and_who_has_nothing(counted, family):
    _, run = counted(family, 4)
    field = "json_extract(args, '$.{}')".format

    def by_rank(name, *fields):
        rows = run.query(f"SELECT DISTINCT t.rank AS r, {', '.join(f'{field(f)} AS {f}' for f in fields)} FROM spans s JOIN tracks t ON t.id = s.track "
                         f"WHERE s.name = '{name}' ORDER BY 1")
        rows = rows["rows"] if isinstance(rows, dict) else rows
        return [tuple(row[f] for f in fields) for row in rows]
    assert by_rank("MPI_Bcast", "root", "bytes_sent", "bytes_received") == [(1, 0, 100), (1, 100, 0), (1, 0, 100), (1, 0, 100)]
    assert by_rank("MPI_Alltoall", "bytes_sent", "bytes_received") == [(48, 48)] * 4
    assert by_rank("MPI_Reduce", "root", "bytes_sent", "bytes_received", "operation") == [
        (0, 8, 8, "MPI_SUM"), (0, 8, 0, "MPI_SUM"), (0, 8, 0, "MPI_SUM"), (0, 8, 0, "MPI_SUM")]
    assert by_rank("MPI_Gatherv", "root", "bytes_sent", "bytes_received", "no_data_to", "no_data_from") == [
        (3, 0, 0, "3", None), (3, 4, 0, None, None), (3, 8, 0, None, None), (3, 12, 24, None, "0")]


@pytest.mark.parametrize("family", FAMILIES)
def test_reused_handles_are_other_communicators(counted, family):
    ranks = 4
    _, run = counted(family, ranks)
    field = "json_extract(args, '$.{}')".format
    # Two halves in each round; their members agree on each one's identity and no other has it.
    rows = run.query(f"SELECT {field('comm')} AS comm, count(*) AS n, count(DISTINCT track) AS ranks FROM spans WHERE name = 'MPI_Comm_split' GROUP BY 1")
    rows = rows["rows"] if isinstance(rows, dict) else rows
    assert len(rows) == 2 * ROUNDS and all(row["n"] == row["ranks"] == ranks // 2 for row in rows)
    incomplete = run.query("SELECT g.name, g.sequence, count(*) AS n FROM groups g JOIN members m ON m.\"group\" = g.id GROUP BY g.id HAVING n NOT IN (2, 4)")
    assert (incomplete["rows"] if isinstance(incomplete, dict) else incomplete) == []


@pytest.mark.parametrize("how", ["abort", "segv", "kill"])
@pytest.mark.parametrize("family", FAMILIES)
def test_who_ends_badly_leaves_what_was_done(runner, apps, family, how):
    ranks = 3
    command = launch(family, ranks, program(apps, "mpi_counts", family), ROUNDS, how)
    bare, run = runner.bare(command, timeout=TIMEOUT_S), profiled(runner, command)
    assert run.status == bare.status  # Hydra ends with 0 where a signal killed a rank
    found, expected = calls(run), expected_calls(ranks)
    for name in ("MPI_Isend", "MPI_Irecv", "MPI_Allreduce", "MPI_Comm_split", "MPI_Startall"):
        assert found[name] == expected[name]
    assert found["MPI_Barrier"] >= expected["MPI_Barrier"] + 1
    assert found.get("MPI_Abort", 0) == (how == "abort")


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_may_call_at_once(runner, apps, family):
    ranks = 2
    run = profiled(runner, launch(family, ranks, program(apps, "mpi_counts", family), 50, "threads"))
    assert run.status == 0, run.stderr.decode(errors="replace")
    assert calls(run)["MPI_Sendrecv"] == ranks * 3 * 50
    assert numbers(run, "SELECT count(*), min(json_extract(args, '$.threads')) FROM spans WHERE name = 'MPI_Sendrecv'") == [ranks * 3 * 50, 1]
    assert numbers(run, "SELECT count(*) FROM links WHERE kind = 'message'") == [ranks * 3 * 50]


@pytest.mark.parametrize("family", FAMILIES)
def test_joining_over_a_socket_goes_as_without_us(runner, apps, family):
    command = launch(family, 2, program(apps, "mpi_counts", family), 1, "join")
    bare = runner.bare([*command, "socket"], timeout=TIMEOUT_S) # in a folder of its own: a whole path may be too long for a socket
    run = profiled(runner, [*command, "socket"])
    assert run.status == bare.status and run.stdout == bare.stdout
    assert calls(run)["MPI_Comm_join"] == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_clocks_of_other_domains_are_compared_at_begin_and_end(runner, apps, family, monkeypatch):
    """Ranks 1 and 2 have time namespaces of their own, as other nodes have other clocks."""
    if subprocess.run(["unshare", "-f", "-T", "--monotonic", "10", "true"], capture_output=True).returncode:
        pytest.skip("time namespaces cannot be made here (root, Linux 5.6)")
    app = program(apps, "mpi_counts", family)

    def prepare(folder):
        script = folder / "node.sh"
        script.write_text('#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n[ "$rank" != 0 ] || exec "$@"\n'
                          'exec unshare -f -T --monotonic $((1000 * rank)) -- "$@"\n')
        script.chmod(0o755)
    command = launch(family, 3, "./node.sh", app, 1)
    bare = runner.bare(command, prepare, timeout=TIMEOUT_S)
    for asked, count in (("1", 4), ("0", 0)):
        monkeypatch.setenv("HPROFILER_MPI_PROBES", asked)
        run = profiled(runner, command, prepare=prepare)
        assert run.status == bare.status == 0 and run.stdout == bare.stdout, run.stderr.decode(errors="replace")
        rows = run.query("SELECT value FROM metadata WHERE key LIKE 'clock.probe.%'")
        probes = [json.loads(row["value"]) for row in (rows["rows"] if isinstance(rows, dict) else rows)]
        assert sorted((probe["rank"], probe["when"]) for probe in probes) == [(1, "begin"), (1, "end"), (2, "begin"), (2, "end")][:count]
        for probe in probes:
            offset = probe["own_raw_ns"] - probe["peer_raw_ns"]
            assert probe["peer"] == 0 and abs(offset - 1000 * probe["rank"] * 10**9) <= probe["error_ns"] and probe["trips"] >= 20
    assert numbers(run, "SELECT count(*) FROM links WHERE kind = 'message'")[0] > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rank_alone_may_be_recorded(runner, apps, hprofiler, family):
    """Nothing is sent to ranks that don't know of us."""
    app = program(apps, "mpi_counts", family)
    bare = runner.bare(launch(family, 2, app, 2), timeout=TIMEOUT_S)
    both = runner.bare([*launch(family, 1, hprofiler, "run", "-b", "mpi", "--no-summary", "-o", "one.hpt", "--", app, 2), ":", "-np", "1", app, "2"],
                       timeout=TIMEOUT_S)
    assert both.status == bare.status == 0 and both.stdout == bare.stdout, both.stderr.decode(errors="replace")


def test_each_wrapped_function_is_called_by_a_test():
    names = set(re.findall(r"^(MPI_\w+) \|", WRAPPERS.read_text(), re.M))
    called = set()
    for path in [*ROOT.glob("tests/apps/mpi_forms/*"), *ROOT.glob("tests/apps/mpi_*.c")]:
        called |= set(re.findall(r"\b(MPI_\w+)\(", path.read_text(errors="replace")))
    assert len(names) > 150
    assert sorted(names - called) == []


def test_without_an_mpi_a_call_is_an_error_and_no_crash(runner, hprofiler, tmp_path):
    source = tmp_path / "without.c"
    source.write_text("extern int MPI_Barrier(int) __attribute__((weak));\nextern int MPI_Initialized(int *) __attribute__((weak));\n"
                      "int main(void) { return MPI_Initialized ? 2 : MPI_Barrier ? MPI_Barrier(0) != 0 ? 0 : 3 : 0; }\n")
    program_path = tmp_path / "without"
    subprocess.run(["cc", "-o", program_path, source], check=True)
    assert profiled(runner, [program_path]).status == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_missing_implementation_is_told_and_nothing_breaks(runner, apps, hprofiler, tmp_path, family):
    """An installation that was made on a machine without this MPI."""
    if set(str(tmp_path)) & set(" \t:"):
        pytest.skip("libraries in such a temporary folder cannot be preloaded")
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("libhprofiler_runtime.so", "libhprofiler_mpi.so"):
        shutil.copy(pathlib.Path(hprofiler).parents[1] / "lib" / name, folder)
    (tmp_path / "bin").mkdir()
    shutil.copy(hprofiler, tmp_path / "bin/hprofiler")
    (tmp_path / "runs").mkdir()
    command = launch(family, 2, program(apps, "mpi_counts", family), 2)
    bare, run = runner.bare(command, timeout=TIMEOUT_S), Runner(str(tmp_path / "bin/hprofiler"), tmp_path / "runs").profiled(command, ["-b", "mpi"], timeout=TIMEOUT_S)
    assert run.status == bare.status == 0 and run.stdout == bare.stdout
    assert calls(run) == {} and "hprofiler build --mpicc CC" in run.text_summary()


@pytest.mark.parametrize("ranks", [2, 4])
def test_lammps_computes_the_same(runner, ranks):
    if not shutil.which("lmp") or not pathlib.Path("/usr/share/lammps/examples/melt/in.melt").exists():
        pytest.skip("LAMMPS is not installed (lammps, lammps-examples)")
    text = pathlib.Path("/usr/share/lammps/examples/melt/in.melt").read_text()

    def prepare(folder):
        (folder / "in.melt").write_text(re.sub(r"^run\b.*", "run 50", text, flags=re.M))
    command = launch("openmpi", ranks, "lmp", "-in", "in.melt", "-log", "none")
    bare, run = runner.bare(command, prepare, timeout=TIMEOUT_S), profiled(runner, command, prepare=prepare)
    assert bare.status == run.status == 0, run.stderr.decode(errors="replace")

    def thermo(output):
        return re.findall(r"^ +\d+ +[-\d.]+ +[-\d.]+ .*", output.stdout.decode(), re.M)
    assert thermo(bare) and thermo(run) == thermo(bare)
    sends, receives, links = numbers(run, "SELECT count(json_extract(args, '$.send_to')), count(json_extract(args, '$.receive_from')), "
                                          "(SELECT count(*) FROM links WHERE kind = 'message') FROM spans")
    assert sends > 0 and sends == receives == links
    assert numbers(run, "SELECT coalesce(sum(lost), 0) FROM ledger") == [0]


@pytest.mark.parametrize("bindings", ["default", "local"])
def test_mpi4py_is_recorded(runner, bindings):
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK) or subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip("mpi4py is not installed (python3-mpi4py)")
    program_text = "import mpi4py\n" + ("mpi4py.rc.initialize = False\n" if bindings == "local" else "") + (
        "from mpi4py import MPI\n" + ("MPI.Init()\n" if bindings == "local" else "") +
        "comm = MPI.COMM_WORLD\nrank, size = comm.Get_rank(), comm.Get_size()\n"
        "request = comm.isend({'rank': rank}, dest=(rank + 1) % size, tag=3)\n"
        "got = comm.recv(source=MPI.ANY_SOURCE, tag=3)\nrequest.wait()\n"
        "comm.Barrier()\n"
        "total = comm.allreduce(got['rank'])\nif rank == 0: print(total)\n" + ("MPI.Finalize()\n" if bindings == "local" else ""))

    def prepare(folder):
        (folder / "app.py").write_text(program_text)
    command = launch("openmpi", 2, python, "app.py")
    bare, run = runner.bare(command, prepare, timeout=TIMEOUT_S), profiled(runner, command, prepare=prepare)
    assert bare.status == run.status == 0, run.stderr.decode(errors="replace")
    assert run.stdout == bare.stdout == b"1\n"
    found = calls(run)
    assert found["MPI_Isend"] == 2 and found["MPI_Barrier"] == 2 and found["MPI_Finalize"] == 2
    sends, links = numbers(run, "SELECT count(json_extract(args, '$.send_to')), (SELECT count(*) FROM links WHERE kind = 'message') FROM spans")
    assert sends == links >= 2  # its reductions of objects send messages, too
