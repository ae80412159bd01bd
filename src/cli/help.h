/* SPDX-License-Identifier: MIT */
/* Help, man pages and shell completion: all made from the commands' tables. */
#ifndef HP_CLI_HELP_H
#define HP_CLI_HELP_H

#include "command.h"

void help_program(const struct text_look *look, struct text *out);
void help_command(const struct command *command, const struct text_look *look, struct text *out);
void man_program(struct text *out);
void man_command(const struct command *command, struct text *out);
void completion_bash(struct text *out);
void completion_zsh(struct text *out);
void completion_fish(struct text *out);

/* What holds for the whole program and stands in its help and man page: rows of name and explanation. */
struct help_row {
    const char *name, *text;
};
extern const struct help_row help_exit_statuses[], help_environment[], help_files[]; /* end with a NULL name */

#endif
