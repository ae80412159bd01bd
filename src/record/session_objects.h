/* SPDX-License-Identifier: MIT */
/* What of a session directory is no part of the trace and shall stay: code for devices (--disasm), what the program wrote to its terminal. */
#ifndef HP_RECORD_SESSION_OBJECTS_H
#define HP_RECORD_SESSION_OBJECTS_H

#include <stdint.h>

struct error;

/* Copies the object files of a session into `folder`, which is made if there is one to copy: 0700, files 0600. *ret_count is
 * how many were copied, also on failure. A file that is there already is not touched: -EEXIST. */
int session_objects_keep(const char *session_directory, const char *folder, unsigned *ret_count, struct error *err);

/* Copies what a watched program wrote to its terminal, and nobody has shown since, to `path`. *ret_bytes: how much; 0: there is none, and no
 * file is made. One that is there already is not touched: -EEXIST. */
int session_terminal_keep(const char *session_directory, const char *path, uint64_t *ret_bytes, struct error *err);

#endif
