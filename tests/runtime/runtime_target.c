/* SPDX-License-Identifier: MIT */
/*
 * A program that makes traced calls in every situation in which a guest can go wrong. `runtime_target CASE [ARGUMENT...]`;
 * numbers in "step" spans count from 1, so that a lost or doubled record shows.
 */
#include "collect/test/collector.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void steps(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i <= to; i++)
        test_named("step", i);
}

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "runtime_target: %s: %s\n", what, strerror(errno));
    exit(9);
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static int case_plain(char **arguments)
{
    uint64_t count = arguments[0] ? strtoull(arguments[0], NULL, 10) : 1000;
    steps(1, count);
    test_instant("moment");
    test_counter("level", 1.5);
    test_counter("level", 2.5);
    test_launch(7);
    return 0;
}

static int case_burst(char **arguments)
{
    test_burst(strtoull(arguments[0], NULL, 10));
    return 0;
}

/* Publishes its progress in a shared file: what stands there was recorded before. For kill tests. */
static _Noreturn void counted(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    check(fd >= 0 && ftruncate(fd, 4096) == 0, "counter file");
    volatile uint64_t *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(counter != MAP_FAILED, "counter map");
    for (uint64_t i = 1;; i++) {
        test_named("step", i);
        __atomic_store_n(counter, i, __ATOMIC_RELEASE);
        if (i % 50000 == 0)
            pause_ms(1);
    }
}

static int case_counted(char **arguments)
{
    counted(arguments[0]);
}

static void *thread_steps(void *argument)
{
    steps(1, (uint64_t)(uintptr_t)argument);
    return NULL;
}

static int case_threads(char **arguments)
{
    uint64_t threads = strtoull(arguments[0], NULL, 10), count = strtoull(arguments[1], NULL, 10);
    pthread_t *ids = calloc(threads, sizeof *ids);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (uint64_t i = 0; i < threads; i++)
        check(pthread_create(&ids[i], &attributes, thread_steps, (void *)(uintptr_t)count) == 0, "thread");
    for (uint64_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    free(ids);
    return 0;
}

/* Threads one after the other: their chunks are passed on. */
static int case_short_threads(char **arguments)
{
    uint64_t threads = strtoull(arguments[0], NULL, 10);
    for (uint64_t i = 0; i < threads; i++) {
        pthread_t id;
        check(pthread_create(&id, NULL, thread_steps, (void *)3) == 0, "thread");
        pthread_join(id, NULL);
    }
    return 0;
}

static int case_fork(char **arguments)
{
    steps(1, 10);
    pid_t pid = fork();
    if (pid == 0) {
        steps(101, 120);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            steps(1001, 1030);
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        exit(0);
    }
    steps(11, 20);
    waitpid(pid, NULL, 0);
    steps(21, 30);
    return 0;
}

/* A child that no fork handler sees. */
static int case_raw_fork(char **arguments)
{
    steps(1, 10);
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        steps(101, 120);
        syscall(SYS_exit_group, 0);
    }
    waitpid((pid_t)pid, NULL, 0);
    steps(11, 20);
    return 0;
}

static void fork_inside(void *result)
{
    *(pid_t *)result = fork();
}

/* The call is entered by one process and left by two. */
static int case_fork_inside(char **arguments)
{
    pid_t pid;
    steps(1, 5);
    test_call_with(fork_inside, &pid);
    if (pid == 0) {
        steps(101, 103);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    steps(6, 9);
    return 0;
}

static int case_vfork(char **arguments)
{
    steps(1, 10);
    pid_t pid = vfork();
    if (pid == 0) {
        test_call();
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    waitpid(pid, NULL, 0);
    steps(11, 20);
    char name[] = "true", *const list[] = {name, NULL};
    check(posix_spawn(&pid, "/bin/true", NULL, NULL, list, environ) == 0, "spawn");
    waitpid(pid, NULL, 0);
    steps(21, 30);
    return 0;
}

static int case_exec(char **arguments)
{
    uint64_t left = strtoull(arguments[0], NULL, 10);
    steps(left * 100 + 1, left * 100 + 10);
    if (left == 0)
        return 0;
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)left - 1);
    execl("/proc/self/exe", "runtime_target", "exec", number, (char *)NULL);
    return 9;
}

