/* SPDX-License-Identifier: MIT */
/* `run`: profile a program from its start to its end. */
#include "commands.h"
#include "open_ui.h"
#include "recording.h"
#include "run_output.h"
#include "watch.h"

#include "base/cleanup.h"
#include "formats/format.h"
#include "system/backends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct run_values {
    struct recording_values recording;
    const char *backends, *openmp_runtime;
    int ui;
    const char *gpu_pc_mode, *cuda_graphs;
    bool call_tree, gpu_pc_sampling, disasm, live;
};

static const struct option_spec options[] = {
    {.short_name = 'b',
     .long_name = "backend",
     .kind = OPTION_STRING,
     .offset = offsetof(struct run_values, backends),
     .value_name = "LIST",
     .hint = HINT_BACKENDS,
     .help = "what to trace: names separated by commas, or auto: all that can apply [auto]"},
    OPTION_OUTPUT,
    OPTION_UI(struct run_values, "open the terminal UI afterwards"),
    {.long_name = "live",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, live),
     .help = "open the terminal UI with the program and watch it work; the program gets a terminal of its own [off]"},
    OPTION_SUMMARY,
    OPTION_TOP,
    OPTION_FORMAT,
    RECORDING_OPTIONS,
    {.long_name = "call-tree",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, call_tree),
     .help = "with every call that a backend traces its call stack: who called MPI, OpenMP, CUDA or OpenCL; costs "
             "microseconds a call [off]"},
    {.long_name = "gpu-pc-sampling",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, gpu_pc_sampling),
     .help = "cuda: sample where kernels are and what they wait for; needs the right to read the GPU's counters [off]"},
    {.long_name = "gpu-pc-mode",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct run_values, gpu_pc_mode),
     .choices = "continuous|serialized",
     .help = "cuda: sample while kernels run side by side, or run one after the other and know each launch's own samples; "
             "then a launch costs half a millisecond [continuous]"},
    {.long_name = "cuda-graphs",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct run_values, cuda_graphs),
     .choices = "nodes|whole",
     .help = "cuda: record each node of a graph, or a launch of a graph as one span, which costs less [nodes]"},
    {.long_name = "openmp-runtime",
     .kind = OPTION_STRING,
     .offset = offsetof(struct run_values, openmp_runtime),
     .value_name = "FILE",
     .hint = HINT_FILE,
     .help = "openmp: run a program of GCC's on this LLVM runtime (libomp.so.5), which tells more than GCC's own does"},
    {.long_name = "disasm",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, disasm),
     .help = "cuda, opencl: keep the code that devices run, in a folder beside the trace (its name and .objects), for a "
             "disassembler [off]"},
    OPTION_HELP,
    OPTION_END,
};

static void preset(void *values)
{
    struct run_values *run = values;
    recording_preset(values);
    run->backends = "auto";
    run->ui = -1;
    run->gpu_pc_mode = "continuous";
    run->cuda_graphs = "nodes";
}

/* Why a backend that was asked for by name can't trace here: in the words of `backends`. */
static int check_available(const struct backend_info *info, struct error *err)
{
    struct backend_list list;
    int result = backends_detect_here(&list, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < list.count; i++) {
        const struct backend_status *status = &list.items[i];
        if (status->info == info && !status->available)
            result = error_set(err, -ENOTSUP, "backend '%s' is not available: %s%s%s; nothing was run", info->name,
                               *status->reason ? status->reason : "no reason is known", *status->remedy ? "; " : "",
                               status->remedy);
    }
    backend_list_finish(&list);
    return result;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Names are checked here, so that a typing error is found before anything starts, and that no empty trace stands for a
 * backend that isn't there. The recorder judges `cpu` itself: it has several ways, and says which it takes. */
static int check_backends(const char *list, struct error *err)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        char name[32];
        size_t length = strcspn(at, ",");
        if (length >= sizeof name)
            length = sizeof name - 1;
        memcpy(name, at, length);
        name[length] = '\0';
        const struct backend_info *info = length ? backend_find(name) : NULL;
        if (strcmp(name, "auto") == 0)
            continue;
        if (!info)
            return error_set(err, -EINVAL, "there is no backend '%s': `hprofiler backends` lists them", name);
        int result = strcmp(info->name, "cpu") == 0 ? 0 : check_available(info, err);
        if (result < 0)
            return result;
    }
    return *list ? 0 : error_set(err, -EINVAL, "--backend needs at least one name, or auto");
}

