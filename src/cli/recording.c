/* SPDX-License-Identifier: MIT */
/* From a session to a trace and its summary; the options of recording. */
#include "recording.h"

#include "open_ui.h"
#include "watch.h"

#include "base/file.h"
#include "print_summary.h"
#include "record/session_objects.h"
#include "sample/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STACK_COPY_ROUND = 64 << 10 }; /* people say 64K; a sampling record holds a little less */

void recording_preset(void *values)
{
    struct recording_values *recording = values;
    recording->summary = 1;
    recording->frequency_hz = 999;
    recording->top = SUMMARY_TOP_DEFAULT;
}

static int parse_callgraph(const char *text, struct record_options *options, struct error *err)
{
    uint64_t bytes = STACK_COPY_DEFAULT;
    if (!text) {
        options->callgraph = CALLGRAPH_NONE;
    } else if (strcmp(text, "fp") == 0) {
        options->callgraph = CALLGRAPH_FP;
    } else if (strcmp(text, "lbr") == 0) {
        options->callgraph = CALLGRAPH_LBR;
    } else if (strncmp(text, "dwarf", 5) == 0 && (!text[5] || text[5] == ',')) {
        options->callgraph = CALLGRAPH_DWARF;
        if (text[5] && (parse_size(text + 6, &bytes) < 0 || bytes < 512 || bytes > STACK_COPY_ROUND))
            return error_set(err, -EINVAL, "--perf-callgraph dwarf,BYTES needs a size from 512 to %d, not '%s'",
                             STACK_COPY_ROUND, text + 6);
        options->stack_copy_bytes = (size_t)(bytes < STACK_COPY_MAXIMUM ? bytes : STACK_COPY_MAXIMUM) & ~(size_t)7;
    } else {
        return error_set(err, -EINVAL, "--perf-callgraph: '%s' is none of fp, dwarf, dwarf,BYTES, lbr", text);
    }
    return 0;
}

int recording_fill_options(const struct recording_values *values, const struct log *log,
                           struct record_options *ret_options, struct error *err)
{
    *ret_options = (struct record_options){
        .frequency_hz = (unsigned)values->frequency_hz,
        .buffer_limit_bytes = values->buffer_limit_bytes,
        .delay_ns = values->delay_ns,
        .duration_ns = values->duration_ns,
        .session_parent = values->session_parent,
        .log = log,
    };
    return parse_callgraph(values->callgraph, ret_options, err);
}

/* --- the output file -----------------------------------------------------------------------------------------------
 */

static int unknown_ending(const char *path, struct error *err)
{
    char endings[256] = "";
    for (size_t i = 0; trace_formats[i]; i++) {
        if (!trace_formats[i]->write || !trace_formats[i]->extension)
            continue;
        size_t used = strlen(endings);
        snprintf(endings + used, sizeof endings - used, "%s%s", used ? ", " : "", trace_formats[i]->extension);
    }
    return error_set(err, -EINVAL, "the ending of '%s' names no format: use one of %s", path, endings);
}

/* A file is really made there: read-only mounts, quotas and rights all show. */
static int try_directory(const char *path)
{
    char directory[4096], probe[4200];
    const char *slash = strrchr(path, '/');
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1,
             slash ? path : ".");
    int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        snprintf(probe, sizeof probe, "%s/.hprofiler-XXXXXX", directory);
        fd = mkostemp(probe, O_CLOEXEC);
        if (fd >= 0)
            unlink(probe);
    }
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

int recording_check(const struct recording_values *values, struct error *err)
{
    struct record_options ignored = {0};
    const struct trace_format *format = values->output ? trace_format_for_path(values->output) : NULL;
    if (values->output && (!format || !format->write))
        return unknown_ending(values->output, err);
    return parse_callgraph(values->callgraph, &ignored, err);
}

