/* SPDX-License-Identifier: MIT */
/* `export`: a trace in the format of another tool. */
#include "commands.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "formats/format.h"
#include "view/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_values {
    struct common_values common;
    const char *to, *output, *window, *where;
};

static const struct option_spec options[] = {
    {.long_name = "to",
     .kind = OPTION_STRING,
     .offset = offsetof(struct export_values, to),
     .value_name = "FORMAT",
     .hint = HINT_FORMATS,
     .help = "the format [by the ending of FILE]"},
    {.short_name = 'o',
     .long_name = "output",
     .kind = OPTION_STRING,
     .offset = offsetof(struct export_values, output),
     .value_name = "FILE",
     .hint = HINT_FILE,
     .help = "where to write; - is stdout [-]"},
    {.long_name = "window",
     .kind = OPTION_STRING,
     .offset = offsetof(struct export_values, window),
     .value_name = "FROM:TO",
     .help = "only what overlaps this time, spans cut to it, counted from the trace's start, e.g. 1.5:2 or 250ms:; "
             "each side may be left out"},
    {.long_name = "where",
     .kind = OPTION_STRING,
     .offset = offsetof(struct export_values, where),
     .value_name = "FILTER",
     .help = "only what matches: key=glob terms joined by commas, e.g. 'thread=worker*,kind=barrier'"},
    OPTION_HELP,
    OPTION_END,
};

static int parse_side(const char *text, size_t length, int64_t otherwise, int64_t *ret_ns)
{
    char copy[64];
    uint64_t value;
    *ret_ns = otherwise;
    if (!length)
        return 0;
    if (length >= sizeof copy)
        return -EINVAL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    int result = parse_duration(copy, &value);
    if (result < 0 || value > INT64_MAX)
        return -EINVAL;
    *ret_ns = (int64_t)value;
    return 0;
}

static int parse_window(const char *text, struct trace_part *part, struct error *err)
{
    const char *colon = strchr(text, ':');
    if (!colon || strchr(colon + 1, ':') ||
        parse_side(text, (size_t)(colon - text), INT64_MIN, &part->begin_ns) < 0 ||
        parse_side(colon + 1, strlen(colon + 1), INT64_MAX, &part->end_ns) < 0)
        return error_set(err, -EINVAL, "--window needs FROM:TO, such as 1.5:2, 250ms:1s or :10, not '%s'", text);
    if (part->begin_ns > part->end_ns)
        return error_set(err, -EINVAL, "--window '%s' ends before it begins", text);
    part->has_window = true;
    return 0;
}

static void writable_names(char *names, size_t size)
{
    names[0] = '\0';
    for (size_t i = 0; trace_formats[i]; i++) {
        size_t used = strlen(names);
        if (trace_formats[i]->write)
            snprintf(names + used, size - used, "%s%s", used ? ", " : "", trace_formats[i]->name);
    }
}

/* The name here of what others call it, or of the format that has this ending. */
static const struct trace_format *format_meant(const char *name)
{
    static const struct {
        const char *name, *format;
    } synonyms[] = {{"perfetto", "chrome"},       {"pb", "chrome"},      {"pftrace", "chrome"},
                    {"trace", "chrome"},          {"catapult", "chrome"}, {"flamegraph", "flamegraph-html"},
                    {"svg", "flamegraph-html"},   {"flame", "flamegraph-html"}, {"collapsed", "folded"},
                    {"stackcollapse", "folded"},  {"hprofiler", "native"}};
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(name, synonyms[i].name) == 0)
            return trace_format_find(synonyms[i].format);
    char path[64];
    snprintf(path, sizeof path, "x.%.40s", name);
    const struct trace_format *format = trace_format_for_path(path);
    return format && format->write ? format : NULL;
}

static int pick_format(const struct export_values *values, const struct trace_format **ret_format, struct error *err)
{
    char names[256];
    const struct trace_format *format = values->to ? trace_format_find(values->to) : NULL;
    if (!values->to && values->output && strcmp(values->output, "-") != 0)
        format = trace_format_for_path(values->output);
    if (format && format->write) {
        *ret_format = format;
        return 0;
    }
    writable_names(names, sizeof names);
    const struct trace_format *meant = values->to ? format_meant(values->to) : NULL;
    if (meant)
        return error_set(err, -EINVAL, "there is no format '%s' to export to: did you mean %s (%s)?", values->to,
                         meant->name, meant->summary);
    if (values->to)
        return error_set(err, -EINVAL, "there is no format '%s' to export to: use one of %s", values->to, names);
    return error_set(err, -EINVAL, "which format? --to one of %s, or -o FILE with a known ending", names);
}

static bool to_stdout(const struct export_values *values)
{
    return !values->output || strcmp(values->output, "-") == 0;
}

