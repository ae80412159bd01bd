# SPDX-License-Identifier: MIT
"""OpenCL programs on PoCL: what is recorded of them, exactly, and that they notice nothing."""
import collections
import os
import pathlib
import shutil
import subprocess

import pytest

OPENCL = ("-b", "opencl")
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
# Both ways in are open by default. With one variable gone from the program's environment only the other is left.
WAYS = {"both": [], "layer": ["env", "-u", "LD_PRELOAD"], "preload": ["env", "-u", "OPENCL_LAYERS"]}
COMMANDS = """select s.name name, s.kind kind, count(*) count, sum(json_extract(s.args, '$.bytes')) bytes
    from spans s join tracks t on t.id = s.track where t.kind = 'stream' group by 1, 2"""
CALLS = """select s.name name, s.kind kind, count(*) count from spans s join tracks t on t.id = s.track
    where t.kind = 'thread' and s.category = 'opencl' group by 1, 2"""
EACH_COMMANDS = {
    ("write buffer", "copy"): (3, 16384 + 8192 + 1024), ("read buffer", "copy"): (4, 1024 + 3 * 16384),
    ("copy buffer", "copy"): (2, 8192 + 1024), ("fill buffer", "fill"): (1, 2048), ("migrate", "copy"): (2, 2 * 16384),
    ("map buffer", "map"): (2, 8192), ("map image", "map"): (1, 4096), ("unmap", "map"): (3, 8192 + 4096),
    ("write image", "copy"): (1, 4096), ("read image", "copy"): (1, 4096), ("copy image", "copy"): (1, 4096),
    ("copy image to buffer", "copy"): (1, 4096), ("copy buffer to image", "copy"): (1, 4096), ("fill image", "fill"): (1, 4096),
    ("svm fill", "fill"): (1, 16384), ("svm copy", "copy"): (1, 16384), ("svm map", "map"): (1, 16384),
    ("svm unmap", "map"): (1, 16384), ("svm free", "alloc"): (1, None), ("add", "kernel"): (3, None), ("flat", "kernel"): (1, None),
    ("twice", "kernel"): (2, None), ("native kernel", "kernel"): (1, None), ("marker", "sync"): (2, None), ("barrier", "sync"): (1, None),
}
EACH_CALLS = {
    "clGetPlatformIDs": 1, "clGetDeviceIDs": 1, "clCreateContext": 1, "clReleaseContext": 1, "clCreateCommandQueue": 1,
    "clReleaseCommandQueue": 1, "clCreateBuffer": 2, "clCreateImage": 2, "clReleaseMemObject": 4, "clSVMAlloc": 2, "clSVMFree": 1,
    "clBuildProgram": 1, "clFinish": 5, "clFlush": 1, "clWaitForEvents": 1, "clEnqueueWriteBuffer": 2, "clEnqueueReadBuffer": 4,
    "clEnqueueCopyBuffer": 2, "clEnqueueFillBuffer": 1, "clEnqueueWriteBufferRect": 1, "clEnqueueReadBufferRect": 1,
    "clEnqueueCopyBufferRect": 1, "clEnqueueMigrateMemObjects": 2, "clEnqueueMapBuffer": 2, "clEnqueueMapImage": 1,
    "clEnqueueUnmapMemObject": 3, "clEnqueueWriteImage": 1, "clEnqueueReadImage": 1, "clEnqueueCopyImage": 1, "clEnqueueFillImage": 1,
    "clEnqueueCopyImageToBuffer": 1, "clEnqueueCopyBufferToImage": 1, "clEnqueueSVMMemFill": 1, "clEnqueueSVMMemcpy": 1,
    "clEnqueueSVMMap": 1, "clEnqueueSVMUnmap": 1, "clEnqueueSVMFree": 1, "clEnqueueNDRangeKernel": 5, "clEnqueueTask": 1,
    "clEnqueueNativeKernel": 1, "clEnqueueMarker": 2, "clEnqueueMarkerWithWaitList": 1, "clEnqueueBarrier": 1,
    "clEnqueueBarrierWithWaitList": 1,
}


