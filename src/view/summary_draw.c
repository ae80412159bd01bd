/* SPDX-License-Identifier: MIT */
/* The summary as text for people: what ran, where its time went, how far that can be trusted, what it cost. */
#include "resident.h"
#include "summary_draw.h"
#include "trace/select.h"
#include "units.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define LARGEST_COPY_BYTES 64000 /* a sampling record of 64 KiB holds a little less of the stack */

static const char *metadata(const struct drawing *drawing, const char *key)
{
    const char *value = trace_metadata(drawing->summary->trace, key);
    return value ? value : "";
}

static const char *dot(const struct drawing *drawing)
{
    return drawing->look->utf8 ? " · " : " | ";
}

void draw_heading(struct drawing *drawing, const char *title, const char *explanation)
{
    text_add_char(drawing->out, '\n');
    text_add_styled(drawing->out, drawing->look, STYLE_BOLD, title);
    unsigned cells = text_cells(title, strlen(title)) + 2;
    if (*explanation)
        text_add_string(drawing->out, "  ");
    if (drawing->look->width && cells + text_cells(explanation, strlen(explanation)) > drawing->look->width) {
        text_add_wrapped(drawing->out, drawing->look, cells, 2, explanation);
        return;
    }
    text_add_styled(drawing->out, drawing->look, STYLE_DIM, explanation);
    text_add_char(drawing->out, '\n');
}

/* A pair of a label and a text, in the paragraph below the title. */
static void fact(struct drawing *drawing, const char *label, const char *value)
{
    char padded[32];
    snprintf(padded, sizeof padded, "%-11s", label);
    text_add_string(drawing->out, "  ");
    text_add_styled(drawing->out, drawing->look, STYLE_DIM, padded);
    text_add_char(drawing->out, ' ');
    text_add_wrapped(drawing->out, drawing->look, 14, 14, value);
}

/* --- the head ------------------------------------------------------------------------------------------------------
 */

