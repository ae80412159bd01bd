/* SPDX-License-Identifier: MIT */
/* Every backend of the program, and what this machine has for it. */
#include "backends.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "library_probe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const struct backend_info backend_infos[] = {
    {"cpu", "perf", "CPU samples with stacks, context switches, page faults", NULL},
    {"cuda", "", "CUDA kernels, graphs, copies, API calls, NVTX", "libhprofiler_cuda.so"},
    {"opencl", "cl", "OpenCL kernels, transfers, event waits, builds", "libhprofiler_opencl.so"},
    {"openmp", "omp", "OpenMP regions, loops, tasks, barriers, locks", "libhprofiler_ompt.so"},
    {"rocm", "hip", "HIP kernels, copies, syncs, ROCTX", "libhprofiler_rocm.so"},
    {"nccl", "", "NCCL and RCCL collectives and point-to-point", "libhprofiler_nccl.so"},
    {"mpi", "", "MPI communication, RMA, I/O, waits", "libhprofiler_mpi.so"},
    {"likwid", "hwc", "FLOPS, memory bandwidth, cache rates", "libhprofiler_likwid.so"},
    {NULL, NULL, NULL, NULL},
};

const struct backend_info *backend_find(const char *name_or_alias)
{
    for (const struct backend_info *info = backend_infos; info->name; info++)
        if (strcmp(info->name, name_or_alias) == 0 || (*info->alias && strcmp(info->alias, name_or_alias) == 0))
            return info;
    return NULL;
}

/* The runtimes that a backend looks into, best first; a program instead of a library where `program` is set. */
static const struct runtime {
    const char *backend, *what, *library, *symbol;
    enum version_call call;
    bool program;
} runtimes[] = {
    {"cuda", "CUDA driver", "libcuda.so.1", "cuDriverGetVersion", VERSION_CUDA, false},
    {"opencl", "OpenCL loader", "libOpenCL.so.1", NULL, VERSION_NONE, false},
    {"openmp", "LLVM OpenMP", "libomp.so.5", NULL, VERSION_NONE, false},
    {"openmp", "LLVM OpenMP", "libomp.so", NULL, VERSION_NONE, false},
    {"openmp", "Intel OpenMP", "libiomp5.so", NULL, VERSION_NONE, false},
    {"openmp", "GNU OpenMP (libgomp)", "libgomp.so.1", NULL, VERSION_NONE, false},
    {"rocm", "HIP runtime", "libamdhip64.so", "hipRuntimeGetVersion", VERSION_HIP, false},
    {"nccl", "NCCL", "libnccl.so.2", "ncclGetVersion", VERSION_NCCL, false},
    {"nccl", "RCCL", "librccl.so.1", "ncclGetVersion", VERSION_NCCL, false},
    {"mpi", "MPI", "libmpi.so.40", "MPI_Get_library_version", VERSION_MPI_TEXT, false},
    {"mpi", "MPI", "libmpi.so.12", "MPI_Get_library_version", VERSION_MPI_TEXT, false},
    {"mpi", "MPI", "libmpich.so.12", "MPI_Get_library_version", VERSION_MPI_TEXT, false},
    {"mpi", "MPI", "libmpi.so", "MPI_Get_library_version", VERSION_MPI_TEXT, false},
    {"likwid", "likwid-perfctr", "likwid-perfctr", NULL, VERSION_NONE, true},
};

static const struct {
    const char *backend, *remedy;
} remedies[] = {
    {"cuda", "the NVIDIA driver (libcuda.so.1) on a machine with an NVIDIA GPU"},
    {"opencl", "sudo apt-get install ocl-icd-libopencl1 and your device's OpenCL driver (pocl-opencl-icd for CPUs)"},
    {"openmp", "gcc's libgomp1 or LLVM's libomp5; programs bring theirs along"},
    {"rocm", "AMD ROCm (libamdhip64.so) on a machine with an AMD GPU"},
    {"nccl", "NCCL 2.23 or later (libnccl2); frameworks bring theirs along"},
    {"mpi", "sudo apt-get install libopenmpi3 or libmpich12, or load your site's MPI module"},
    {"likwid", "sudo apt-get install likwid"},
};

struct detection {
    const struct machine *machine;
    struct backend_list *list;
    bool failed;
};

static const char *keep(struct detection *detection, const char *text)
{
    const char *copy = *text ? arena_strndup(&detection->list->arena, text, strlen(text)) : "";
    detection->failed |= !copy;
    return copy ? copy : "";
}

static void add_way(struct detection *detection, struct backend_status *status, const char *name,
                    struct probe_result probe, const char *also)
{
    const char *reason = "";
    if (probe.counts_zero)
        reason = "opens but counts nothing";
    else if (!probe.works)
        reason = keep(detection, strerror(probe.error));
    else if (also)
        reason = also;
    status->ways[status->way_count++] = (struct backend_way){name, probe.works && !also, reason};
}