@pytest.fixture(scope="module", autouse=True)
def pocl(tmp_path_factory):
    if not POCL.exists():
        pytest.skip("no PoCL here (Debian: pocl-opencl-icd)")
    os.environ["OCL_ICD_VENDORS"] = "pocl.icd"
    os.environ["POCL_CACHE_DIR"] = str(tmp_path_factory.mktemp("pocl"))


@pytest.fixture
def target(apps, runner):
    program = apps / "opencl_target"
    if not program.exists():
        pytest.skip("opencl_target is not built: no OpenCL headers (opencl-headers) or loader (ocl-icd-opencl-dev)")
    bare = runner.bare([program, "each"])
    if bare.status == 77:
        pytest.skip(bare.stdout.decode().strip())
    assert bare.status == 0
    return program


def lost(run):
    return [row for row in run.query("select * from ledger") if row["lost"]]


def early(run):
    """Commands that began before the call that enqueued them, by more than the clocks' error."""
    errors = run.query("select cast(value as integer) ns from metadata where key like 'clock.device.%.error_ns'")
    assert len(errors) == 1 and errors[0]["ns"] >= 0
    return run.query(f"""select s.name, p.begin_ns - s.begin_ns ns from spans s join tracks t on t.id = s.track
        join spans p on p.id = s.parent where t.kind = 'stream' and s.begin_ns + {errors[0]["ns"]} < p.begin_ns""")


def links(run):
    return {row["kind"]: row["count"] for row in run.query("select kind, count(*) count from links group by 1")}


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_command_is_recorded_once(runner, target, way):
    bare = runner.bare([target, "each"])
    run = runner.profiled([*WAYS[way], target, "each"], OPENCL)
    assert (run.status, run.stdout) == (bare.status, bare.stdout)
    commands = {(row["name"], row["kind"]): (row["count"], row["bytes"]) for row in run.query(COMMANDS)}
    assert commands == EACH_COMMANDS
    calls = {row["name"]: row["count"] for row in run.query(CALLS)}
    assert calls == EACH_CALLS
    assert lost(run) == []
    assert early(run) == []
    # Commands that were refused (by size, for want of a buffer or an event) are calls with a result, and no commands.
    failed = run.query("select name, json_extract(args, '$.result') result from spans where json_extract(args, '$.result') is not null")
    assert sorted((row["name"], row["result"]) for row in failed) == [
        ("clEnqueueCopyBuffer", -38), ("clEnqueueMarker", -30), ("clEnqueueReadBuffer", -30)]


def test_each_command_hangs_under_the_call_that_enqueued_it(runner, target):
    run = runner.profiled([target, "each"], OPENCL)
    pairs = run.query("""select s.name command, p.name call, count(*) count from spans s join tracks t on t.id = s.track
        left join spans p on p.id = s.parent where t.kind = 'stream' group by 1, 2""")
    by_call = collections.Counter()
    for row in pairs:
        by_call[row["call"]] += row["count"]
    expected = {name: count for name, count in EACH_CALLS.items() if name.startswith("clEnqueue") and name != "clEnqueueBarrier"}
    expected["clEnqueueCopyBuffer"] -= 1
    expected["clEnqueueReadBuffer"] -= 1
    expected["clEnqueueMarker"] -= 1
    assert by_call == expected
    assert links(run)["launch"] == sum(expected.values())
    # Blocking: write, 2 reads of buffers and one that ends the kernels, rect read, map, map image, image write and read,
    # svm copy and map; then the one event waited for, and 4 waits for the queue's last command.
    blocking = run.query("select name, count(*) count from spans where json_extract(args, '$.blocking') = 1 group by 1")
    assert {row["name"]: row["count"] for row in blocking} == {
        "clEnqueueWriteBuffer": 1, "clEnqueueReadBuffer": 3, "clEnqueueReadBufferRect": 1, "clEnqueueMapBuffer": 1,
        "clEnqueueMapImage": 1, "clEnqueueWriteImage": 1, "clEnqueueReadImage": 1, "clEnqueueSVMMemcpy": 1, "clEnqueueSVMMap": 1}
    assert links(run)["sync"] == 10 + 1 + 5


