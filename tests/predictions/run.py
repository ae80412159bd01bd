#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does it come true? For each program an activity is really made longer or shorter by a known factor; what `what-if` predicts from recordings of
the unchanged program is compared with recordings of the changed one (medians).

    tests/predictions/run.py BUILD [--runs 5] [--only NAME...] [--codes FOLDER] [--markdown FILE] [--write] [--under COMMAND]

BUILD is a build folder. --codes: a folder with checkouts of the public codes CoMD, LULESH and NPB3.0-omp-C, which are copied, changed in one place and
built. Run it on an idle machine: other programs make a program longer by a tenth, differently from run to run. The unchanged and the changed programs
are recorded in turns, so that whatever changes slowly is the same for all; the spread that is left (half of what lies between the quartiles) is told. A program that
can't be built here is skipped with the reason. --write puts the table into docs/predictions.md; rows of programs that were not run stay as they are there.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DOC = HERE.parent.parent / "docs/predictions.md"
BEGIN, END = "<!-- table -->", "<!-- end -->"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class Skip(Exception):
    pass


def call(argv, **options):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, **options)
    if done.returncode:
        raise Skip(f"{' '.join(map(str, argv))}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout


def tool(*names):
    for name in names:
        if shutil.which(name):
            return name
    raise Skip(f"none of {', '.join(names)} is installed")


class Case:
    """A program, how it is started, and the changes that are tried: (activity, factor, filter of what-if)."""

    def __init__(self, name, backends, build, command, changes, threads=None, note="", environment=None):
        self.name, self.backends, self.build, self.command, self.changes, self.note = name, backends, build, command, changes, note
        self.environment = {**({"OMP_NUM_THREADS": str(threads)} if threads else {}), **(environment or {})}


def compiled(compiler, *flags, libraries=("-lm",)):
    def build(case, work):
        source = HERE / f"{case.name}.{'cu' if 'nvcc' in compiler else 'c'}"
        distinct = [] if "clang" in compiler or "nvcc" in compiler else ["-fno-ipa-icf"] # else functions of equal code are one
        call([tool(*compiler), "-O2", "-g", *distinct, *flags, "-o", work / case.name, source, *libraries])
        return work / case.name
    return build


def ranks(count, mpirun=("mpirun.openmpi", "mpirun")):
    return lambda program: [tool(*mpirun), "-np", str(count), *program]


def alone(program):
    return program


MPICC = ("mpicc.openmpi", "mpicc")
CASES = [
    Case("mpi_imbalance", "cpu,mpi", compiled(MPICC), ranks(2),
         [("heavy", 0.6, "kind=compute,rank=1"), ("heavy", 1.5, "kind=compute,rank=1"), ("light", 0.3, "kind=compute,rank=0")]),
    Case("mpi_chain", "cpu,mpi", compiled(MPICC), ranks(2),
         [("first_stage", 0.5, "kind=compute,path=*first_stage*"), ("later_stage", 2, "kind=compute,path=*later_stage*"), ("aside", 0.1, "kind=compute,path=*aside*")]),
    Case("mpi_workers", "cpu,mpi", compiled(MPICC), ranks(2),
         [("solve", 0.5, "kind=compute,path=*solve*"), ("prepare", 8, "kind=compute,path=*prepare*")]),
    Case("openmp_imbalance", "cpu,openmp", compiled(("clang", "clang-14"), "-fopenmp"), alone,
         [("unequal", 0.5, "path=*in unequal()*"), ("serial", 3, "kind=compute,path=*serial*"), ("equal", 2, "path=*in equal()*")], threads=2),
    Case("openmp_tasks", "cpu,openmp", compiled(("clang", "clang-14"), "-fopenmp"), alone,
         [("link_of_chain", 0.5, "kind=compute,path=*link_of_chain*"), ("leaf", 0.5, "kind=compute,path=*leaf*")], threads=2),
    Case("hybrid", "cpu,mpi,openmp", compiled(MPICC, "-fopenmp"), ranks(2),
         [("team_part", 0.5, "kind=compute,path=*team_part*"), ("master_part", 2, "kind=compute,path=*master_part*")], threads=1),
    Case("opencl_pipeline", "cpu,opencl", compiled(("gcc",), libraries=("-lOpenCL", "-lm")), alone,
         [("transform", 0.5, "kind=kernel,name=transform"), ("prepare", 4, "kind=compute,path=*prepare*"), ("finish_up", 3, "kind=kernel,name=finish_up")],
         environment={"POCL_AFFINITY": "1"}), # each of its workers on a processor of its own: else two of them may share one for a whole kernel
    Case("openmp_contended", "cpu,openmp", compiled(("clang", "clang-14"), "-fopenmp"), alone,
         [("greedy", 0.5, "kind=compute,path=*greedy*"), ("modest", 0.5, "kind=compute,path=*modest*")], threads=4, note="4 threads contend for the processors"),
    Case("cuda_streams", "cuda", compiled(("nvcc", "/usr/local/cuda/bin/nvcc"), "-arch=native", libraries=()), alone,
         [("chain", 0.5, "kind=kernel,name=*chain*"), ("chain", 2, "kind=kernel,name=*chain*"), ("beside", 0.5, "kind=kernel,name=*beside*")]),
]


class PublicCode(Case):
    """A public code; `change` is (file, text, what it becomes): there the activity is done twice."""

    def __init__(self, name, backends, folder, make, program, command, change, filter_text, threads=None, note=""):
        super().__init__(name, backends, None, command, [("twice", 2, filter_text)], threads, note)
        self.folder, self.make, self.program, self.change = folder, make, program, change

    def builds(self, codes, work):
        if not codes or not (codes / self.folder).is_dir():
            raise Skip(f"no {self.folder} in the folder of public codes")
        programs = []
        for variant in ("as-it-is", "changed"):
            copy = work / f"{self.name}-{variant}"
            shutil.copytree(codes / self.folder, copy, symlinks=True)
            if variant == "changed":
                path, text, becomes = copy / self.change[0], *self.change[1:]
                content = path.read_text(errors="surrogateescape")
                if text not in content:
                    raise Skip(f"{self.change[0]} of {self.folder} is another version than this script knows")
                path.write_text(content.replace(text, becomes, 1), errors="surrogateescape")
            self.make(copy)
            programs.append(copy / self.program)
        return programs


def make_comd(folder):
    shutil.copy(folder / "src-mpi/Makefile.vanilla", folder / "src-mpi/Makefile")
    call(["make", "-C", folder / "src-mpi", f"CC={tool(*MPICC)}", "OPTFLAGS=-O2 -g"])


def make_lulesh(folder):
    call(["make", "-C", folder, f"CXX={tool('clang++', 'clang++-14')}", "MPI_INC=", "MPI_LIB=",
          f"SERCXX={tool('clang++', 'clang++-14')} -DUSE_MPI=0", f"CXXFLAGS=-O2 -g -fopenmp -I. -w", "LDFLAGS=-O2 -g -fopenmp",
          f"CXX={tool('clang++', 'clang++-14')} -DUSE_MPI=0"])


def make_bt(folder):
    (folder / "bin").mkdir(exist_ok=True)
    compiler = tool("clang", "clang-14")
    call(["make", "-C", folder, "bt", "CLASS=W", f"CC={compiler} -fopenmp -w", f"CLINK={compiler} -fopenmp", "CFLAGS=-O2 -g", "CLINKFLAGS=-O2 -lm"])


CODES = [
    PublicCode("CoMD", "cpu,mpi", "CoMD", make_comd, "bin/CoMD-mpi",
               lambda program: [tool("mpirun.openmpi", "mpirun"), "-np", "2", *program, "-x", "20", "-y", "20", "-z", "20", "-N", "40", "-i", "2"],
               ("src-mpi/timestep.c", "      computeForce(s);", "      computeForce(s); computeForce(s);"), "kind=compute,path=*ljForce*"),
    PublicCode("LULESH", "cpu,openmp", "LULESH", make_lulesh, "lulesh2.0", lambda program: [*program, "-s", "30", "-i", "100"],
               ("lulesh.cc", "    CalcKinematicsForElems(domain, deltatime, numElem) ;", "    CalcKinematicsForElems(domain, deltatime, numElem) ;"
                "    CalcKinematicsForElems(domain, deltatime, numElem) ;"), "path=*CalcKinematicsForElems*", threads=2),
    PublicCode("NPB-BT", "cpu,openmp", "NPB3.0-omp-C", make_bt, "bin/bt.W", alone,
               ("BT/bt.c", "    compute_rhs();\n", "    compute_rhs(); compute_rhs();\n"), "kind=compute,path=*compute_rhs*", threads=2),
]


class Row:
    def __init__(self, program, change, scale, unchanged, predicted, became):
        self.program, self.change, self.scale = program, change, scale
        measured = [result["measured_ns"] for result in unchanged]
        self.measured, self.predicted, self.became = (statistics.median(times) / 1e6 for times in (measured, predicted, became))
        self.residual = max(abs(result["replayed_ns"] / result["measured_ns"] - 1) for result in unchanged)
        self.spreads = spread(measured), spread(became)
        self.error = self.predicted / self.became - 1

    def text(self):
        return (f"{self.program:18} {self.change:22} {self.measured:9.1f} ms  predicted {self.predicted:9.1f}  measured {self.became:9.1f}  "
                f"error {100 * self.error:+6.2f} %  spread {100 * self.spreads[0]:.1f}, {100 * self.spreads[1]:.1f} %  replay {100 * self.residual:.3f} %")

    def markdown(self):
        return (f"| {self.program} | {self.change} | `{self.scale}` | {self.measured:.1f} | {self.predicted:.1f} | {self.became:.1f} | {100 * self.error:+.2f} | "
                f"{100 * self.spreads[0]:.1f}, {100 * self.spreads[1]:.1f} | {100 * self.residual:.3f} |")


def spread(times):
    if len(times) < 2:
        return 0
    first, _, third = statistics.quantiles(times, n=4, method="inclusive")
    return (third - first) / 2 / statistics.median(times)


HEADER = ["| program | change | `--scale` | unchanged ms | predicted ms | measured ms | error % | spread of unchanged, changed % | replay residual % |",
          "|---|---|---|---|---|---|---|---|---|"]


def write_document(rows):
    text = DOC.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    run = {row.program for row in rows}
    kept = [line for line in text[begin:end].splitlines() if line.startswith("| ") and not line.startswith("| program ")
            and line.split("|")[1].strip() not in run]
    names = [case.name for case in CASES + CODES]
    lines = sorted(kept + [row.markdown() for row in rows], key=lambda line: names.index(line.split("|")[1].strip()))
    DOC.write_text(text[:begin] + "\n" + "\n".join(HEADER + lines) + "\n" + text[end:])


class Bench:
    def __init__(self, build, runs, work, under):
        self.hprofiler, self.runs, self.work, self.under = build / "bin/hprofiler", runs, work, under

    def record(self, case, argv, extra=None):
        trace = self.work / f"{case.name}.hpt"
        trace.unlink(missing_ok=True)
        call([self.hprofiler, "run", "-b", case.backends, "--no-summary", "-o", trace, "--", *argv], cwd=self.work,
             env={**os.environ, **MPI, **case.environment, **(extra or {})})
        return trace

    def what_if(self, trace, scale):
        return json.loads(call([self.hprofiler, "what-if", trace, "--scale", scale, "--format", "json"]))

    def measure(self, trace):
        return self.what_if(trace, "name=nothing-is-called-this:1")

    def case(self, case, codes):
        if isinstance(case, PublicCode):
            program, changed = case.builds(codes, self.work)
        else:
            program = changed = case.build(case, self.work)
        unchanged, predicted, became = [], [[] for _ in case.changes], [[] for _ in case.changes]
        for _ in range(self.runs):
            trace = self.record(case, case.command([*self.under, program]))
            unchanged.append(self.measure(trace))
            for number, (_, factor, scale) in enumerate(case.changes):
                predicted[number].append(self.what_if(trace, f"{scale}:{factor}")["predicted_ns"])
            for number, (activity, factor, _) in enumerate(case.changes):
                trace = self.record(case, case.command([*self.under, changed]), {f"SCALE_{activity}": str(factor)})
                became[number].append(self.measure(trace)["measured_ns"])
        for number, (activity, factor, scale) in enumerate(case.changes):
            yield Row(case.name, f"{activity} x {factor:g}", scale, unchanged, predicted[number], became[number])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--codes", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--under", default="", metavar="COMMAND", help="each program, and each rank of it, is started by this command: numactl, chrt ...")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="predictions-") as folder:
        bench = Bench(options.build.absolute(), options.runs, pathlib.Path(folder), shlex.split(options.under))
        for case in CASES + CODES:
            if options.only and case.name not in options.only:
                continue
            try:
                for row in bench.case(case, options.codes and options.codes.absolute()):
                    rows.append(row)
                    print(row.text(), flush=True)
            except Skip as reason:
                print(f"{case.name:18} skipped: {reason}", flush=True)
    if options.markdown:
        options.markdown.write_text("\n".join(HEADER + [row.markdown() for row in rows]) + "\n")
    if options.write:
        write_document(rows)
    outside = [row for row in rows if abs(row.error) > 0.05]
    print(f"{len(rows)} predictions, {len(outside)} outside 5 %")
    return bool(outside)


if __name__ == "__main__":
    sys.exit(main())