static void add_end(const struct drawing *drawing, struct text *line)
{
    const struct summary *summary = drawing->summary;
    int status = summary->wait_status;
    if (status != -1 && WIFSIGNALED(status))
        text_addf(line, "%sended by signal %d (%s)", dot(drawing), WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (summary->exit_status.known)
        text_addf(line, "%sexit status %" PRId64, dot(drawing), summary->exit_status.value);
}

static void add_start(const struct drawing *drawing, struct text *line)
{
    const struct summary *summary = drawing->summary;
    char start[64] = "";
    time_t seconds = (time_t)(summary->start_realtime_ns.value / 1000000000);
    struct tm local;
    if (!summary->start_realtime_ns.known)
        return;
    if (localtime_r(&seconds, &local))
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S", &local);
    text_addf(line, "%s%s", dot(drawing), start);
}

static void draw_title(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    char duration[32], run[32];
    struct text line = TEXT_INIT;
    const char *command = metadata(drawing, "command");
    if (!*command && summary->process_count)
        command = summary->processes[0].command;
    const char *slash = strrchr(command, '/'), *name = slash && slash[1] ? slash + 1 : *command ? command : "trace";
    if (summary->run_ns.known && summary->process_count && summary->processes[0].attached) /* it ran before, and may go on */
        text_addf(&line, "%sattached for %s, recorded %s of it", dot(drawing), format_duration(run, sizeof run, summary->run_ns.value),
                  format_duration(duration, sizeof duration, summary->duration_ns));
    else if (summary->run_ns.known)
        text_addf(&line, "%sran %s, recorded %s of it", dot(drawing), format_duration(run, sizeof run, summary->run_ns.value),
                  format_duration(duration, sizeof duration, summary->duration_ns));
    else
        text_addf(&line, "%sran %s", dot(drawing), format_duration(duration, sizeof duration, summary->duration_ns));
    add_end(drawing, &line);
    if (strcmp(metadata(drawing, "recording.interrupted"), "yes") == 0)
        text_addf(&line, "%sinterrupted", dot(drawing));
    if (summary->process_count)
        text_addf(&line, "%s%zu process%s, %zu thread%s", dot(drawing), summary->process_count,
                  summary->process_count == 1 ? "" : "es", summary->thread_count,
                  summary->thread_count == 1 ? "" : "s");
    add_start(drawing, &line);
    text_add_styled(drawing->out, drawing->look, STYLE_BOLD, name);
    text_add_char(drawing->out, ' ');
    text_add_wrapped(drawing->out, drawing->look, text_cells(name, strlen(name)) + 1, 2, line.data ? line.data + 1 : "");
    text_finish(&line);
}

static void draw_sampling(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    const char *event = metadata(drawing, "sampling.event"), *stacks = metadata(drawing, "sampling.callgraph");
    struct text line = TEXT_INIT;
    if (!*event)
        return;
    text_addf(&line, "%s", event);
    if (summary->asked_hz > 0)
        text_addf(&line, ", %.0f Hz asked for", summary->asked_hz);
    if (summary->frequency_hz > 0 && summary->frequency_hz != summary->asked_hz)
        text_addf(&line, ", %.0f Hz allowed by the kernel", summary->frequency_hz);
    if (summary->delivered_hz > 0)
        text_addf(&line, ", %.1f Hz delivered", summary->delivered_hz);
    if (strncmp(stacks, "dwarf,", 6) == 0) {
        char size[32];
        text_addf(&line, "; stacks by dwarf, %s copied",
                  format_bytes(size, sizeof size, strtoull(stacks + 6, NULL, 10)));
    } else if (*stacks && strcmp(stacks, "none") != 0) {
        text_addf(&line, "; stacks by %s", stacks);
    } else {
        text_add_string(&line, "; no stacks: callers are unknown (--perf-callgraph takes them)");
    }
    if (strcmp(metadata(drawing, "sampling.kernel"), "no") == 0)
        text_add_string(&line, "; user code only");
    fact(drawing, "sampled by", line.data ? line.data : "");
    text_finish(&line);
}

/* What profiling took: our own process' CPU time, measured, and the interrupts in the program, estimated from one's
 * cost. */
static void draw_cost(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    const char *recorder = metadata(drawing, "overhead.recorder_ns"),
               *interrupts = metadata(drawing, "overhead.interrupts_estimated_ns");
    char time[32];
    struct text line = TEXT_INIT;
    if (!summary->overhead_ns.known)
        return;
    text_addf(&line, "%s of CPU time", format_duration(time, sizeof time, summary->overhead_ns.value));
    if (summary->sampled_ns > 0 && !summary->filtered)
        text_addf(&line, ", %.1f %% of the program's",
                  100.0 * (double)summary->overhead_ns.value / (double)summary->sampled_ns);
    if (*recorder)
        text_addf(&line, "; %s in hprofiler, measured",
                  format_duration(time, sizeof time, strtoll(recorder, NULL, 10)));
    if (*interrupts)
        text_addf(&line, "; %s of interrupts in the program, estimated",
                  format_duration(time, sizeof time, strtoll(interrupts, NULL, 10)));
    fact(drawing, "own cost", line.data ? line.data : "");
    text_finish(&line);
}

/* How many stacks are whole and what ended the others, so that one knows whether a larger copy would help. */
static void draw_stacks(struct drawing *drawing)
{
    static const char *const cuts[SAMPLE_CUT_COUNT] = {
        [SAMPLE_CUT_UNKNOWN] = "lose their callers on the way",
        [SAMPLE_CUT_COPY_ENDED] = "end with the copied piece of the stack",
        [SAMPLE_CUT_NO_UNWIND_INFO] = "end in code without unwind information",
        [SAMPLE_CUT_BAD_FRAME] = "end where the unwind information does not fit the stack",
        [SAMPLE_CUT_TOO_DEEP] = "have more frames than are taken",
        [SAMPLE_CUT_PAGE_ABSENT] = "end at a page of the stack that was not in memory and could not be copied",
        [SAMPLE_CUT_ELSEWHERE] = "go on in another stack, which was not copied",
    };
    const struct summary *summary = drawing->summary;
    const char *callgraph = metadata(drawing, "sampling.callgraph");
    char percent[32], count[32];
    struct text line = TEXT_INIT;
    if (summary->samples <= summary->samples_without_stack)
        return;
    uint64_t whole = summary->samples - summary->samples_without_stack - summary->samples_truncated;
    format_percent(percent, sizeof percent, (double)whole, (double)summary->samples);
    text_addf(&line, "%s %% of %s samples have a stack that reaches its thread's root", percent,
              format_count(count, sizeof count, summary->samples));
    for (int i = 0; i < SAMPLE_CUT_COUNT; i++)
        if (summary->samples_cut[i]) {
            format_percent(percent, sizeof percent, (double)summary->samples_cut[i], (double)summary->samples);
            text_addf(&line, "; %s %% %s", percent, cuts[i]);
            if (i == SAMPLE_CUT_UNKNOWN && strcmp(callgraph, "fp") == 0)
                text_add_string(&line, " (code without frame pointers: use --perf-callgraph dwarf)");
            if (i == SAMPLE_CUT_COPY_ENDED && strncmp(callgraph, "dwarf,", 6) == 0)
                text_addf(&line, " (%s)", strtoull(callgraph + 6, NULL, 10) < LARGEST_COPY_BYTES
                                              ? "copy more: --perf-callgraph dwarf,64K"
                                              : "it was the largest that there is");
        }
    fact(drawing, "stacks", line.data ? line.data : "");
    text_finish(&line);
}

/* How much is missing, why, and who can change that. */
static void draw_excluded(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    const char *level = metadata(drawing, "sampling.paranoid");
    char percent[32], time[32];
    struct text line = TEXT_INIT;
    if (summary->excluded_ns <= 0)
        return;
    format_percent(percent, sizeof percent, (double)summary->excluded_ns, (double)summary->sampled_ns);
    text_addf(&line, "%s %% of the CPU time (%s) could not be sampled: the kernel's code is excluded", percent,
              format_duration(time, sizeof time, summary->excluded_ns));
    if (*level)
        text_addf(&line, " (kernel.perf_event_paranoid is %s). root lifts that: sysctl kernel.perf_event_paranoid=1", level);
    fact(drawing, "not sampled", line.data ? line.data : "");
    text_finish(&line);
}

static bool is_python(const char *module)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    return strncmp(name, "python", strlen("python")) == 0 || strncmp(name, "libpython", strlen("libpython")) == 0;
}