int output_file_prepare(const char *output, const char *name, struct output_file *ret_file, struct error *err)
{
    struct stat info;
    ret_file->named = output != NULL;
    int length = output ? snprintf(ret_file->path, sizeof ret_file->path, "%s", output)
                        : snprintf(ret_file->path, sizeof ret_file->path, "%s.hprofiler.json", name);
    if (length < 0 || (size_t)length >= sizeof ret_file->path)
        return error_set(err, -ENAMETOOLONG, "the name of the trace file is too long: choose one with -o FILE");
    ret_file->format = trace_format_for_path(ret_file->path);
    if (!ret_file->format || !ret_file->format->write)
        return unknown_ending(ret_file->path, err);
    int result = 0;
    if (stat(ret_file->path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            result = -EISDIR;
        else if (access(ret_file->path, W_OK) < 0)
            result = -errno;
    }
    if (result == 0)
        result = try_directory(ret_file->path);
    if (result < 0)
        return error_set(err, result,
                         "the trace can't be written to '%s': %s; nothing was run. Choose another place with -o FILE",
                         ret_file->path, strerror(-result));
    return 0;
}

/* --- finishing -----------------------------------------------------------------------------------------------------
 */

/* Said by the signal handler, which may do no more than write: made before the signals are caught. */
static char farewell[8192];

static void leave_session(int signal_number)
{
    ssize_t written = write(STDERR_FILENO, farewell, strlen(farewell));
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void catch_interrupts(const char *directory, bool on)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct text word = TEXT_INIT;
    text_add_word(&word, directory);
    snprintf(farewell, sizeof farewell,
             "\nhprofiler: interrupted while the trace was made; what was recorded is kept: hprofiler recover %s\n",
             word.data ? word.data : directory);
    text_finish(&word);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = on ? leave_session : SIG_DFL, .sa_flags = SA_RESETHAND}, old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    /* A terminal that closes hangs up twice, by its shell and by the kernel: the second must not cost the trace. What is
     * left to do here is short, so the signal stays ignored to the end of the process. */
    if (on)
        signal(SIGHUP, SIG_IGN);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Nobody asked for the default name: the trace of an earlier run that has it must not be lost. */
static int put_aside(const char *path, const char *old_path, bool *ret_moved, struct error *err)
{
    struct stat info;
    *ret_moved = false;
    if (lstat(path, &info) < 0 || !(S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)))
        return 0;
    if (rename(path, old_path) < 0)
        return error_set_errno(err, -errno, "the earlier trace '%s' can't be kept as '%s'", path, old_path);
    *ret_moved = true;
    return 0;
}

/* `note`: what became of the file that was there before; "" if there was none. */
static int write_file(const struct trace *trace, const struct output_file *file, const struct invocation *invocation,
                      struct text *note, struct error *err)
{
    char old_path[sizeof file->path + 8];
    struct stat info;
    bool moved = false;
    snprintf(old_path, sizeof old_path, "%s.old", file->path);
    if (file->named && stat(file->path, &info) == 0 && S_ISREG(info.st_mode))
        text_add_string(note, " (replaced)");
    int result = file->named ? 0 : put_aside(file->path, old_path, &moved, err);
    if (result == 0)
        result = file->format->write(trace, invocation->progress, file->path, err);
    if (result < 0 && moved && rename(old_path, file->path) < 0)
        log_warning(invocation->log, "the earlier trace is now %s", old_path);
    if (moved)
        text_addf(note, "; the earlier one is now %s", old_path);
    return result;
}

static int write_trace(const struct trace *trace, const struct finish_options *options,
                       const struct invocation *invocation, struct output_file *file, struct text *note,
                       struct error *err)
{
    if (options->file) {
        *file = *options->file;
    } else {
        uint32_t count;
        const struct trace_process *processes = trace_processes(trace, &count);
        const char *name = count ? base_name(trace_text(trace, processes[0].command)) : "";
        int result = output_file_prepare(NULL, *name ? name : "recovered", file, err);
        if (result < 0)
            return result;
    }
    return write_file(trace, file, invocation, note, err);
}