static void detect_cpu(struct detection *detection, struct backend_status *status)
{
    const struct machine *machine = detection->machine;
    char version[160];
    add_way(detection, status, "cycles", machine->probe.cycles, NULL);
    add_way(detection, status, "cpu-clock", machine->probe.cpu_clock, NULL);
    add_way(detection, status, "timers", machine->probe.timers,
            machine->runtime_library ? NULL : "libhprofiler_runtime.so is not beside the program");
    status->built = true;
    for (size_t i = 0; i < status->way_count; i++)
        status->available |= status->ways[i].works;
    snprintf(version, sizeof version, "Linux %s", machine->host.kernel);
    status->version = keep(detection, version);
    if (!status->available) {
        status->reason = "no way of sampling works here";
        status->remedy = "hprofiler doctor says what stands in the way";
    }
}

/* Which of the two ways an OpenCL loader offers: whether it reads the variable that names layers. */
static const char *loader_kind(const char *path)
{
    static const char variable[] = "OPENCL_LAYERS";
    CLEANUP(freep) char *content = NULL;
    size_t size;
    if (file_read(path, 64 << 20, &content, &size, NULL) < 0)
        return "";
    return memmem(content, size, variable, sizeof variable - 1) ? " with layers" : " without layers";
}

static bool runtime_find(const struct runtime *runtime, char *path, size_t path_size, char *text, size_t text_size)
{
    char version[256] = "";
    bool found = runtime->program ? program_find(runtime->library, path, path_size)
                                  : library_probe(runtime->library, runtime->symbol, runtime->call, path, path_size, version,
                                                  sizeof version);
    bool whole = runtime->call == VERSION_MPI_TEXT && version[0]; /* it names itself */
    const char *kind = found && strcmp(runtime->backend, "opencl") == 0 ? loader_kind(path) : "";
    snprintf(text, text_size, "%s%s%s%s", whole ? "" : runtime->what, version[0] && !whole ? " " : "", version, kind);
    return found;
}

static bool same_file(const char *left, const char *right)
{
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The same runtime may go by several names. */
static bool is_known(const struct backend_status *status, const char *version, const char *where)
{
    bool known = *status->version && (strcmp(status->version, version) == 0 || same_file(status->where, where));
    for (size_t i = 0; i < status->other_count && !known; i++)
        known = strcmp(status->others[i].version, version) == 0 || same_file(status->others[i].where, where);
    return known;
}

static void add_runtime(struct detection *detection, struct backend_status *status, const char *version, const char *where)
{
    if (is_known(status, version, where))
        return;
    if (!*status->version) {
        status->version = keep(detection, version);
        status->where = keep(detection, where);
    } else if (status->other_count < sizeof status->others / sizeof *status->others) {
        status->others[status->other_count++] = (struct backend_runtime){keep(detection, version), keep(detection, where)};
    }
}

static void detect_runtime(struct detection *detection, struct backend_status *status)
{
    char path[PATH_MAX], text[512];
    bool found = false;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        if (strcmp(runtimes[i].backend, status->info->name) != 0 || !runtime_find(&runtimes[i], path, sizeof path, text, sizeof text))
            continue;
        add_runtime(detection, status, text, path);
        found = true;
    }
    status->built = machine_has_library(detection->machine, status->info->collector);
    status->available = status->built && found;
    if (!status->built) {
        status->reason = "its collector is not part of this build";
        return;
    }
    if (found)
        return;
    status->reason = "no runtime of its kind was found";
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strcmp(remedies[i].backend, status->info->name) == 0)
            status->remedy = remedies[i].remedy;
}

int backends_detect(const struct machine *machine, struct backend_list *ret_list)
{
    size_t count = sizeof backend_infos / sizeof *backend_infos - 1;
    memset(ret_list, 0, sizeof *ret_list);
    arena_init(&ret_list->arena);
    struct detection detection = {.machine = machine, .list = ret_list};
    ret_list->items = arena_calloc(&ret_list->arena, count, sizeof *ret_list->items);
    detection.failed = !ret_list->items;
    for (size_t i = 0; i < count && !detection.failed; i++) {
        struct backend_status *status = &ret_list->items[i];
        *status =
            (struct backend_status){.info = &backend_infos[i], .version = "", .where = "", .reason = "", .remedy = ""};
        if (status->info->collector)
            detect_runtime(&detection, status);
        else
            detect_cpu(&detection, status);
        ret_list->count++;
    }
    if (detection.failed) {
        backend_list_finish(ret_list);
        return -ENOMEM;
    }
    return 0;
}

int backends_detect_here(struct backend_list *ret_list, struct error *err)
{
    CLEANUP(freep) struct machine *machine = malloc(sizeof *machine);
    if (!machine)
        return error_set(err, -ENOMEM, "out of memory");
    machine_read("", NULL, machine);
    int result = backends_detect(machine, ret_list);
    return result < 0 ? error_set_errno(err, result, "cannot look for backends") : 0;
}

void backend_list_finish(struct backend_list *list)
{
    arena_finish(&list->arena);
    list->items = NULL;
    list->count = 0;
}