/* The interpreter was busiest, and left no map of what it interpreted: the map's names begin with "py::". */
static void draw_python(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    if (!summary->module_count || !is_python(summary->modules[0].name))
        return;
    for (size_t i = 0; i < summary->function_count; i++)
        if (strncmp(summary->functions[i].name, "py::", strlen("py::")) == 0)
            return;
    fact(drawing, "Python", "functions of the interpreter are seen, not those of Python programs: `python3 -X perf` names them, with Python 3.12 or newer");
}

static void draw_on_cpu(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    char time[32];
    struct text line = TEXT_INIT;
    if (!summary->samples && !summary->excluded_ns && (summary->filtered || summary->unsampled_ns.value <= 0))
        return;
    text_addf(&line, "%s by %s", format_duration(time, sizeof time, summary->sampled_ns),
              summary->excluded_ns ? "context switches" : "samples");
    if (summary->duration_ns > 0 && !summary->filtered)
        text_addf(&line, ", %.2f CPUs busy on average", (double)summary->sampled_ns / (double)summary->duration_ns);
    if (strcmp(metadata(drawing, "sampling.kernel"), "no") != 0)
        text_addf(&line, "; %.1f %% of it in the kernel",
                  summary->sampled_ns > 0 ? 100.0 * (double)summary->kernel_ns / (double)summary->sampled_ns : 0);
    /* Threads that live for some sampling periods only lose half a period each: where that adds up it must be told. */
    if (!summary->filtered && summary->unsampled_ns.value > summary->sampled_ns / 50)
        text_addf(&line, "; %s more in threads that ended before their next sample",
                  format_duration(time, sizeof time, summary->unsampled_ns.value));
    fact(drawing, "on CPU", line.data ? line.data : "");
    text_finish(&line);
    draw_excluded(drawing);
}