def test_kernels_have_their_sizes(runner, target):
    run = runner.profiled([target, "each"], OPENCL)
    fields = ["grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"]
    columns = ", ".join(f"json_extract(args, '$.{field}') {field}" for field in fields)
    rows = run.query(f"select name, {columns} from spans where kind = 'kernel' order by begin_ns")
    sizes = [(row["name"], *(row[field] for field in fields)) for row in rows]
    nothing = (None,) * 6
    assert sizes == [*[("add", 16, 1, 1, 64, 1, 1)] * 3, ("flat", 4, 4, 1, 8, 4, 1), ("twice", *nothing), ("twice", 1, 1, 1, 1, 1, 1),
                     ("native kernel", *nothing)]


def test_the_program_reads_what_it_would_read_without_us(runner, target):
    runner.compare([target, "sees"], OPENCL)


@pytest.mark.parametrize("way", WAYS)
def test_wait_lists_barriers_and_user_events_become_dependencies(runner, target, way):
    run = runner.profiled([*WAYS[way], target, "unordered"], OPENCL)
    assert run.status == 0 and run.stdout == b"first 7\nsecond 8\n"
    rows = run.query("""select f.name source, g.name target, count(*) count from links l join spans f on f.id = l.from_span
        join spans g on g.id = l.to_span where l.kind = 'depend' group by 1, 2""")
    assert {(row["source"], row["target"]): row["count"] for row in rows} == {
        ("fill buffer", "add"): 2, ("add", "twice"): 1, ("clSetUserEventStatus", "add"): 1, ("twice", "read buffer"): 3,
        ("fill buffer", "barrier"): 2, ("add", "barrier"): 2, ("twice", "barrier"): 1, ("barrier", "twice"): 1,
        ("barrier", "read buffer"): 2}
    wrong = run.query("""select f.name source, g.name target from links l join spans f on f.id = l.from_span
        join spans g on g.id = l.to_span join tracks t on t.id = f.track where l.kind = 'depend' and t.kind = 'stream'
        and f.end_ns > g.begin_ns + 1000""")
    assert wrong == []
    assert early(run) == []


def test_builds_are_timed_whether_they_succeed_or_not(runner, target):
    _, run = runner.compare([target, "builds"], OPENCL)
    rows = run.query("""select name, json_extract(args, '$.result') result, json_extract(args, '$.options') options from spans
        where kind = 'build' order by begin_ns""")
    assert [(row["name"], row["result"], row["options"]) for row in rows] == [
        ("clBuildProgram", None, "-DHP_FIRST=1"), ("clBuildProgram", None, "-DHP_LATE=1"), ("clBuildProgram", -11, None),
        ("clCompileProgram", None, None), ("clLinkProgram", None, None)]


LATE_BUILDS = """
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
typedef void (*notice)(cl_program, void *);
static const cl_icd_dispatch *next;
static struct job { cl_program program; notice notify; void *data; } job;
static void *work(void *unused)
{
    usleep(200000);
    next->clBuildProgram(job.program, 0, 0, "", 0, 0);
    job.notify(job.program, job.data);
    return unused;
}
static cl_int build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options, notice notify, void *data)
{
    pthread_t thread;
    if (!notify)
        return next->clBuildProgram(program, count, devices, options, 0, data);
    job = (struct job){program, notify, data};
    return pthread_create(&thread, 0, work, 0);
}
cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *ret_size)
{
    *(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
    return (int)what - CL_LAYER_API_VERSION;
}
cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *ret_count, const cl_icd_dispatch **ret_table)
{
    static cl_icd_dispatch table;
    next = target;
    table = *target;
    table.clBuildProgram = build;
    *ret_count = sizeof table / sizeof(void *);
    *ret_table = &table;
    return 0;
}
"""


