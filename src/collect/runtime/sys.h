/* SPDX-License-Identifier: MIT */
/*
 * System calls made directly: no errno, no cancellation point, no other tool's wrapper, no symbol version. Results are as the
 * kernel gives them: negative errno on failure.
 */
#ifndef HP_RUNTIME_SYS_H
#define HP_RUNTIME_SYS_H

#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}
#else
#error "the runtime knows x86-64 and AArch64"
#endif

#define sys_call(number, a, b, c, d) sys_call6((number), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#define SYS_AT_FDCWD (-100)
#define SYS_E_NOENT 2
#define SYS_E_INTR 4
#define SYS_E_IO 5
#define SYS_E_NOMEM 12
#define SYS_E_ACCES 13
#define SYS_E_EXIST 17
#define SYS_E_NODEV 19
#define SYS_E_INVAL 22
#define SYS_E_FBIG 27
#define SYS_E_NOSPC 28
#define SYS_E_NOSYS 38
#define SYS_E_OPNOTSUPP 95
#define SYS_E_DQUOT 122

#define SYS_TYPE_DIRECTORY 0040000u
#define SYS_TYPE_REGULAR 0100000u

static inline int sys_is_type(unsigned mode, unsigned type)
{
    return (mode & 0170000u) == type;
}

static inline int sys_is_error(long result)
{
    return (unsigned long)result >= (unsigned long)-4095L;
}

static inline void *sys_mmap(void *address, size_t size, int protection, int flags, int fd, long offset)
{
    return (void *)sys_call6(__NR_mmap, (long)address, (long)size, protection, flags, fd, offset);
}

static inline long sys_pid(void)
{
    return sys_call(__NR_getpid, 0, 0, 0, 0);
}

static inline long sys_tid(void)
{
    return sys_call(__NR_gettid, 0, 0, 0, 0);
}

static inline void sys_close(int fd)
{
    sys_call(__NR_close, fd, 0, 0, 0);
}

static inline void sys_yield(void)
{
    sys_call(__NR_sched_yield, 0, 0, 0, 0);
}

#endif