/* What is written replaces what is read: the trace would be lost, whatever the name it is given by. */
static int check_same_file(const struct export_values *values, const char *input, struct error *err)
{
    struct stat from, to;
    int result = to_stdout(values) ? fstat(STDOUT_FILENO, &to) : stat(values->output, &to);
    if (result < 0 || stat(input, &from) < 0 || !S_ISREG(to.st_mode))
        return 0;
    if (from.st_dev != to.st_dev || from.st_ino != to.st_ino)
        return 0;
    return error_set(err, -EINVAL, "'%s' is the trace itself, which would be lost: write to another file",
                     to_stdout(values) ? "standard output" : values->output);
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct export_values *export_values = values;
    const struct trace_format *format = NULL;
    struct trace_part ignored = {0};
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    int result = pick_format(export_values, &format, err);
    if (result == 0 && export_values->window)
        result = parse_window(export_values->window, &ignored, err);
    if (result == 0)
        result = trace_filter_compile(export_values->where, &filter, err);
    if (result == 0 && to_stdout(export_values) && strcmp(format->name, "native") == 0 && isatty(STDOUT_FILENO))
        return error_set(err, -EINVAL, "a native trace is binary: name a file with -o FILE");
    return result < 0 ? result : check_same_file(export_values, invocation->operands[0], err);
}

static const char *last_ending(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    return dot && !strchr(dot, '/') ? dot : "";
}

/* FILE as CSV that is named like JSON: others would take it for what it isn't. */
static void warn_of_ending(const struct export_values *values, const struct trace_format *format, const struct log *log)
{
    if (to_stdout(values))
        return;
    const struct trace_format *named = trace_format_for_path(values->output);
    if (named && named != format && strcmp(last_ending(values->output), last_ending(format->extension)) != 0)
        log_warning(log, "the ending of '%s' is that of %s, but it is written as %s", values->output, named->name,
                    format->name);
}

/* path: what was written; NULL: standard output, of which only emptiness is worth a line. */
static void report(const struct export_counts *counts, const struct trace *trace, const struct trace_part *part, const char *path,
                   const struct log *log)
{
    char spans[32], samples[32];
    if ((part->has_window || part->where) && !counts->spans && !counts->samples) {
        struct text reason = TEXT_INIT;
        if (part->where)
            filter_explain(part->where, trace, &reason);
        log_warning(log, "no span and no sample of the trace %s%s%s%s%s", part->has_window ? "lies in --window" : "",
                    part->has_window && part->where ? " and " : "", part->where ? "matches --where" : "",
                    reason.length ? ": " : "", reason.length ? reason.data : "");
        text_finish(&reason);
    }
    if (path)
        log_info(log, "%s written from %s span%s and %s sample%s", path,
                 format_count(spans, sizeof spans, counts->spans), counts->spans == 1 ? "" : "s",
                 format_count(samples, sizeof samples, counts->samples), counts->samples == 1 ? "" : "s");
}

static int export(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct export_values *export_values = values;
    const struct trace_format *format = NULL;
    struct trace_part part = {0};
    struct export_counts counts;
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    const char *path = export_values->output ? export_values->output : "-";
    int result = pick_format(export_values, &format, err);
    if (result == 0 && export_values->window)
        result = parse_window(export_values->window, &part, err);
    if (result == 0)
        result = trace_filter_compile(export_values->where, &filter, err);
    if (result == 0)
        result = trace_open(invocation->operands[0], invocation->progress, invocation->log, &trace, err);
    if (result < 0)
        return result;
    part.where = export_values->where ? filter : NULL;
    warn_of_ending(export_values, format, invocation->log);
    result = trace_export(trace, format, &part, invocation->progress, path, &counts, err);
    if (result < 0)
        return result;
    output_progress_clear();
    report(&counts, trace, &part, to_stdout(export_values) ? NULL : path, invocation->log);
    return 0;
}

static void details(struct text *out)
{
    text_add_string(out, "Formats (--to, or the ending of FILE):\n");
    for (size_t i = 0; trace_formats[i]; i++)
        if (trace_formats[i]->write)
            text_addf(out, "  %-16s %-18s %s\n", trace_formats[i]->name,
                      trace_formats[i]->extension ? trace_formats[i]->extension : "", trace_formats[i]->summary);
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_export = {
    .name = "export",
    .summary = "write a trace in the format of another tool",
    .usage = "TRACE --to FORMAT [-o FILE] [options]",
    .description = "Reads TRACE, whatever format it has, and writes it, or the part that --window and --where pick, in "
                   "another format.",
    .examples =
        "hprofiler export app.hprofiler.json --to flamegraph-html -o app.html\n    a flame graph for the browser\n"
        "hprofiler export app.hpt --to speedscope -o app.speedscope.json\n    for https://www.speedscope.app\n"
        "hprofiler export app.hpt --to folded --where 'thread=worker*' | flamegraph.pl > app.svg\n    stacks of some "
        "threads, for other tools\n",
    .details = details,
    .options = options,
    .values_size = sizeof(struct export_values),
    .minimum_operands = 1,
    .maximum_operands = 1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = export,
};
