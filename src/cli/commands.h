/* SPDX-License-Identifier: MIT */
/* The commands, each in its own file, for the table in commands.c. */
#ifndef HP_CLI_COMMANDS_H
#define HP_CLI_COMMANDS_H

#include "command.h"

extern const struct command command_run, command_attach, command_view, command_summary, command_export, command_query,
    command_critical_path, command_what_if, command_efficiency, command_merge_nodes, command_recover, command_build, command_doctor, command_backends, command_completion, command_help, command_man;

#endif
