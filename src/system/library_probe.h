/* SPDX-License-Identifier: MIT */
/* Asks a foreign library or program for its version, at arm's length: in a child process with a time limit. */
#ifndef HP_SYSTEM_LIBRARY_PROBE_H
#define HP_SYSTEM_LIBRARY_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* How a library tells its version. */
enum version_call {
    VERSION_NONE,     /* it has no such function: only its presence and path count */
    VERSION_CUDA,     /* int f(int *): 1000 * major + 10 * minor */
    VERSION_NCCL,     /* int f(int *): 10000 * major + 100 * minor + patch */
    VERSION_HIP,      /* int f(int *): 10000000 * major + 100000 * minor + patch */
    VERSION_MPI_TEXT, /* int f(char *, int *): a text, the first line counts */
};

/* True if `library` can be opened; its path and version ("" when unknown) as far as they can be told. */
bool library_probe(const char *library, const char *symbol, enum version_call call, char *ret_path, size_t path_size,
                   char *ret_version, size_t version_size);

/* The path of a program found by PATH; false if there is none. */
bool program_find(const char *name, char *ret_path, size_t size);

#endif
