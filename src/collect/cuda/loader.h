/* SPDX-License-Identifier: MIT */
/* The dynamic loader's functions at versions that old C libraries have. */
#ifndef HP_CUDA_LOADER_H
#define HP_CUDA_LOADER_H

#include <dlfcn.h>
#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__GLIBC__)
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif

#endif