def test_a_build_that_goes_on_after_its_call_has_a_lane(runner, target, tmp_path):
    """PoCL builds before the call returns; a layer of the user's own, under ours, lets it build in a thread as other runtimes do."""
    (tmp_path / "late.c").write_text(LATE_BUILDS)
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([compiler, "-w", "-shared", "-fPIC", "-pthread", tmp_path / "late.c", "-o", tmp_path / "late.so"], check=True)
    for _ in range(3):  # who makes the call may lose the processor in it for as long as the build waits
        _, run = runner.compare([target, "builds"], OPENCL, env={"OPENCL_LAYERS": str(tmp_path / "late.so")})
        rows = run.query("""select s.name name, t.name lane, s.begin_ns first, s.end_ns last, p.name parent, p.begin_ns call, p.end_ns returned,
            json_extract(s.args, '$.options') options from spans s join tracks t on t.id = s.track join spans p on p.id = s.parent
            where t.kind = 'stream'""")
        if rows and rows[0]["last"] > rows[0]["returned"]:
            break
    assert [(row["name"], row["lane"], row["parent"], row["options"]) for row in rows] == [
        ("build program", "asynchronous builds", "clBuildProgram", "-DHP_LATE=1")]
    assert rows[0]["first"] == rows[0]["call"] and rows[0]["last"] > rows[0]["returned"] and rows[0]["last"] - rows[0]["first"] >= 200000000


def test_binaries_are_kept_for_disassembly(runner, target):
    run = runner.profiled([target, "names"], (*OPENCL, "--disasm"))
    assert run.status == 0, run.stderr
    rows = run.query("select name, json_extract(args, '$.object') object from spans where name = 'clBuildProgram' or kind = 'kernel'")
    assert len(rows) == 6 and all(row["object"] == 1 for row in rows), rows
    kept = list(run.trace.with_name(run.trace.name + ".objects").iterdir())
    assert [path.name.rsplit("-", 1)[1] for path in kept] == ["1"] and kept[0].stat().st_size > 1000
    assert kept[0].stat().st_mode & 0o777 == 0o600


def test_calls_inside_a_callback_count(runner, target):
    _, run = runner.compare([target, "callback"], OPENCL)
    commands = {row["name"]: row["count"] for row in run.query(COMMANDS)}
    assert commands == {"add": 10, "fill buffer": 10, "read buffer": 1}


@pytest.mark.parametrize("way", WAYS)
def test_eight_threads_on_one_queue(runner, target, way):
    run = runner.profiled([*WAYS[way], target, "threads", "8", "200"], OPENCL)
    assert run.status == 0 and run.stdout.decode().splitlines() == [f"thread {i}: 200" for i in range(8)]
    assert {row["name"]: row["count"] for row in run.query(COMMANDS)} == {"add": 1600, "fill buffer": 8, "read buffer": 8}
    assert links(run)["launch"] == 1616
    assert lost(run) == [] and early(run) == []


def test_every_way_to_get_a_kernel_gives_its_name(runner, target):
    _, run = runner.compare([target, "names"], OPENCL)
    commands = {row["name"]: row["count"] for row in run.query(COMMANDS)}
    assert commands == {"add": 2, "twice": 1, "spin": 1, "flat": 1}


def test_queues_released_while_they_work(runner, target):
    _, run = runner.compare([target, "order"], OPENCL)
    lanes = run.query("select name, stream from tracks where kind = 'stream' order by stream")
    assert [row["stream"] for row in lanes] == list(range(200))
    assert lanes[7]["name"].startswith("queue 7 (")
    assert {row["name"]: row["count"] for row in run.query(COMMANDS)} == {"add": 400}


@pytest.mark.parametrize("how, status", [("through", 6), ("return", 0), ("exit", 6), ("_exit", 5)])
def test_work_in_flight_at_the_end(runner, target, how, status):
    run = runner.profiled([target, "left", how], OPENCL)
    assert (run.status, run.stdout) == (status, b"left\n")
    commands = {row["name"]: row["count"] for row in run.query(COMMANDS)}
    calls = {row["name"]: row["count"] for row in run.query(CALLS)}
    if how == "through":
        assert commands == {"spin": 2} and calls["clEnqueueNDRangeKernel"] == 2
        return
    assert calls["clEnqueueNDRangeKernel"] == 3
    assert commands == {"spin": 2, "marker": 1}
    if how != "_exit": # no code of ours runs then: only the call tells of the command
        assert "1 OpenCL commands were still under way at exit" in run.own_stderr()


def test_a_forked_child_leaves_its_parents_commands_alone(runner, target):
    _, run = runner.compare([target, "fork"], OPENCL)
    assert {row["name"]: row["count"] for row in run.query(COMMANDS)} == {"add": 3, "fill buffer": 1, "read buffer": 1}


