/* SPDX-License-Identifier: MIT */
/* Code for devices that collectors kept in a session directory (--disasm): brought to where it stays. */
#ifndef HP_RECORD_SESSION_OBJECTS_H
#define HP_RECORD_SESSION_OBJECTS_H

struct error;

/* Copies the object files of a session into `folder`, which is made if there is one to copy: 0700, files 0600. *ret_count is
 * how many were copied, also on failure. A file that is there already is not touched: -EEXIST. */
int session_objects_keep(const char *session_directory, const char *folder, unsigned *ret_count, struct error *err);

#endif
