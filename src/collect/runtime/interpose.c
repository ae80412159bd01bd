/* SPDX-License-Identifier: MIT */
/*
 * The few functions of the C library that the runtime stands before: pthread_create (where threads are sampled by timers), prctl
 * and syscall (a process that enters seccomp must not see us make files any more). All pass straight through otherwise.
 * Also the registrations that need symbols whose versions or places differ between C libraries: found by dlsym.
 */
#include "runtime.h"

#include <dlfcn.h>
#include <features.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_key_create,pthread_key_create@GLIBC_2.2.5");
#elif defined(__GLIBC__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver pthread_key_create,pthread_key_create@GLIBC_2.17");
#endif

#define EXPORT __attribute__((visibility("default")))

typedef void *(*start_routine)(void *);
typedef int (*create_function)(pthread_t *, const pthread_attr_t *, start_routine, void *);
typedef int (*prctl_function)(int, unsigned long, unsigned long, unsigned long, unsigned long);
typedef int (*get_attributes_function)(pthread_t, pthread_attr_t *);
typedef int (*get_stack_function)(const pthread_attr_t *, void **, size_t *);
typedef int (*destroy_function)(pthread_attr_t *);
typedef pthread_t (*self_function)(void);
typedef int (*atfork_function)(void (*)(void), void (*)(void), void (*)(void));
typedef int (*register_atfork_function)(void (*)(void), void (*)(void), void (*)(void), void *);

static create_function real_create;
static prctl_function real_prctl;
static struct {
    self_function self;
    get_attributes_function get_attributes;
    get_stack_function get_stack;
    destroy_function destroy;
} thread_calls; /* found where threads are sampled, else NULL */
__attribute__((visibility("hidden"))) void *rt_real_syscall; /* read by the assembly below */

/* dlsym gives an object pointer; POSIX promises that it converts. */
static void find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    __builtin_memcpy(function, &found, sizeof found);
}

static void in_child(void)
{
    if (rt_load(&rt.state) == RT_OFF)
        return;
    rt_forked();
    if (rt.sampling && rt_ready())
        rt_sampler_start();
}

static void register_fork_handler(void)
{
    atfork_function atfork = 0;
    register_atfork_function register_atfork = 0;
    find(&register_atfork, "__register_atfork"); /* glibc has pthread_atfork only in its static part */
    if (register_atfork) {
        register_atfork(0, 0, in_child, 0);
        return;
    }
    find(&atfork, "pthread_atfork");
    if (atfork)
        atfork(0, 0, in_child);
}

void rt_interpose_start(void)
{
    find(&real_create, "pthread_create");
    find(&real_prctl, "prctl");
    find(&rt_real_syscall, "syscall");
}

void rt_interpose_session(void)
{
    pthread_key_t key;
    if (pthread_key_create(&key, rt_thread_end) == 0) {
        rt.key = key;
        rt_store(&rt.key_made, 1u);
    }
    register_fork_handler();
    if (!rt.session->sampling)
        return;
    find(&thread_calls.self, "pthread_self");
    find(&thread_calls.get_attributes, "pthread_getattr_np");
    find(&thread_calls.get_stack, "pthread_attr_getstack");
    find(&thread_calls.destroy, "pthread_attr_destroy");
}

/* What a new thread needs to know before it runs the host's routine. */
struct start {
    uint32_t used;
    start_routine routine;
    void *argument;
};
static struct start starts[512];

/* Where this thread's stack is: what lies in it may be read without asking. Unknown stays 0: then the kernel copies. */
static void stack_find(void)
{
    pthread_attr_t attributes;
    void *low = 0;
    size_t bytes = 0;
    if (!thread_calls.self || !thread_calls.get_attributes || !thread_calls.get_stack || !thread_calls.destroy ||
        thread_calls.get_attributes(thread_calls.self(), &attributes) != 0)
        return;
    if (thread_calls.get_stack(&attributes, &low, &bytes) == 0) {
        rt_stack_top = (uintptr_t)low + bytes;
        rt_stack_bytes = bytes;
    }
    thread_calls.destroy(&attributes);
}

static void *thread_begin(void *object)
{
    struct start own = *(struct start *)object;
    rt_store(&((struct start *)object)->used, 0u);
    stack_find();
    struct rt_thread *thread = rt_thread_get();
    if (thread)
        rt_sampler_thread(thread);
    return own.routine(own.argument);
}

