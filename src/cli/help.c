/* SPDX-License-Identifier: MIT */
/* Help on the terminal, and the facts that help and man page share. */
#include "help.h"

#include <stdio.h>
#include <string.h>

#define HELP_WIDTH 80 /* of a pipe; a terminal's own width up to 100 is used */

const struct help_row help_exit_statuses[] = {
    {"0", "done"},
    {"1", "the command failed; stderr says what, where and what to do next"},
    {"2", "wrong usage: unknown command or option, missing argument"},
    {"run", "the target's own status; 128+N if signal N ended it; 125 if hprofiler itself failed (wrong usage too), "
            "126 if the target could not be run, 127 if it was not found"},
    {NULL, NULL},
};

const struct help_row help_environment[] = {
    {"TMPDIR", "where session directories are made during a run (default /tmp; --session-dir wins)"},
    {"DEBUGINFOD_URLS", "servers that are asked for debug info after a run; none is asked when it is unset"},
    {"NO_COLOR, TERM=dumb", "no colours"},
    {"COLUMNS", "width of tables and help, instead of the terminal's own; a pipe or file is not cut"},
    {"HPROFILER_SESSION",
     "set in the target's environment when a library of ours is loaded into it: names the session"},
    {"LD_PRELOAD", "extended in the target's environment, after what is there, only when timers in the target do the "
                   "sampling because the kernel refuses perf events, or when a backend needs a library in the target"},
    {"OMP_TOOL_LIBRARIES", "extended likewise, for OpenMP"},
    {"OPENCL_LAYERS", "extended likewise, for OpenCL"},
    {"NCCL_PROFILER_PLUGIN", "set in the target's environment unless it is, for NCCL; CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH likewise, for CUDA"},
    {"HPROFILER_CUPTI", "CUDA's libcupti to load, where the usual places have the wrong one"},
    {"HPROFILER_MPI_PROBES", "1: compare the clocks of nodes at MPI_Init and MPI_Finalize, every rank being recorded; 0: never"},
    {NULL, NULL},
};

const struct help_row help_files[] = {
    {"NAME.hprofiler.json",
     "the trace of run and attach unless -o says otherwise: Chrome trace JSON, which Perfetto and "
     "chrome://tracing open, and which hprofiler reads back without loss; an earlier one becomes NAME.hprofiler.json.old"},
    {"NAME.hpt", "hprofiler's native trace: opens at once whatever its size"},
    {"TMPDIR/hprofiler-*", "session directories: what is being recorded; removed when the trace is written, else the "
                           "source for hprofiler recover"},
    {NULL, NULL},
};

static struct text_look help_look(const struct text_look *look)
{
    struct text_look narrow = *look;
    narrow.width = !look->width ? HELP_WIDTH : look->width > 100 ? 100 : look->width;
    return narrow;
}

static void heading(const struct text_look *look, const char *title, struct text *out)
{
    text_add_string(out, "\n");
    text_add_styled(out, look, STYLE_BOLD, title);
    text_add_string(out, "\n");
}

static void add_rows(const struct help_row *rows, const struct text_look *look, struct text *out)
{
    for (; rows->name; rows++) {
        text_addf(out, "  %-20s  ", rows->name);
        unsigned length = (unsigned)strlen(rows->name);
        text_add_wrapped(out, look, length > 20 ? length + 4 : 24, 24, rows->text);
    }
}

void help_program(const struct text_look *look, struct text *out)
{
    struct text_look narrow = help_look(look);
    text_add_string(out, "usage: hprofiler COMMAND [options] [arguments]\n\n");
    text_add_wrapped(out, &narrow, 0, 0,
                     "hprofiler shows where the time of a program goes. To begin: `hprofiler run -- ./program`.");
    heading(&narrow, "Commands", out);
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        text_addf(out, "  %-13s  ", commands[i]->name);
        text_add_wrapped(out, &narrow, 17, 17, commands[i]->summary);
    }
    text_add_char(out, '\n');
    text_add_wrapped(
        out, &narrow, 0, 0,
        "`hprofiler COMMAND --help` and `man hprofiler-COMMAND` say more; --version prints the version.");
    heading(&narrow, "Exit status", out);
    add_rows(help_exit_statuses, &narrow, out);
    heading(&narrow, "Environment", out);
    add_rows(help_environment, &narrow, out);
    heading(&narrow, "Files", out);
    add_rows(help_files, &narrow, out);
}

/* Where the last column of a table's line begins: behind two blanks, in the left half; else a little right of the line. */
static unsigned hanging_indent(const char *line, size_t length, unsigned width)
{
    size_t margin = strspn(line, " "), column = margin + 2;
    for (size_t i = margin; i + 2 < length && i < width / 2; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ')
            column = i + 2;
    return (unsigned)column;
}

/* A command is continued with a backslash, so that it may still be copied; within quotes a bare new line does. */
static void add_line(const char *line, size_t length, const struct text_look *look, unsigned margin, bool command,
                     struct text *out)
{
    char copy[512], indent[64];
    unsigned hanging = hanging_indent(line, length, look->width), room = look->width - margin - (command ? 2 : 0);
    bool quoted = false;
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    snprintf(indent, sizeof indent, "%*s", (int)(margin + hanging < 60 ? margin + hanging : 60), "");
    char *at = copy;
    unsigned column = 0;
    text_addf(out, "%*s", (int)margin, "");
    for (size_t blanks; *at; at += strcspn(at, " ")) {
        blanks = strspn(at, " ");
        size_t word = strcspn(at + blanks, " ");
        bool first = at == copy || column == hanging;
        if (!first && column > hanging && column + blanks + text_cells(at + blanks, word) > room) {
            text_addf(out, "%s\n%s", command && !quoted ? " \\" : "", indent);
            column = hanging;
        } else {
            text_add(out, at, blanks);
            column += (unsigned)blanks;
        }
        at += blanks;
        text_add(out, at, word);
        column += text_cells(at, word);
        for (size_t i = 0; i < word; i++)
            quoted ^= at[i] == '\'';
    }
    text_add_char(out, '\n');
}

/* Lines of tables and examples: those that are too long for the look go on below their last column. */
static void add_lines(const char *lines, const struct text_look *look, unsigned margin, bool commands_too,
                      struct text *out)
{
    while (lines && *lines) {
        size_t length = strcspn(lines, "\n");
        if (length)
            add_line(lines, length, look, margin, commands_too && *lines != ' ', out);
        else
            text_add_char(out, '\n');
        lines += length + (lines[length] == '\n');
    }
}

void help_command(const struct command *command, const struct text_look *look, struct text *out)
{
    struct text_look narrow = help_look(look);
    text_addf(out, "usage: hprofiler %s%s%s\n\n", command->name, *command->usage ? " " : "", command->usage);
    text_add_wrapped(out, &narrow, 0, 0, command->description);
    heading(&narrow, "Options", out);
    options_help(command->options, narrow.width, out);
    if (command->details) {
        struct text details = TEXT_INIT;
        command->details(&details);
        text_add_char(out, '\n');
        add_lines(details.data, &narrow, 0, false, out);
        text_finish(&details);
    }
    if (command->examples) {
        heading(&narrow, "Examples", out);
        add_lines(command->examples, &narrow, 2, true, out);
    }
}
