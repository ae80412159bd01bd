/* SPDX-License-Identifier: MIT */
/*
 * Start of the runtime in a process: find the session, check that it is ours to use, make the process' file when the first
 * collector or record needs it, and begin anew in a child of fork. Whatever fails switches the runtime off, with a note
 * in the session directory where that can be written.
 */
#include "runtime.h"

#include <asm/fcntl.h>
#include <linux/mman.h>
#include <asm/stat.h>
#include <linux/auxvec.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

extern unsigned long getauxval(unsigned long type);
extern char *getenv(const char *name);

struct rt rt;

void rt_lost(uint32_t reason, uint64_t count)
{
    if (rt.process && reason < WIRE_LOST_COUNT)
        rt_add(&rt.process->lost[reason], count);
}

static void write_note(const char *text)
{
    char name[64];
    rt_name_note(name);
    long directory = rt_open_directory();
    if (directory < 0)
        return;
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    long fd = sys_call(__NR_openat, directory, name, flags, 0600);
    if (fd >= 0) {
        sys_call(__NR_write, fd, text, rt_length(text), 0);
        sys_close((int)fd);
    }
    sys_close((int)directory);
}

static void draw_key(void)
{
    rt.pid = (int32_t)sys_pid();
    if (sys_call(__NR_getrandom, &rt.key64, sizeof rt.key64, 1 /* GRND_NONBLOCK */, 0) != sizeof rt.key64)
        rt.key64 = wire_ticks() * 0x9e3779b97f4a7c15ull ^ rt_raw_ns() << 20 ^ (uint64_t)rt.pid;
    rt.key64 |= 1; /* 0 means the recorder's own streams */
}

static const char *session_problem(const struct wire_session *session, uint64_t size)
{
    if (size < 64 || session->magic != WIRE_SESSION_MAGIC || session->byte_order != WIRE_BYTE_ORDER)
        return "hprofiler: the session file is not one: nothing is recorded in this process\n";
    if (session->major != WIRE_MAJOR)
        return "hprofiler: the session was made by a version with another format: nothing is recorded in this process\n";
    if (size < sizeof *session || session->header_bytes < sizeof *session)
        return "hprofiler: the session file is cut off: nothing is recorded in this process\n";
    return 0;
}

static struct wire_session *map_session(int fd, uint64_t size)
{
    void *map = sys_mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (sys_is_error((long)map)) {
        rt.no_shared_map = 1;
        map = sys_mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    }
    return sys_is_error((long)map) ? 0 : map;
}

static bool session_open(void)
{
    long directory = rt_open_directory();
    if (directory < 0)
        return false;
    long fd = sys_call(__NR_openat, directory, "session", O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    sys_close((int)directory);
    if (fd < 0)
        return false;
    struct stat info = {0};
    bool regular = sys_call(__NR_fstat, fd, &info, 0, 0) == 0 && sys_is_type(info.st_mode, SYS_TYPE_REGULAR) &&
                   info.st_uid == (uint32_t)sys_call(__NR_geteuid, 0, 0, 0, 0);
    struct wire_session *session = regular && info.st_size >= 64 ? map_session((int)fd, (uint64_t)info.st_size) : 0;
    sys_close((int)fd);
    if (!session)
        return false;
    const char *problem = session_problem(session, (uint64_t)info.st_size);
    if (problem) {
        write_note(problem);
        sys_call(__NR_munmap, session, info.st_size, 0, 0);
        return false;
    }
    rt.session = session;
    rt.no_shared_map |= session->flags & WIRE_SESSION_NO_SHARED_MAP;
    return true;
}

/* A page that the kernel zeroes in every child that doesn't share our memory, however it was made. */
static void canary_make(void)
{
    void *page = sys_mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error((long)page))
        return;
    rt.canary = page;
    rt.wipes = sys_call(__NR_madvise, page, 4096, MADV_WIPEONFORK, 0) == 0;
    *rt.canary = 1;
}

static uint64_t namespace_inode(const char *path)
{
    struct stat info = {0};
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long result = sys_call(__NR_fstat, fd, &info, 0, 0);
    sys_close((int)fd);
    return result < 0 ? 0 : (uint64_t)info.st_ino;
}

static void read_text(const char *path, char *out, size_t size)
{
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    long length = sys_call(__NR_read, fd, out, size - 1, 0);
    sys_close((int)fd);
    out[length > 0 ? length : 0] = 0;
    for (char *at = out; *at; at++)
        if (*at == '\n')
            *at = 0;
}

