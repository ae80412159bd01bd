/* SPDX-License-Identifier: MIT */
/* A target program is a sentence of actions, each taking its words and handing the rest on:
 *   target closefrom 3 burn 30 exit 7
 * An action ends the program itself or returns what the rest of the sentence returns. */
#ifndef HP_TESTS_APPS_ACTIONS_H
#define HP_TESTS_APPS_ACTIONS_H

struct action {
    const char *name;
    int words;                 /* how many it needs behind its name */
    int (*run)(char **words);  /* NULL-terminated; returns the exit status */
};

extern const struct action burn_actions[], ending_actions[], spawning_actions[], confined_actions[], report_actions[],
    signal_actions[], thread_actions[], memory_actions[];

/* Runs the sentence; an empty one returns 0. */
int act(char **sentence);
/* The program as it was called, for running it again. */
extern const char *self_path;

/* Spends CPU time of the calling thread. */
void burn(unsigned cpu_ms);
/* Ends the program with status 99 and the reason of errno: a target that cannot do its action must not look fine. */
_Noreturn void give_up(const char *what);

#endif
