/* SPDX-License-Identifier: MIT */
/* The dynamic loader's functions, at versions that old C libraries have. */
#ifndef HP_COLLECT_LOADER_H
#define HP_COLLECT_LOADER_H

#include <dlfcn.h>
#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define LOADER_VERSION "GLIBC_2.2.5"
#elif defined(__GLIBC__)
#define LOADER_VERSION "GLIBC_2.17"
#endif
#ifdef LOADER_VERSION
__asm__(".symver dlopen,dlopen@" LOADER_VERSION);
__asm__(".symver dlclose,dlclose@" LOADER_VERSION);
__asm__(".symver dlsym,dlsym@" LOADER_VERSION);
__asm__(".symver dladdr,dladdr@" LOADER_VERSION);
__asm__(".symver dlerror,dlerror@" LOADER_VERSION);
#endif

#endif
