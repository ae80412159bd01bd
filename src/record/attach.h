/* SPDX-License-Identifier: MIT */
/* Looking at a process before it is attached to. */
#ifndef HP_RECORD_ATTACH_H
#define HP_RECORD_ATTACH_H

#include <stddef.h>
#include <sys/types.h>

struct error;

/* 0 and the program's name when the process exists, is a program (not a kernel thread) and not ourselves. */
int attach_check(pid_t pid, char *ret_name, size_t size, struct error *err);
/* Readable when the process has ended; -1 where the kernel has no such thing. */
int attach_process_fd(pid_t pid);

#endif