static struct start *start_take(void)
{
    for (unsigned i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        uint32_t expected = 0;
        if (!rt_load(&starts[i].used) &&
            __atomic_compare_exchange_n(&starts[i].used, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return &starts[i];
    }
    return 0;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, start_routine routine, void *argument)
{
    if (!real_create)
        find(&real_create, "pthread_create");
    struct start *start = rt_load(&rt.sampling) && rt_load(&rt.state) != RT_OFF ? start_take() : 0;
    if (!start)
        return real_create(thread, attributes, routine, argument);
    start->routine = routine;
    start->argument = argument;
    int result = real_create(thread, attributes, thread_begin, start);
    if (result)
        rt_store(&start->used, 0u);
    return result;
}

/* A process that shuts itself in: what is mapped now can't be read later. */
static void list_last(void)
{
    if (rt_load(&rt.state) == RT_READY)
        rt_code_list();
}

int prctl(int option, ...) EXPORT;
int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b)) { /* without a filter it only asks what the kernel can */
        list_last();
        rt_store(&rt.no_new_files, a == SECCOMP_MODE_STRICT ? 2u : 1u);
    }
    if (!real_prctl)
        find(&real_prctl, "prctl");
    return real_prctl(option, a, b, c, d);
}

/* Both from the assembly below, which keeps the arguments of syscall(). */
void rt_seccomp_seen(long number, unsigned long operation, unsigned long flags, const void *filter)
    __attribute__((visibility("hidden"), used));
void rt_find_syscall(void) __attribute__((visibility("hidden"), used));

void rt_seccomp_seen(long number, unsigned long operation, unsigned long flags, const void *filter)
{
    bool strict = operation == SECCOMP_SET_MODE_STRICT, filtered = operation == SECCOMP_SET_MODE_FILTER && filter;
    if (strict || filtered)
        list_last();
    if (strict)
        rt_store(&rt.no_new_files, 2u);
    else if (filtered)
        rt_store(&rt.no_new_files, 1u);
}

void rt_find_syscall(void)
{
    find(&rt_real_syscall, "syscall");
}

/*
 * syscall() goes on to the real one by a jump, so that the stack and all registers are as the caller left them: calls that
 * return twice or on another stack (clone) see nothing of us. Only seccomp (317, 277) and the very first call take the long way.
 */
#if defined(__x86_64__)
__asm__(".text\n.globl syscall\n.type syscall,@function\nsyscall:\n"
        "    cmpq $317, %rdi\n    je 1f\n"
        "    movq rt_real_syscall(%rip), %rax\n    testq %rax, %rax\n    jz 2f\n    jmpq *%rax\n"
        "1:  leaq rt_seccomp_seen(%rip), %rax\n    jmp 3f\n"
        "2:  leaq rt_find_syscall(%rip), %rax\n"
        "3:  pushq %rdi\n    pushq %rsi\n    pushq %rdx\n    pushq %rcx\n    pushq %r8\n    pushq %r9\n    subq $8, %rsp\n"
        "    callq *%rax\n"
        "    addq $8, %rsp\n    popq %r9\n    popq %r8\n    popq %rcx\n    popq %rdx\n    popq %rsi\n    popq %rdi\n"
        "    movq rt_real_syscall(%rip), %rax\n    testq %rax, %rax\n    jnz 4f\n    leaq rt_find_syscall(%rip), %rax\n    jmp 3b\n"
        "4:  jmpq *%rax\n.size syscall,.-syscall\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl syscall\n.type syscall,%function\nsyscall:\n"
        "    cmp x0, #277\n    b.eq 1f\n"
        "    adrp x16, rt_real_syscall\n    ldr x16, [x16, #:lo12:rt_real_syscall]\n    cbz x16, 2f\n    br x16\n"
        "1:  adrp x16, rt_seccomp_seen\n    add x16, x16, #:lo12:rt_seccomp_seen\n    b 3f\n"
        "2:  adrp x16, rt_find_syscall\n    add x16, x16, #:lo12:rt_find_syscall\n"
        "3:  stp x29, x30, [sp, #-80]!\n    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n"
        "    stp x6, x7, [sp, #64]\n    blr x16\n"
        "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n    ldp x6, x7, [sp, #64]\n"
        "    ldp x29, x30, [sp], #80\n"
        "    adrp x16, rt_real_syscall\n    ldr x16, [x16, #:lo12:rt_real_syscall]\n    cbz x16, 2b\n    br x16\n"
        ".size syscall,.-syscall\n");
#endif
