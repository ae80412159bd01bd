/* SPDX-License-Identifier: MIT */
/* Names as people write them, from the linker's: C++ (Itanium), Rust (legacy and v0), D. */
#ifndef HP_SYMBOL_DEMANGLE_H
#define HP_SYMBOL_DEMANGLE_H

/* The readable name without parameters and return type, or NULL when it is not mangled (or too hostile). Caller frees. */
char *demangle(const char *name);

#endif
