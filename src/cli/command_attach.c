/* SPDX-License-Identifier: MIT */
/* `attach`: profile a process that runs already. */
#include "commands.h"
#include "recording.h"

#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct attach_values {
    struct recording_values recording;
    uint64_t pid;
};

static const struct option_spec options[] = {
    {.short_name = 'p',
     .long_name = "pid",
     .kind = OPTION_U64,
     .offset = offsetof(struct attach_values, pid),
     .value_name = "PID",
     .hint = HINT_PROCESS,
     .help = "the process; its threads and children are followed",
     .minimum = 1,
     .maximum = 4194304},
    OPTION_OUTPUT,
    OPTION_SUMMARY,
    OPTION_TOP,
    OPTION_FORMAT,
    RECORDING_OPTIONS,
    OPTION_HELP,
    OPTION_END,
};

static int process_name(pid_t pid, char *name, size_t size, struct error *err)
{
    char path[64];
    CLEANUP(freep) char *text = NULL;
    size_t length;
    if (kill(pid, 0) < 0 && errno == ESRCH)
        return error_set(err, -ESRCH, "there is no process %d", (int)pid);
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    int result = file_read(path, 4096, &text, &length, err);
    if (result < 0)
        return result;
    snprintf(name, size, "%.*s", (int)strcspn(text, "\n"), text);
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '_';
    return 0;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct attach_values *attach_values = values;
    (void)invocation;
    if (!attach_values->pid)
        return error_set(err, -EINVAL, "which process? hprofiler attach -p PID");
    return recording_check(&attach_values->recording, err);
}

static int attach(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct attach_values *attach_values = values;
    const struct recording_values *recording = &attach_values->recording;
    pid_t pid = (pid_t)attach_values->pid;
    struct record_options record;
    struct record_result result = {.wait_status = -1};
    struct output_file file;
    char name[256];
    int code = process_name(pid, name, sizeof name, err);
    if (code == 0)
        code = recording_fill_options(recording, invocation->log, &record, err);
    if (code == 0)
        code = output_file_prepare(recording->output, *name ? name : "attached", &file, err);
    if (code == 0)
        code = record_attach(&record, pid, &result, err);
    if (code < 0)
        return code;
    struct finish_options finish = {.session_directory = result.session_directory,
                                    .file = &file,
                                    .summary = recording->summary == 1,
                                    .top = recording->top};
    return recording_finish(&finish, invocation, err);
}

static const char *const no_operands[] = {NULL};

const struct command command_attach = {
    .name = "attach",
    .summary = "CPU-sample a running process and its threads",
    .usage = "-p PID [options]",
    .description = "Samples process PID, its threads and what it starts from now on, until it ends, --duration is "
                   "over, or Ctrl-C ends the "
                   "recording (not the process). Then the trace is written and the summary printed.\n\n"
                   "Your own processes can be attached to; others' need root or CAP_PERFMON and CAP_SYS_PTRACE.",
    .examples =
        "hprofiler attach -p 4711 --duration 10\n    ten seconds of process 4711\n"
        "hprofiler attach -p $(pidof server) --perf-callgraph dwarf -o now.hpt\n    with callers, until Ctrl-C\n",
    .options = options,
    .values_size = sizeof(struct attach_values),
    .preset = recording_preset,
    .operand_names = no_operands,
    .check = check,
    .run = attach,
};