/* To `recover` itself nothing more is to be advised, nor of a session that somebody has removed. */
static int keep_session(const char *directory, bool recovering, struct error *err)
{
    if (recovering || access(directory, F_OK) < 0)
        return err->code;
    char text[sizeof err->text];
    struct text word = TEXT_INIT;
    memcpy(text, err->text, sizeof text);
    text_add_word(&word, directory);
    int code = error_set(err, err->code, "%.300s\nhprofiler: what was recorded is kept; go on with: hprofiler recover %s -o FILE",
                         text, word.data ? word.data : directory);
    text_finish(&word);
    return code;
}

/* Signals find the session kept while nobody else sits at the terminal. */
static void guard_session(const struct finish_options *options, bool on)
{
    if (!options->watch)
        catch_interrupts(options->session_directory, on);
}

/* The session has become a trace: says so, and removes it. */
static void leave(const struct finish_options *options, const char *path, const struct text *note,
                  const struct invocation *invocation)
{
    output_progress_clear();
    if (!options->keep_session) {
        struct error ignored = ERROR_INIT;
        if (session_remove(options->session_directory, &ignored) < 0)
            log_warning(invocation->log, "the session directory stays: %s", ignored.text);
    }
    guard_session(options, false);
    log_info(invocation->log, "trace written to %s%s", path, note->data ? note->data : "");
}

/* Device code goes into a folder beside the trace, not into it. */
static int keep_objects(const char *session_directory, const char *path, struct text *note, struct error *err)
{
    unsigned count;
    struct text folder = TEXT_INIT;
    text_addf(&folder, "%s.objects", path);
    int result = folder.failed ? error_set(err, -ENOMEM, "out of memory") : session_objects_keep(session_directory, folder.data, &count, err);
    if (result == 0 && count)
        text_addf(note, "; device code in %s", folder.data);
    text_finish(&folder);
    return result;
}

/* Nobody will show what the program wrote to its terminal while it was watched: its watcher was killed. */
static int keep_terminal(const struct finish_options *options, const char *path, struct text *note, struct error *err)
{
    uint64_t bytes = 0;
    struct text name = TEXT_INIT;
    if (!options->recovering || options->keep_session)
        return 0;
    text_addf(&name, "%s.terminal", path);
    int result = name.failed ? error_set(err, -ENOMEM, "out of memory") : session_terminal_keep(options->session_directory, name.data, &bytes, err);
    if (result == 0 && bytes)
        text_addf(note, "; what the program wrote to its terminal in %s", name.data);
    text_finish(&name);
    return result;
}

/* The trace that a session makes, shown and written. */
static int make_trace(const struct finish_options *options, const struct invocation *invocation, struct trace **ret_trace,
                      struct output_file *file, struct text *note, struct error *err)
{
    struct merge_options merge = {.keep_session = true, .progress = invocation->progress, .log = invocation->log};
    int result = session_merge(options->session_directory, &merge, ret_trace, err);
    if (result == 0 && options->watch)
        watch_complete(options->watch, *ret_trace);
    if (result == 0)
        result = write_trace(*ret_trace, options, invocation, file, note, err);
    if (result == 0)
        result = keep_objects(options->session_directory, file->path, note, err);
    return result == 0 ? keep_terminal(options, file->path, note, err) : result;
}

int recording_finish(const struct finish_options *options, const struct invocation *invocation, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    struct output_file file;
    struct text note = TEXT_INIT;
    guard_session(options, true);
    int result = make_trace(options, invocation, &trace, &file, &note, err);
    if (result < 0) {
        text_finish(&note);
        guard_session(options, false);
        return keep_session(options->session_directory, options->recovering, err);
    }
    leave(options, file.path, &note, invocation);
    text_finish(&note);
    if (options->watch)
        watch_finish(options->watch);
    struct summary_options print = {.top = options->top};
    result = options->summary ? print_summary(trace, &print, invocation, err) : 0;
    return result == 0 && options->ui ? ui_open(trace, file.path, err) : result;
}
