/* SPDX-License-Identifier: MIT */
/* Finds the actions of the sentence on the command line and runs them. */
#include "actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *self_path;

_Noreturn void give_up(const char *what)
{
    fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
    exit(99);
}

static const struct action *action_find(const char *name)
{
    const struct action *const tables[] = {burn_actions,     ending_actions, spawning_actions, confined_actions,
                                           report_actions, signal_actions, thread_actions, memory_actions};
    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++)
        for (const struct action *action = tables[table]; action->name; action++)
            if (!strcmp(action->name, name))
                return action;
    return NULL;
}

int act(char **sentence)
{
    if (!*sentence)
        return 0;
    const struct action *action = action_find(*sentence);
    int words = 0;
    while (sentence[1 + words])
        words++;
    if (!action || words < action->words) {
        fprintf(stderr, "target: %s: unknown action or too few words\n", *sentence);
        return 98;
    }
    return action->run(sentence + 1);
}

int main(int argc, char **argv)
{
    self_path = argv[0];
    return argc < 1 ? 97 : act(argv + 1);
}