/* A folder of PATH that may not be looked into refuses, too: as to shells, that does not make a program found. */
static bool found_in_path(const char *program)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at; at += strcspn(at, ":"), at += *at == ':') {
        char candidate[4096];
        struct stat info;
        int length = (int)strcspn(at, ":");
        if (snprintf(candidate, sizeof candidate, "%.*s/%s", length, at, program) < (int)sizeof candidate &&
            stat(length ? candidate : program, &info) == 0)
            return true;
    }
    return false;
}

static int cannot_run(const char *program, int reason, struct error *err)
{
    if (reason == EACCES && !strchr(program, '/') && !found_in_path(program))
        reason = ENOENT;
    bool missing = reason == ENOENT || reason == ENOTDIR;
    error_set(err, -reason, "cannot run '%s': %s%s", program, strerror(reason),
              missing            ? "; is it in PATH, or ./ missing in front?"
              : reason == EACCES ? "; is it executable?"
                                 : "");
    return missing ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static int exit_status(int wait_status)
{
    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : EXIT_PROFILER_FAILED;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct run_values *run_values = values;
    (void)invocation;
    if (run_values->live && run_values->ui == 0)
        return error_set(err, -EINVAL, "--live opens the terminal UI: it can't go with --no-ui");
    int result = check_backends(run_values->backends, err);
    return result < 0 ? result : recording_check(&run_values->recording, err);
}

/* What was asked for of the GPU; what is dear is said before it begins. */
static void fill_gpu_options(const struct run_values *values, const struct invocation *invocation, struct record_options *record)
{
    record->gpu_pc_sampling = values->gpu_pc_sampling;
    record->gpu_pc_serialized = strcmp(values->gpu_pc_mode, "serialized") == 0;
    record->whole_graphs = strcmp(values->cuda_graphs, "whole") == 0;
    if (!values->gpu_pc_sampling)
        return;
    log_info(invocation->log, "%s",
             record->gpu_pc_serialized ? "GPU program counters, serialized: kernels run one after the other, and each launch takes about "
                                         "half a millisecond more"
                                       : "GPU program counters, continuous: kernels run as ever, and each launch takes one to four "
                                         "microseconds more");
}

/* A UI that can't be opened is said, and the run goes on as without it. */
static int prepare_watch(const struct run_values *values, const struct invocation *invocation, const struct output_file *file,
                         struct watch **ret_watch, struct error *err)
{
    const char *why = values->live ? ui_unfit() : NULL;
    if (why)
        log_info(invocation->log, "--live: no terminal UI here: %s; the program runs without it", why);
    return values->live && !why ? watch_create(base_name(invocation->target[0]), file->path, invocation->log, ret_watch, err) : 0;
}

static int fill_options(const struct run_values *values, const struct invocation *invocation, struct record_options *record,
                        struct error *err)
{
    int code = recording_fill_options(&values->recording, invocation->log, record, err);
    record->backends = values->backends;
    record->call_tree = values->call_tree;
    fill_gpu_options(values, invocation, record);
    record->keep_code = values->disasm;
    record->openmp_runtime = values->openmp_runtime;
    return code;
}

/* From the start of the program to the end of all that is shown of it. */
static int record_and_finish(const struct record_options *record, struct finish_options *finish, const struct invocation *invocation,
                             struct error *err)
{
    struct record_result result = {.wait_status = -1};
    int code = record_run(record, invocation->target, &result, err);
    if (result.exec_errno) {
        code = cannot_run(invocation->target[0], result.exec_errno, err);
        log_write(invocation->log, LOG_INFO, "%s", err->text);
        return code;
    }
    if (code == 0) {
        finish->session_directory = result.session_directory;
        if (finish->watch)
            watch_recorded(finish->watch);
        code = recording_finish(finish, invocation, err);
    }
    if (code < 0 && finish->watch)
        watch_failed(finish->watch, err);
    return code < 0 ? code : exit_status(result.wait_status);
}

static int run(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct run_values *run_values = values;
    const struct recording_values *recording = &run_values->recording;
    struct record_options record;
    struct output_file file;
    struct launcher_rank launcher;
    CLEANUP(watch_destroyp) struct watch *watch = NULL;
    bool launched = launcher_rank_find(&launcher);
    int code = fill_options(run_values, invocation, &record, err);
    record.launcher = launched ? &launcher : NULL;
    if (code == 0)
        code = run_output_prepare(recording->output, base_name(invocation->target[0]), record.launcher, &file, err);
    if (code == 0)
        code = prepare_watch(run_values, invocation, &file, &watch, err);
    if (code < 0)
        return code;
    record.live = watch ? watch_live(watch) : NULL;
    bool ui = !run_values->live && ui_wanted(launched && run_values->ui < 0 ? 0 : run_values->ui, invocation->log);
    struct finish_options finish = {.file = &file,
                                    .summary = recording->summary == 1 && (!launched || launcher.rank == 0),
                                    .watch = watch,
                                    .ui = ui,
                                    .top = recording->top};
    return record_and_finish(&record, &finish, invocation, err);
}

static const char *const no_operands[] = {NULL};

static void details(struct text *out)
{
    text_add_string(out, "Backends (--backend):\n");
    for (const struct backend_info *info = backend_infos; info->name; info++)
        text_addf(out, "  %-8s %-6s %s\n", info->name, info->alias, info->traces);
    text_add_string(
        out,
        "  `hprofiler backends` says which of them this build and this machine have.\n\nEndings of FILE (--output):\n");
    for (size_t i = 0; trace_formats[i]; i++)
        if (trace_formats[i]->write && trace_formats[i]->extension)
            text_addf(out, "  %-20s %s\n", trace_formats[i]->extension, trace_formats[i]->summary);
}

const struct command command_run = {
    .name = "run",
    .summary = "profile a program, write the trace, print the summary, open the terminal UI",
    .usage = "[options] -- COMMAND [ARGUMENTS]",
    .description =
        "Runs COMMAND with its arguments, samples it and everything that it starts, and traces what they do in OpenMP, MPI, "
        "OpenCL and CUDA, until it ends. Then the trace is written and the summary printed. Options stand before \"--\".\n\n"
        "The target's stdin, stdout, stderr, working directory and exit status are its own. Ctrl-C reaches it once; "
        "what was recorded by "
        "then is kept. The summary goes to stdout after what the target printed there: in a pipeline give "
        "--no-summary.\n\n"
        "Sampling uses hardware cycles where the machine has them, else the kernel's cpu-clock, else timers in the "
        "target; each step down "
        "is said in one line. Without --perf-callgraph only the function that ran is known, not its callers.\n\n"
        "With --live the UI opens with the program and shows what is recorded so far. The program then gets a terminal of its own (a pty): its "
        "output is shown in a pane, and comes to yours when you leave the UI, which does not end the program.\n\n"
        "Around a launcher (run -- mpirun ...) one trace holds all ranks of this machine. Inside one (mpirun ... run -- "
        "...) each rank writes a trace of its own, PROGRAM.rankN.hprofiler.json; with -o FILE the rank is put before "
        "the ending, too, unless FILE has %r in it. Only rank 0 prints the summary. In FILE %r is the rank, %h the "
        "host, %p the process id of hprofiler, %% a %.",
    .examples =
        "hprofiler run -- ./solver input.dat\n    where the time goes, by function\n"
        "hprofiler run --perf-callgraph dwarf -o solver.hpt -- ./solver input.dat\n    with callers; a native trace\n"
        "hprofiler run --live --perf-callgraph fp -- ./solver input.dat\n    the flame graph while it works\n"
        "hprofiler run --no-summary -- gen | hprofiler run --no-summary -- sort\n    two programs of a pipeline\n"
        "hprofiler run --buffer-limit 64M --session-dir /var/tmp -- ./server\n    the newest 64 MiB of a long run\n"
        "hprofiler run --backend mpi,cpu -- mpirun -np 4 ./solver\n    all ranks of one machine in one trace\n"
        "mpirun -np 64 hprofiler run -o solver.%r.hpt -- ./solver\n    one trace a rank, on any number of machines\n",
    .details = details,
    .options = options,
    .values_size = sizeof(struct run_values),
    .preset = preset,
    .operand_names = no_operands,
    .takes_target = true,
    .failed_status = EXIT_PROFILER_FAILED,
    .check = check,
    .run = run,
};