/* Of a run as a whole: neither goes by a filter. */
static void draw_memory(struct drawing *drawing)
{
    struct resident_memory memory;
    struct text line = TEXT_INIT;
    char number[32];
    const char *faults = metadata(drawing, "sampling.page_faults");
    if (drawing->summary->filtered || resident_memory_read(drawing->summary->trace, &memory, NULL) < 0)
        return;
    if (memory.peak_bytes > 0)
        text_addf(&line, "%s resident at most%s", format_bytes(number, sizeof number, (uint64_t)memory.peak_bytes),
                  memory.count > 1 ? " in one process" : "");
    if (*faults)
        text_addf(&line, "%s%s page faults", line.length ? ", " : "", format_count(number, sizeof number, strtoull(faults, NULL, 10)));
    if (line.length)
        fact(drawing, "memory", line.data ? line.data : "");
    text_finish(&line);
    resident_memory_finish(&memory);
}

/* Then switches may be missing, and nobody knows how long a thread was away. */
static bool notes_were_lost(const struct summary *summary)
{
    for (uint32_t i = 0; i < summary->ledger_count; i++)
        if (summary->ledger[i].lost && strcmp(trace_text(summary->trace, summary->ledger[i].source), "kernel notes") == 0)
            return true;
    return false;
}

static void draw_times(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    char text[256], time[32], other[32];
    draw_on_cpu(drawing);
    if (summary->blocked_ns.known || summary->preempted_ns.known) {
        bool both = summary->blocked_ns.known && summary->preempted_ns.known;
        snprintf(text, sizeof text, "%s%s%s%s%s%s, over all threads", notes_were_lost(summary) ? "at least " : "",
                 summary->blocked_ns.known ? format_duration(time, sizeof time, summary->blocked_ns.value) : "",
                 summary->blocked_ns.known ? " blocked" : "", both ? ", " : "",
                 summary->preempted_ns.known ? format_duration(other, sizeof other, summary->preempted_ns.value) : "",
                 summary->preempted_ns.known ? " preempted" : "");
        fact(drawing, "off CPU", text);
    }
    draw_stacks(drawing);
    draw_python(drawing);
    draw_memory(drawing);
    draw_cost(drawing);
}

void summary_draw(const struct summary *summary, uint64_t top, const struct text_look *look, struct text *out)
{
    struct drawing drawing = {.summary = summary, .look = look, .out = out, .top = top};
    draw_title(&drawing);
    if (trace_incomplete(summary->trace)) {
        text_add_string(out, "  ");
        text_add_styled(out, look, STYLE_WARN, trace_incomplete(summary->trace));
        text_add_char(out, '\n');
    }
    if (*metadata(&drawing, PART_WHERE_KEY))
        fact(&drawing, "part where", metadata(&drawing, PART_WHERE_KEY));
    draw_sampling(&drawing);
    draw_times(&drawing);
    draw_tables(&drawing);
    if (!summary->samples && !summary->function_count)
        text_add_string(out, summary->filtered
                                 ? "\nNothing in the trace matches the filter.\n"
                             : summary->run_ns.known && !summary->duration_ns
                                 ? "\nThe trace has no samples and no spans: the program ended before the recording began.\n"
                             : *metadata(&drawing, "recording.duration_ns")
                                 ? "\nThe trace has no samples and no spans: the process did not run on a CPU in that time.\n"
                                 : "\nThe trace has no samples and no spans: the program may have been too short.\n");
}