static void *thread_forever(void *argument)
{
    for (uint64_t i = 1;; i++) {
        test_named("step", i);
        __atomic_store_n((uint64_t *)argument, i, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Threads go on after main is through; the process ends under them. */
static int case_outlive(char **arguments)
{
    static uint64_t done[3];
    for (int i = 0; i < 3; i++) {
        pthread_t id;
        check(pthread_create(&id, NULL, thread_forever, &done[i]) == 0, "thread");
    }
    while (!done[0] || !done[1] || !done[2])
        sched_yield();
    if (arguments[0] && strcmp(arguments[0], "pthread_exit") == 0) {
        const struct itimerval end = {.it_value = {0, 50000}};
        setitimer(ITIMER_REAL, &end, NULL);
        pthread_exit(NULL);
    }
    return 0;
}

static void at_exit(void)
{
    steps(11, 20);
}

__attribute__((destructor)) static void at_end(void)
{
    if (getenv("RUNTIME_TARGET_DESTRUCTOR"))
        steps(21, 30);
}

static int case_exit(char **arguments)
{
    setenv("RUNTIME_TARGET_DESTRUCTOR", "1", 1);
    atexit(at_exit);
    steps(1, 10);
    return 0;
}

static int case_quick_exit(char **arguments)
{
    steps(1, 10);
    _exit(3);
}

static pthread_key_t key;
static void key_destructor(void *value)
{
    steps((uint64_t)(uintptr_t)value, (uint64_t)(uintptr_t)value + 4);
}
static void *thread_key(void *argument)
{
    steps(1, 5);
    pthread_setspecific(key, (void *)6);
    return NULL;
}

static int case_thread_destructor(char **arguments)
{
    pthread_t id;
    pthread_key_create(&key, key_destructor);
    check(pthread_create(&id, NULL, thread_key, NULL) == 0, "thread");
    pthread_join(id, NULL);
    return 0;
}

static volatile uint64_t handled;
static void on_alarm(int signal)
{
    (void)signal;
    uint64_t next = handled + 1;
    test_named("in handler", next);
    handled = next;
}

/* Handlers interrupt the writing of records, thousands of times. */
static int case_signals(char **arguments)
{
    uint64_t wanted = strtoull(arguments[0], NULL, 10);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &timer, NULL);
    uint64_t done = 0;
    int64_t end = time(NULL) + 20;
    while (handled < wanted && time(NULL) < end)
        steps(done + 1, done + 100), done += 100;
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%llu %llu\n", (unsigned long long)done, (unsigned long long)handled);
    return 0;
}

static sigjmp_buf jump;
static void jump_out(void *argument)
{
    (void)argument;
    siglongjmp(jump, 1);
}

/* A call that is never left: the layer must not stay blocked. */
static int case_longjmp(char **arguments)
{
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(jump, 1) == 0)
            test_call_with(jump_out, NULL);
    steps(1, 10);
    for (int i = 0; i < 10; i++)
        test_call();
    return 0;
}

static void nested(void *argument)
{
    (void)argument;
    test_call(); /* the same layer: counts once, as part of the outer call */
}

static int case_nested(char **arguments)
{
    for (int i = 0; i < 10; i++)
        test_call_with(nested, NULL);
    return 0;
}

static int case_errno(char **arguments)
{
    uint64_t changed = 0;
    for (int i = 0; i < 100000; i++) {
        errno = 77;
        test_named("step", (uint64_t)i + 1);
        changed += errno != 77;
    }
    printf("%llu\n", (unsigned long long)changed);
    return changed != 0;
}

static int case_close_all(char **arguments)
{
    steps(1, 10);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int fd = open("/dev/null", O_WRONLY);
    steps(11, 200000);
    return fd < 0 || write(fd, "x", 1) != 1;
}

static int case_chroot(char **arguments)
{
    steps(1, 10);
    check(chroot(arguments[0]) == 0 && chdir("/") == 0, "chroot");
    steps(11, 20);
    return 0;
}

static int case_setuid(char **arguments)
{
    steps(1, 10);
    check(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
    steps(11, 20);
    return 0;
}

static int case_seccomp(char **arguments)
{
    struct sock_filter strict[] = { /* write, exit_group, sigreturn, and what the end of a process needs; kill on all else */
        {0x20, 0, 0, 0},
        {0x15, 4, 0, SYS_write}, {0x15, 3, 0, SYS_exit_group}, {0x15, 2, 0, SYS_rt_sigreturn}, {0x15, 1, 0, SYS_futex},
        {0x06, 0, 0, 0x80000000u}, {0x06, 0, 0, 0x7fff0000u},
    };
    struct sock_fprog program = {sizeof strict / sizeof strict[0], strict};
    steps(1, 10);
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    if (arguments[0] && strcmp(arguments[0], "syscall") == 0)
        check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
    else
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0, "seccomp");
    steps(11, 20);
    test_burst(1000000); /* far over what one chunk holds */
    _exit(0);
}

static int case_limit(char **arguments)
{
    int which = strcmp(arguments[0], "fsize") == 0 ? RLIMIT_FSIZE : strcmp(arguments[0], "nofile") == 0 ? RLIMIT_NOFILE : RLIMIT_AS;
    struct rlimit limit;
    getrlimit(which, &limit);
    limit.rlim_cur = strtoull(arguments[1], NULL, 10);
    check(setrlimit(which, &limit) == 0, "setrlimit");
    test_burst(strtoull(arguments[2], NULL, 10));
    return 0;
}

static int case_spin(char **arguments)
{
    int64_t end = strtoll(arguments[0], NULL, 10);
    struct timespec now;
    volatile uint64_t sum = 0;
    do {
        for (int i = 0; i < 100000; i++)
            sum += (uint64_t)i * i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
    (void)sum;
    return 0;
}

static void *thread_spin(void *argument)
{
    case_spin(argument);
    return NULL;
}

static int case_spin_threads(char **arguments)
{
    pthread_t ids[2];
    for (int i = 0; i < 2; i++)
        check(pthread_create(&ids[i], NULL, thread_spin, arguments) == 0, "thread");
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

static int case_dlclose(char **arguments)
{
    void *library = dlopen(arguments[0], RTLD_NOW);
    check(library != NULL, "dlopen");
    void (*named)(const char *, uint64_t) = NULL;
    void *symbol = dlsym(library, "hprofiler_test_named");
    memcpy(&named, &symbol, sizeof named);
    check(named != NULL, "dlsym");
    named("step", 1);
    check(dlclose(library) == 0, "dlclose");
    named("step", 2);
    return 0;
}

static int case_strings(char **arguments)
{
    uint64_t count = strtoull(arguments[0], NULL, 10);
    for (uint64_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "a name of some length, number %llu", (unsigned long long)(i % 20000));
        test_named(name, i);
    }
    return 0;
}

__attribute__((noinline)) static uint32_t deep(unsigned depth)
{
    uint32_t number = depth > 1 ? deep(depth - 1) : test_stack();
    __asm__ volatile("" ::: "memory"); /* or the call would become a jump */
    return number;
}

static void *thread_deep(void *argument)
{
    for (unsigned round = 0; round < 200; round++)
        deep((unsigned)(uintptr_t)argument);
    return NULL;
}

/* stacks DEPTH: the same stack has the same number, in a child of fork it is taken anew, threads may all take some. */
static int case_stacks(char **arguments)
{
    unsigned depth = (unsigned)strtoul(arguments[0], NULL, 10);
    uint32_t number = 0;
    for (volatile int i = 0; i < 10; i++) { /* volatile: one call, not the first round's and the others' */
        uint32_t again = deep(depth);
        errno = 0;
        check(i == 0 || again == number, "a stack's number");
        number = again;
    }
    check(depth >= 128 || deep(depth + 1) != number || number == 0, "another stack's number");
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++)
        check(pthread_create(&threads[i], NULL, thread_deep, (void *)(uintptr_t)(i + 2)) == 0, "thread");
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        deep(3);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

static void on_stack_signal(int number)
{
    (void)number;
    deep(2);
}

/* A handler that comes while a stack is being taken takes none. */
static int case_stack_signals(char **arguments)
{
    (void)arguments;
    struct sigaction action = {.sa_handler = on_stack_signal};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 20000; i++)
        deep(20);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    return 0;
}

static int case_device(char **arguments)
{
    test_device(strtoull(arguments[0], NULL, 10));
    return 0;
}

static int case_object(char **arguments)
{
    check(test_object(strtoull(arguments[0], NULL, 10), 0xa5) == 1, "an object's number");
    check(test_object(0, 1) == 0, "an object of nothing");
    check(test_object(1, 2) == 2, "another object's number");
    return 0;
}

/* code LIBRARY: an address in each of: the program, a library loaded later, another one where that was; nothing at all. */
static int case_code(char **arguments)
{
    test_code((const void *)(uintptr_t)&case_code);
    void *library = dlopen(arguments[0], RTLD_NOW);
    check(library != NULL, "dlopen");
    for (int i = 0; i < 1000; i++) {
        test_code(dlsym(library, "hprofiler_test_code"));
        test_code((const void *)16);
    }
    return 0;
}

/* many_code PAGES: an address in each of so many executable mappings of a page, as a compiler at run time makes them. */
static int case_many_code(char **arguments)
{
    size_t pages = (size_t)atoi(arguments[0]), page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *area = mmap(NULL, 2 * pages * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(area != MAP_FAILED, "mmap");
    for (size_t i = 0; i < pages; i++)
        check(mprotect(area + 2 * i * page_bytes, page_bytes, PROT_READ | PROT_EXEC) == 0, "mprotect");
    for (size_t i = 0; i < pages; i++)
        test_code(area + 2 * i * page_bytes);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **arguments);
} cases[] = {
    {"plain", case_plain}, {"burst", case_burst}, {"counted", case_counted}, {"threads", case_threads},
    {"short_threads", case_short_threads}, {"fork", case_fork}, {"raw_fork", case_raw_fork}, {"fork_inside", case_fork_inside},
    {"vfork", case_vfork}, {"exec", case_exec}, {"outlive", case_outlive}, {"exit", case_exit}, {"quick_exit", case_quick_exit},
    {"thread_destructor", case_thread_destructor}, {"signals", case_signals}, {"longjmp", case_longjmp}, {"nested", case_nested},
    {"errno", case_errno}, {"close_all", case_close_all}, {"chroot", case_chroot}, {"setuid", case_setuid},
    {"seccomp", case_seccomp}, {"limit", case_limit}, {"spin", case_spin}, {"spin_threads", case_spin_threads},
    {"dlclose", case_dlclose}, {"strings", case_strings},
    {"stacks", case_stacks}, {"stack_signals", case_stack_signals}, {"device", case_device}, {"object", case_object}, {"code", case_code},
    {"many_code", case_many_code},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0)
            continue;
        if (!test_named && strcmp(argv[1], "dlclose") != 0) {
            fprintf(stderr, "runtime_target: the test collector isn't loaded\n");
            return 8;
        }
        return cases[i].run(argv + 2);
    }
    return 8;
}