def test_sub_devices_are_devices_of_their_own(runner, target):
    bare = runner.bare([target, "parts"])
    if bare.status == 77:
        pytest.skip("this device cannot be divided in two: one core")
    run = runner.profiled([target, "parts"], OPENCL)
    assert (run.status, run.stdout) == (0, b"parts 5 5\n")
    devices = run.query("select name, device from tracks where kind = 'device' order by device")
    assert [row["device"] for row in devices] == [0, 1] and all(row["name"].endswith("(sub-device)") for row in devices)
    lanes = run.query("""select t.device device, t.stream stream, count(*) count from spans s join tracks t on t.id = s.track
        where t.kind = 'stream' group by 1, 2 order by 1""")
    assert [(row["device"], row["stream"], row["count"]) for row in lanes] == [(0, 0, 2), (1, 0, 2)]


def test_a_queue_made_before_the_recording_began(runner, target):
    for delay in (0.35, 0.7, 1.4, 2.8): # a busy machine may not have come to the queue by then
        run = runner.profiled([target, "slow"], (*OPENCL, "--delay", str(delay)))
        assert (run.status, run.stdout) == (0, b"slow\n")
        lanes = run.query("""select t.name name, count(*) count, min(s.begin_ns) first from spans s
            join tracks t on t.id = s.track where t.kind = 'stream' group by 1""")
        if len(lanes) == 1 and lanes[0]["count"] < 30:
            break
    else:
        pytest.skip("the machine is too busy to tell before from after")
    assert lanes[0]["first"] >= delay * 1000000000 and lanes[0]["name"].startswith("queue 0 (") and early(run) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_forked_child_has_devices_and_names_of_its_own(runner, target, way):
    run = runner.profiled([*WAYS[way], target, "child"], OPENCL)
    assert (run.status, run.stdout) == (0, b"add: 3\nchild 4\ntwice: 3\n")
    rows = run.query("""select s.name name, count(*) count, count(distinct t.name) lanes, max(d.name) device, t.pid pid from spans s
        join tracks t on t.id = s.track join tracks d on d.kind = 'device' and d.pid = t.pid
        where t.kind = 'stream' group by 1, t.pid order by s.begin_ns""")
    assert [(row["name"], row["count"], row["lanes"]) for row in rows] == [
        ("fill buffer", 1, 1), ("add", 3, 1), ("read buffer", 1, 1), ("fill buffer", 1, 1), ("twice", 2, 1), ("read buffer", 1, 1)]
    assert len({row["device"] for row in rows}) == 1 and all(row["device"] for row in rows)
    assert len({row["pid"] for row in rows}) == 2


def test_a_program_that_loads_opencl_itself(runner, target, tmp_path):
    """dlopen with RTLD_LOCAL and dlsym: only the layer sees such calls."""
    assert target
    script = tmp_path / "local.py"
    script.write_text("""
import ctypes
cl = ctypes.CDLL("libOpenCL.so.1", mode=0)
platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None) == 0
cl.clCreateContext.restype = cl.clCreateCommandQueue.restype = cl.clCreateBuffer.restype = ctypes.c_void_p
context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
buffer = ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(64), None, ctypes.byref(error)))
data = (ctypes.c_char * 64)(*b"x" * 64)
for _ in range(5):
    assert cl.clEnqueueWriteBuffer(queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(64), data, 0, None, None) == 0
print("loaded")
""")
    _, run = runner.compare([shutil.which("python3"), script], OPENCL)
    assert {row["name"]: (row["count"], row["bytes"]) for row in run.query(COMMANDS)} == {"write buffer": (5, 320)}


