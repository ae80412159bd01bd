/* SPDX-License-Identifier: MIT */
/* Man pages in roff, made from the same tables as help. */
#include "help.h"

#include <string.h>

/* Roff text: backslashes and minus signs are written as they are typed, a line never begins with a control character.
 */
static void add_roff(const char *text, size_t length, struct text *out)
{
    bool line_start = true;
    for (size_t i = 0; i < length; i++) {
        char character = text[i];
        if (line_start && (character == '.' || character == '\''))
            text_add_string(out, "\\&");
        if (character == '\\')
            text_add_string(out, "\\e");
        else if (character == '-')
            text_add_string(out, "\\-");
        else
            text_add_char(out, character);
        line_start = character == '\n';
    }
}

static void add_roff_string(const char *text, struct text *out)
{
    add_roff(text, strlen(text), out);
}

static void section(const char *title, struct text *out)
{
    text_addf(out, ".SH %s\n", title);
}

/* Paragraphs apart by an empty line. */
static void add_paragraphs(const char *text, struct text *out)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        add_roff(text, end ? (size_t)(end - text) : strlen(text), out);
        text_add_string(out, "\n");
        if (!end)
            return;
        text_add_string(out, ".PP\n");
        text = end + 2;
    }
}

static void add_rows(const char *title, const struct help_row *rows, struct text *out)
{
    section(title, out);
    for (; rows->name; rows++) {
        text_add_string(out, ".TP\n.B ");
        add_roff_string(rows->name, out);
        text_add_char(out, '\n');
        add_roff_string(rows->text, out);
        text_add_char(out, '\n');
    }
}

static void add_option(const struct option_spec *spec, struct text *out)
{
    text_add_string(out, ".TP\n");
    if (spec->short_name)
        text_addf(out, "\\fB\\-%c\\fR, ", spec->short_name);
    text_add_string(out, "\\fB\\-\\-");
    add_roff_string(spec->long_name, out);
    text_add_string(out, "\\fR");
    if (spec->kind == OPTION_NEGATABLE) {
        text_add_string(out, ", \\fB\\-\\-no\\-");
        add_roff_string(spec->long_name, out);
        text_add_string(out, "\\fR");
    }
    if (spec->value_name || spec->choices) {
        text_add_string(out, " \\fI");
        add_roff_string(spec->value_name ? spec->value_name : spec->choices, out);
        text_add_string(out, "\\fR");
    }
    text_add_char(out, '\n');
    add_roff_string(spec->help ? spec->help : "", out);
    text_add_char(out, '\n');
}

/* Lines as they stand. */
static void add_literal(const char *title, const char *lines, struct text *out)
{
    section(title, out);
    text_add_string(out, ".nf\n");
    add_roff_string(lines, out);
    if (*lines && lines[strlen(lines) - 1] != '\n')
        text_add_char(out, '\n');
    text_add_string(out, ".fi\n");
}

void man_command(const struct command *command, struct text *out)
{
    text_add_string(out, ".TH HPROFILER\\-");
    for (const char *letter = command->name; *letter; letter++)
        text_add_char(out, *letter >= 'a' && *letter <= 'z' ? (char)(*letter - 32) : *letter);
    text_addf(out, " 1 \"\" \"hprofiler %s\" \"User Commands\"\n", HP_VERSION);
    section("NAME", out);
    text_addf(out, "hprofiler\\-%s \\- ", command->name);
    add_roff_string(command->summary, out);
    text_add_char(out, '\n');
    section("SYNOPSIS", out);
    text_addf(out, "\\fBhprofiler %s\\fR ", command->name);
    add_roff_string(command->usage, out);
    text_add_char(out, '\n');
    section("DESCRIPTION", out);
    add_paragraphs(command->description, out);
    section("OPTIONS", out);
    for (const struct option_spec *spec = command->options; spec->long_name; spec++)
        add_option(spec, out);
    if (command->details) {
        struct text details = TEXT_INIT;
        command->details(&details);
        add_literal("DETAILS", details.data ? details.data : "", out);
        text_finish(&details);
    }
    if (command->examples)
        add_literal("EXAMPLES", command->examples, out);
    add_rows("EXIT STATUS", help_exit_statuses, out);
    section("SEE ALSO", out);
    text_add_string(out, "\\fBhprofiler\\fR(1)\n");
}

void man_program(struct text *out)
{
    text_addf(out, ".TH HPROFILER 1 \"\" \"hprofiler %s\" \"User Commands\"\n", HP_VERSION);
    section("NAME", out);
    text_add_string(out, "hprofiler \\- show where the time of a program goes\n");
    section("SYNOPSIS", out);
    text_add_string(out, "\\fBhprofiler\\fR \\fICOMMAND\\fR [options] [arguments]\n");
    section("COMMANDS", out);
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        text_addf(out, ".TP\n\\fBhprofiler\\-%s\\fR(1)\n", commands[i]->name);
        add_roff_string(commands[i]->summary, out);
        text_add_char(out, '\n');
    }
    add_rows("EXIT STATUS", help_exit_statuses, out);
    add_rows("ENVIRONMENT", help_environment, out);
    add_rows("FILES", help_files, out);
}
