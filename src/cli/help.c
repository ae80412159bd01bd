/* SPDX-License-Identifier: MIT */
/* Help on the terminal, and the facts that help and man page share. */
#include "help.h"

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
    {"LD_PRELOAD", "extended in the target's environment, behind what is there, only when timers in the target do the "
                   "sampling because the kernel refuses perf events, or when a backend needs a library in the target"},
    {NULL, NULL},
};

const struct help_row help_files[] = {
    {"NAME.hprofiler.json",
     "the trace of run and attach unless -o says otherwise: Chrome trace JSON, which Perfetto and "
     "chrome://tracing open, and which hprofiler reads back without loss"},
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
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            text_addf(out, "  %-12s  %s\n", commands[i]->name, commands[i]->summary);
    text_add_string(
        out, "\n`hprofiler COMMAND --help` and `man hprofiler-COMMAND` say more; --version prints the version.\n");
    heading(&narrow, "Exit status", out);
    add_rows(help_exit_statuses, &narrow, out);
    heading(&narrow, "Environment", out);
    add_rows(help_environment, &narrow, out);
    heading(&narrow, "Files", out);
    add_rows(help_files, &narrow, out);
}

static void add_indented(const char *lines, struct text *out)
{
    while (lines && *lines) {
        size_t length = strcspn(lines, "\n");
        text_add_string(out, length ? "  " : "");
        text_add(out, lines, length);
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
        text_add_char(out, '\n');
        command->details(out);
    }
    if (command->examples) {
        heading(&narrow, "Examples", out);
        add_indented(command->examples, out);
    }
}
