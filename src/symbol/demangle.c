/* SPDX-License-Identifier: MIT */
/* Demangling through libiberty, where the build found it. */
#include "demangle.h"

#include <stddef.h>
#include <string.h>

#ifdef HP_HAVE_IBERTY

/* Declared by ourselves: libiberty's header drags in the rest of it. Values of its DMGL_ flags. */
#define DEMANGLE_ANSI 2
#define NAME_MAXIMUM 65536 /* longer ones are attacks on the demangler, or of no use to anybody */

char *cplus_demangle_v3(const char *mangled, int options);
char *rust_demangle(const char *mangled, int options);
char *dlang_demangle(const char *mangled, int options);

char *demangle(const char *name)
{
    if (name[0] != '_' || strlen(name) > NAME_MAXIMUM)
        return NULL;
    if (name[1] == 'R')
        return rust_demangle(name, 0);
    if (name[1] == 'Z' || strncmp(name, "__Z", 3) == 0 || strncmp(name, "_GLOBAL_", 8) == 0) {
        /* Rust's older scheme looks like C++; only its hash at the end tells, which rust_demangle checks. */
        char *rust = name[1] == 'Z' ? rust_demangle(name, 0) : NULL;
        return rust ? rust : cplus_demangle_v3(name, DEMANGLE_ANSI);
    }
    if (name[1] == 'D')
        return dlang_demangle(name, 0);
    return NULL;
}

#else

char *demangle(const char *name)
{
    return NULL;
}

#endif
