#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels of Python frameworks on a machine with an NVIDIA GPU, counted by hprofiler and by the framework's own profiler, as a table.

  tests/gpu/frameworks.py HPROFILER

The framework counts in a run of its own, as its profiler is a second user of CUPTI. A range `measured` of NVTX says which launches
count. What is not installed is said and left out. `frameworks.py work NAME own|plain`: the work itself, in a process of its own."""
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

NAMES = ["torch_step", "torch_graph", "torch_compile", "triton", "cupy", "jax", "torch_second_client", "nccl", "nccl_wrapped"]


def torch_counts(work, own):
    import torch
    if not own:
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push("measured")
        work()
        torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        return None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]) as profile:
        work()
        torch.cuda.synchronize()
    return sum(1 for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA
               and not event.name.startswith(("Mem", "measured")) and not getattr(event, "is_user_annotation", False))


def model_step():
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    inputs, labels = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")

    def step(module=model):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs), labels).backward()
        optimizer.step()
    return model, step


def torch_step(own):
    _, step = model_step()
    for _ in range(3):
        step()
    return torch_counts(lambda: [step() for _ in range(5)], own)


def torch_graph(own):
    import torch
    data = torch.randn(1 << 16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    (data * 2).relu_()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(7):
            data.mul_(1.01).add_(0.1)
    graph.replay()
    return torch_counts(lambda: [graph.replay() for _ in range(10)], own)


def torch_compile(own):
    import torch
    model, step = model_step()
    compiled = torch.compile(model)
    for _ in range(3):
        step(compiled)
    return torch_counts(lambda: [step(compiled) for _ in range(3)], own)


def triton(own):
    import torch
    import triton_kernel
    data = torch.zeros(4096, device="cuda")
    triton_kernel.add_one[(4,)](data, 4096, BLOCK=1024)
    count = torch_counts(lambda: [triton_kernel.add_one[(4,)](data, 4096, BLOCK=1024) for _ in range(20)], own)
    return 20 if own else count


def cupy(own):
    import cupy as cp
    kernel = cp.RawKernel(r'extern "C" __global__ void one(float *x) { x[threadIdx.x] += 1; }', "one")
    data = cp.zeros(256, dtype=cp.float32)
    kernel((1,), (256,), (data,))
    cp.cuda.runtime.deviceSynchronize()
    cp.cuda.nvtx.RangePush("measured")
    for _ in range(25):
        kernel((1,), (256,), (data,))
    cp.cuda.nvtx.RangePop()
    cp.cuda.runtime.deviceSynchronize()
    return 25


def jax(own):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax as j
    import jax.numpy as jnp
    function = j.jit(lambda a, b: jnp.sum(jnp.maximum(a @ b, 0), axis=0))
    a = jnp.ones((256, 256))
    function(a, a).block_until_ready()
    if own:
        with tempfile.TemporaryDirectory() as folder:
            with j.profiler.trace(folder):
                for _ in range(7):
                    function(a, a).block_until_ready()
            path = next(pathlib.Path(folder).rglob("*.xplane.pb"))
            data = j.profiler.ProfileData.from_file(str(path))
            return sum(1 for plane in data.planes if plane.name.startswith("/device:GPU") for line in plane.lines if line.name.startswith("Stream")
                       for event in line.events if not event.name.startswith("Mem"))
    import cupy as cp
    cp.cuda.nvtx.RangePush("measured")
    for _ in range(7):
        function(a, a).block_until_ready()
    cp.cuda.nvtx.RangePop()
    return None


def torch_second_client(own):
    """PyTorch's profiler while hprofiler holds CUPTI: it goes on without, and so do we."""
    _, step = model_step()
    for _ in range(3):
        step()
    if own:
        return torch_counts(lambda: [step() for _ in range(5)], True)
    import torch
    torch.cuda.nvtx.range_push("measured")
    torch_counts(lambda: [step() for _ in range(5)], True)
    torch.cuda.nvtx.range_pop()
    return None


def nccl(own):
    import torch
    import torch.distributed as distributed
    distributed.init_process_group("nccl", init_method="tcp://127.0.0.1:" + os.environ["NCCL_TEST_PORT"], rank=0, world_size=1)
    data = torch.ones(1024, device="cuda")
    for _ in range(5):
        distributed.all_reduce(data)
    torch.cuda.synchronize()
    distributed.destroy_process_group()
    return 5


nccl_wrapped = nccl


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=110, env={**os.environ, **environment})


def measured(hprofiler, trace, name):
    if name.startswith("nccl"):
        sql = "select count(*) as n from spans where category = 'nccl' and kind = 'collective' and name like 'AllReduce%'"
    else:
        sql = ("select count(*) as n from spans r join spans c on c.begin_ns >= r.begin_ns and c.begin_ns <= r.end_ns join links l on l.from_span = c.id "
               "join spans k on k.id = l.to_span where r.name = 'measured' and r.kind = 'range' and k.kind = 'kernel' and l.kind = 'launch'")
        if name == "jax":  # launched by a thread of XLA's own: by time
            sql = "select count(*) as n from spans k join spans r on k.begin_ns >= r.begin_ns and k.end_ns <= r.end_ns where r.name = 'measured' and k.kind = 'kernel'"
    done = run([hprofiler, "query", trace, sql, "--format", "json"])
    return json.loads(done.stdout)[0]["n"] if done.returncode == 0 else done.stderr[-200:]


def compare(hprofiler, name, folder):
    work = [sys.executable, "-B", __file__, "work", name]
    own = run([*work, "own"], NCCL_TEST_PORT=free_port())
    if own.returncode:
        return f"{name:20} left out: {own.stderr.strip().splitlines()[-1] if own.stderr.strip() else own.returncode}", True
    expected = int(own.stdout.split()[-1])
    trace = folder / f"{name}.hpt"
    variables = {"NCCL_PROFILER_PLUGIN": "none"} if name == "nccl_wrapped" else {}
    done = run([hprofiler, "run", "-b", "cuda,nccl", "--no-summary", "-o", trace, "--", *work, "plain"], NCCL_TEST_PORT=free_port(), **variables)
    if done.returncode:
        return f"{name:20} failed under hprofiler: {done.stderr[-300:]}", False
    seen = measured(hprofiler, trace, name)
    if name == "nccl":  # with one rank NCCL 2.28 starts no events of operations: that the plugin is in is what there is to see
        plugin = run([hprofiler, "query", trace, "select count(*) from spans where category = 'nccl'", "--format", "csv"]).stdout.split()[-1]
        return f"{name:20} plugin's spans {plugin}, operations {seen} (one rank: the library starts none)", True
    return f"{name:20} hprofiler {seen:>6}, own {expected:>6} {'ok' if seen == expected else 'DIFFER'}", seen == expected


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "work":
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
        print(globals()[sys.argv[2]](sys.argv[3] == "own"))
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(5) as pool:
        folder, good = pathlib.Path(name), True
        for work in [pool.submit(compare, pathlib.Path(sys.argv[1]).resolve(), each, folder) for each in NAMES]:
            try:
                line, ok = work.result()
            except subprocess.TimeoutExpired as late:
                line, ok = f"{late.cmd[-2]:20} took too long", False
            print(line, flush=True)
            good &= ok
    sys.exit(not good)


if __name__ == "__main__":
    main()