def test_a_library_with_opencl_in_a_local_scope(runner, target, tmp_path):
    """A Python extension linked with the loader: preloaded symbols serve it although the loader is in no global scope."""
    assert target
    source, library = tmp_path / "part.c", tmp_path / "part.so"
    source.write_text("""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
int part(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    int value = 3, back = 0;
    if (clGetPlatformIDs(1, &platform, 0) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0))
        return -1;
    cl_context context = clCreateContext(0, 1, &device, 0, 0, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof value, 0, &error);
    clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof value, &value, 0, 0, 0);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof back, &back, 0, 0, 0);
    return back;
}
""")
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library, "-lOpenCL"], check=True)
    program = [shutil.which("python3"), "-c", f"import ctypes; print(ctypes.CDLL({str(library)!r}, mode=0).part())"]
    for way in WAYS:
        run = runner.profiled([*WAYS[way], *program], OPENCL)
        assert (run.status, run.stdout) == (0, b"3\n"), (way, run.stderr)
        assert {row["name"]: row["count"] for row in run.query(COMMANDS)} == {"write buffer": 1, "read buffer": 1}, way


def test_stacks_end_in_the_programs_own_code(runner, target):
    run = runner.profiled([target, "names"], (*OPENCL, "--call-tree"))
    assert run.status == 0, run.stderr
    names = {row["name"] for row in run.query("select distinct name from frames")}
    assert "scenario_names" in names
    assert not any("ocl_" in (name or "") or "layer_cl" in (name or "") for name in names), names


OTHER_CLOCK = """
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    Dl_info info;
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (dladdr(__builtin_return_address(0), &info) && info.dli_fname && strstr(info.dli_fname, "libpocl")) {
        uint64_t ns = (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
        ns += ns / 20000 + 123456789012;
        time->tv_sec = (time_t)(ns / 1000000000);
        time->tv_nsec = (long)(ns % 1000000000);
    }
    return result;
}
"""


@pytest.mark.parametrize("scenario", [["each"], ["unordered"], ["threads", "4", "100"]])
def test_a_device_with_a_clock_of_its_own(runner, target, tmp_path, scenario):
    """PoCL reads a clock that runs 123 s ahead and 50 ppm fast: bounds place its commands, within the error that they tell."""
    (tmp_path / "clock.c").write_text(OTHER_CLOCK)
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([compiler, "-D_GNU_SOURCE", "-shared", "-fPIC", tmp_path / "clock.c", "-o", tmp_path / "clock.so", "-ldl"], check=True)
    _, run = runner.compare([target, *scenario], OPENCL, env={"LD_PRELOAD": "clock.so", "LD_LIBRARY_PATH": str(tmp_path)})
    assert lost(run) == [] and early(run) == []
    [clock] = run.query("select cast(value as integer) error from metadata where key = 'clock.device.0.error_ns'")
    assert 0 < clock["error"] < 1000000000
    late = run.query(f"""select f.name, f.end_ns - g.end_ns ns from links l join spans f on f.id = l.from_span join spans g on g.id = l.to_span
        where l.kind = 'sync' and f.end_ns > g.end_ns + {clock["error"]}""")
    assert late == []


def test_a_vendors_library_without_a_loader(runner, target, tmp_path):
    """Oclgrind's library under the loader's name: only preloaded functions see it. It runs commands and callbacks inside the
    program's own calls, and calls itself by public names: nothing of that may count twice, or go missing."""
    library = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt.so")
    if not library.exists():
        pytest.skip("no Oclgrind here (Debian: oclgrind)")
    (tmp_path / "libOpenCL.so.1").symlink_to(library)
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    _, run = runner.compare([target, "callback"], OPENCL, env=environment)
    assert {row["name"]: row["count"] for row in run.query(COMMANDS)} == {"add": 10, "fill buffer": 10, "read buffer": 1}
    calls = {row["name"]: row["count"] for row in run.query(CALLS)}
    assert calls == {"clGetPlatformIDs": 1, "clGetDeviceIDs": 1, "clCreateContext": 1, "clCreateCommandQueue": 2, "clCreateBuffer": 2,
                     "clBuildProgram": 1, "clEnqueueNDRangeKernel": 10, "clEnqueueFillBuffer": 10, "clFlush": 10, "clFinish": 1,
                     "clEnqueueReadBuffer": 1}
    assert run.query("select name from tracks where kind = 'device'") == [{"name": "Oclgrind Simulator"}]
    _, run = runner.compare([target, "unordered"], OPENCL, env=environment)
    assert links(run)["depend"] == 15 and early(run) == []