static void process_fill(struct wire_process *process, uint64_t allocated)
{
    process->magic = WIRE_PROCESS_MAGIC;
    process->major = WIRE_MAJOR;
    process->minor = WIRE_MINOR;
    process->byte_order = WIRE_BYTE_ORDER;
    rt_put_text(process->build_id, HP_VERSION);
    process->header_bytes = sizeof *process;
    process->log_offset = sizeof *process;
    process->pid = rt.pid;
    process->parent_pid = (int32_t)sys_call(__NR_getppid, 0, 0, 0, 0);
    process->key = rt.key64;
    process->pid_namespace = namespace_inode("/proc/self/ns/pid");
    process->time_namespace = namespace_inode("/proc/self/ns/time");
    process->clock = rt.ticks ? WIRE_CLOCK_TICKS : WIRE_CLOCK_RAW;
    process->start_time = rt_clock();
    process->start_raw_ns = (int64_t)rt_raw_ns();
    process->uid = (uint32_t)sys_call(__NR_geteuid, 0, 0, 0, 0);
    read_text("/proc/sys/kernel/random/boot_id", process->boot_id, sizeof process->boot_id);
    sys_call(__NR_readlinkat, SYS_AT_FDCWD, "/proc/self/exe", process->executable, sizeof process->executable - 1);
    process->log_allocated = allocated;
    process->open = rt_threads_place();
}

/* Room for names: much where address space costs nothing, little where it is rationed (ulimit -v). */
static uint64_t log_map_bytes(void)
{
    uint64_t limit[2] = {0, 0};
    if (sys_call(__NR_prlimit64, 0, 9 /* RLIMIT_AS */, 0, limit) < 0 || limit[0] == UINT64_MAX)
        return 256u << 20;
    return 2u << 20;
}

static bool process_make(void)
{
    draw_key();
    char name[64];
    rt_name_process(name);
    struct rt_file file;
    uint64_t file_bytes = 16u << 10, map_bytes = log_map_bytes();
    if (rt_file_create(name, file_bytes, map_bytes, false, &file))
        return false;
    struct wire_process *process = file.map;
    rt.log_capacity = map_bytes - sizeof *process;
    process_fill(process, file.by_pwrite ? rt.log_capacity : file_bytes - sizeof *process);
    rt.process = process;
    rt.calibrated_at = 0;
    return true;
}

/* In a child of fork: what is there belongs to the parent. Its strings, chunks and threads are forgotten, not closed. */
void rt_forked(void)
{
    rt.process = 0;
    rt.thread_serial = 0;
    rt.chunk_number = 0;
    rt.object_number = 0;
    rt_log_forget();
    rt_stacks_forget();
    rt_code_forget();
    rt_chunks_forget();
    rt_threads_forget();
    rt_self = 0;
    if (rt.canary)
        *rt.canary = 1;
    rt_store(&rt.state, RT_SESSION);
}

static bool start_wait(void)
{
    for (int round = 0; round < 2000; round++) {
        uint32_t state = rt_load(&rt.state);
        if (state != RT_STARTING)
            return state == RT_READY;
        sys_yield();
    }
    return false; /* a signal handler that interrupted the start waits for itself */
}

bool rt_ready(void)
{
    if (rt_load(&rt.state) == RT_OFF)
        return false;
    if (RT_UNLIKELY(rt.canary && *rt.canary == 0))
        rt_forked();
    if (RT_LIKELY(rt_load(&rt.state) == RT_READY))
        return true;
    uint32_t expected = RT_SESSION;
    if (!__atomic_compare_exchange_n(&rt.state, &expected, RT_STARTING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return start_wait();
    bool made = process_make();
    if (made) {
        rt_calibrate();
        rt_store(&rt.state, RT_READY);
    } else {
        write_note("hprofiler: no file could be made in the session directory: nothing is recorded in this process\n");
        rt_store(&rt.state, RT_OFF);
    }
    return made;
}

static bool session_find(void)
{
    if (getauxval(AT_SECURE))
        return false;
    const char *path = getenv(WIRE_ENVIRONMENT);
    if (!path || path[0] != '/' || rt_length(path) >= sizeof rt.directory)
        return false;
    rt_put_text(rt.directory, path);
    rt.pid = (int32_t)sys_pid();
    rt.key64 = wire_ticks();
    return session_open();
}

__attribute__((constructor)) static void runtime_start(void)
{
    if (rt_load(&rt.state) != RT_OFF)
        return;
    rt_interpose_start();
    if (!session_find())
        return;
    canary_make();
    rt_interpose_session();
    rt_clock_choose(rt.session);
    rt.sampling = rt.session->sampling;
    if (rt.session->flags & WIRE_SESSION_CALL_TREE)
        rt_stacks_start();
    rt_store(&rt.state, RT_SESSION);
    if (rt.sampling && rt_ready())
        rt_sampler_start();
}

/* Nothing has to be finished: what is published is there. The pair of clocks makes times of a long run exact. Records that
 * static destructors make afterwards are kept as all others. */
__attribute__((destructor)) static void runtime_end(void)
{
    if (rt_load(&rt.state) != RT_READY || (rt.canary && *rt.canary == 0))
        return;
    if (rt.sampling)
        rt_code_list();
    rt_store(&rt.calibrated_at, 0ull);
    rt_calibrate();
    rt_store(&rt.process->ended, 1u);
}
