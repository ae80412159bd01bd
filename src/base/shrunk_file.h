/* SPDX-License-Identifier: MIT */
/*
 * Files that others write are read through mappings, and whoever owns one may cut it short at any time: touching what lay behind its new
 * end is SIGBUS. Here that page becomes zeros instead, which readers find empty or damaged, as in a file that was short from the beginning.
 */
#ifndef HP_BASE_SHRUNK_FILE_H
#define HP_BASE_SHRUNK_FILE_H

#include <signal.h>
#include <stdbool.h>

/* For the whole program, from now on. */
void shrunk_files_survive(void);
/* In a handler of SIGBUS: true when the reason was such a file, and the program may go on. */
bool shrunk_file_mend(const siginfo_t *info);
/* What a thread that takes no signals blocks: all but those of faults, which end the program where they are blocked. */
void signals_of_others(sigset_t *ret_set);
/* How many pages have become zeros so far. */
unsigned long shrunk_file_pages(void);

#endif
