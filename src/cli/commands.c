/* SPDX-License-Identifier: MIT */
/* The table of commands, in the order in which help lists them. */
#include "commands.h"

#include <string.h>

const struct command *const commands[] = {
    &command_run,
    &command_attach,
    &command_view,
    &command_summary,
    &command_critical_path,
    &command_what_if,
    &command_efficiency,
    &command_export,
    &command_query,
    &command_merge_nodes,
    &command_recover,
    &command_build,
    &command_doctor,
    &command_backends,
    &command_completion,
    &command_help,
    &command_man,
    NULL,
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Edits between two words, up to 31 letters; more count as far away. */
static unsigned distance(const char *left, const char *right)
{
    unsigned row[32];
    size_t left_length = strlen(left), right_length = strlen(right);
    if (left_length > 31 || right_length > 31)
        return 99;
    for (size_t i = 0; i <= right_length; i++)
        row[i] = (unsigned)i;
    for (size_t i = 1; i <= left_length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= right_length; j++) {
            unsigned above = row[j], best = diagonal + (left[i - 1] != right[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[right_length];
}

/* What other profilers call it. */
static const struct {
    const char *name, *command;
} synonyms[] = {
    {"record", "run"},      {"profile", "run"},    {"trace", "run"},    {"exec", "run"},    {"start", "run"},
    {"report", "summary"},  {"stat", "summary"},   {"stats", "summary"}, {"top", "summary"}, {"show", "view"},
    {"open", "view"},       {"convert", "export"}, {"script", "export"}, {"dump", "export"}, {"sql", "query"},
    {"check", "doctor"},    {"info", "doctor"},    {"list", "backends"}, {"merge", "merge-nodes"},
};

const struct command *command_nearest(const char *name)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i].name, name) == 0)
            return command_find(synonyms[i].command);
    const struct command *best = NULL;
    unsigned best_distance = strlen(name) <= 3 ? 2 : 3;
    for (size_t i = 0; commands[i]; i++) {
        bool prefix = strlen(name) >= 3 && strncmp(commands[i]->name, name, strlen(name)) == 0;
        unsigned edits = prefix ? 1 : distance(name, commands[i]->name);
        if (!commands[i]->hidden && edits < best_distance) {
            best_distance = edits;
            best = commands[i];
        }
    }
    return best;
}
