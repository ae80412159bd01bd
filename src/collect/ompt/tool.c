/* SPDX-License-Identifier: MIT */
/* How a runtime finds the tool, and what the tool asks of it. */
#include "../collector.h"
#include "abi.h"
#include "ompt.h"

#include <dlfcn.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver dladdr,dladdr@GLIBC_2.17");
#endif

enum { RUNTIMES = 4 };
static const void *runtimes[RUNTIMES]; /* load addresses of those that are using us */
static uint64_t next_block;

bool ompt_is_active(void)
{
    for (int i = 0; i < RUNTIMES; i++)
        if (__atomic_load_n(&runtimes[i], __ATOMIC_ACQUIRE))
            return true;
    return false;
}

static const void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : 0;
}

bool ompt_serves(const void *function)
{
    const void *object = object_of(function);
    for (int i = 0; i < RUNTIMES && object; i++)
        if (__atomic_load_n(&runtimes[i], __ATOMIC_ACQUIRE) == object)
            return true;
    return false;
}

uint64_t openmp_id_block(void)
{
    return __atomic_fetch_add(&next_block, OPENMP_ID_BLOCK, __ATOMIC_RELAXED) + 1;
}
