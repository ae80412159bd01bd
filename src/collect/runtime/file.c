/* SPDX-License-Identifier: MIT */
/*
 * Files of the session directory, made by a guest: no descriptor outlives a call here (the host may close or reuse any), blocks
 * are reserved before they are mapped (a store to a hole of a full disk is SIGBUS), and RLIMIT_FSIZE is read before a file
 * grows (the kernel would send SIGXFSZ).
 */
#include "runtime.h"

#include <asm/fcntl.h>
#include <linux/mman.h>
#include <asm/stat.h>
#include <linux/resource.h>

#ifndef MAP_POPULATE
#define MAP_POPULATE 0x8000
#endif

static struct {
    uint64_t device, inode;
} session_directory; /* as it was when the process started */

static int reason_of(long error)
{
    switch (-error) {
    case SYS_E_NOSPC:
    case SYS_E_DQUOT:
        return WIRE_LOST_DISK_FULL + 1;
    case SYS_E_FBIG:
        return WIRE_LOST_FILE_LIMIT + 1;
    case SYS_E_NOMEM:
        return WIRE_LOST_NO_MEMORY + 1;
    case 23: /* ENFILE, EMFILE */
    case 24:
        return WIRE_LOST_NO_DESCRIPTOR + 1;
    case SYS_E_IO:
        return WIRE_LOST_IO + 1;
    default:
        return WIRE_LOST_NO_DIRECTORY + 1;
    }
}

static long file_identity(int fd, struct stat *ret_stat)
{
    return sys_call(__NR_fstat, fd, ret_stat, 0, 0);
}

/* The directory, if it still is the one we began with and belongs to who we are now. */
long rt_open_directory(void)
{
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, rt.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    struct stat info = {0};
    long result = file_identity((int)fd, &info);
    uint64_t euid = (uint64_t)sys_call(__NR_geteuid, 0, 0, 0, 0);
    if (result < 0 || !sys_is_type(info.st_mode, SYS_TYPE_DIRECTORY) || info.st_uid != euid || (info.st_mode & 022)) {
        sys_close((int)fd);
        return -SYS_E_ACCES;
    }
    if (session_directory.inode == 0) {
        session_directory.device = (uint64_t)info.st_dev;
        session_directory.inode = (uint64_t)info.st_ino;
    } else if (session_directory.device != (uint64_t)info.st_dev || session_directory.inode != (uint64_t)info.st_ino) {
        sys_close((int)fd);
        return -SYS_E_NOENT;
    }
    return fd;
}

static bool size_is_allowed(uint64_t bytes)
{
    struct rlimit64 limit = {0};
    if (sys_call(__NR_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0)
        return true;
    return limit.rlim_cur >= bytes; /* RLIM64_INFINITY is the greatest number */
}

/* Blocks for all of [0, bytes): by fallocate, or where the file system can't, by writing zeros behind the present end. */
static long file_allocate(int fd, uint64_t bytes)
{
    long result;
    do
        result = sys_call(__NR_fallocate, fd, 0, 0, bytes);
    while (result == -SYS_E_INTR);
    if (result != -SYS_E_OPNOTSUPP && result != -SYS_E_NOSYS)
        return result;
    static const char zeros[4096];
    struct stat info = {0};
    if ((result = file_identity(fd, &info)) < 0)
        return result;
    for (uint64_t at = (uint64_t)info.st_size; at < bytes;) {
        uint64_t piece = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        result = sys_call(__NR_pwrite64, fd, zeros, piece, at);
        if (result < 0 && result != -SYS_E_INTR)
            return result;
        at += result > 0 ? (uint64_t)result : 0;
    }
    return 0;
}

/* Maps the file, or where it can't be shared, takes private memory that pwrite copies into it. */
static int file_map(int fd, uint64_t map_bytes, bool populate, struct rt_file *ret_file)
{
    void *map = (void *)-1L;
    if (!rt.no_shared_map) {
        map = sys_mmap(0, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (populate ? MAP_POPULATE : 0), fd, 0);
        if ((long)map == -SYS_E_NOMEM || (long)map == -11)
            return WIRE_LOST_NO_MEMORY + 1;
    }
    ret_file->by_pwrite = sys_is_error((long)map);
    if (ret_file->by_pwrite) {
        rt.no_shared_map = 1;
        map = sys_mmap(0, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sys_is_error((long)map))
            return WIRE_LOST_NO_MEMORY + 1;
    }
    /* A child of fork must not write here; its thread slots are wiped, so it won't. Not copying the tables makes fork cheaper. */
    if (rt.wipes)
        sys_call(__NR_madvise, map, map_bytes, MADV_DONTFORK, 0);
    ret_file->map = map;
    ret_file->mapped_bytes = map_bytes;
    return 0;
}

/* What lies behind the file's end is no memory to read: a leak checker that searches all it may read faults on each word of it. */
static void file_close_tail(const struct rt_file *file, uint64_t file_bytes)
{
    uint64_t end = (file_bytes + 4095) & ~UINT64_C(4095);
    if (!file->by_pwrite && end < file->mapped_bytes)
        sys_call(__NR_mprotect, (char *)file->map + end, file->mapped_bytes - end, PROT_NONE, 0);
}

static int file_fill(int fd, uint64_t file_bytes, uint64_t map_bytes, bool populate, struct rt_file *ret_file)
{
    struct stat before = {0}, after = {0};
    long result = file_identity(fd, &before);
    if (result < 0 || !sys_is_type(before.st_mode, SYS_TYPE_REGULAR) || before.st_size != 0)
        return WIRE_LOST_NO_DIRECTORY + 1;
    if ((result = file_allocate(fd, file_bytes)) < 0)
        return reason_of(result);
    /* Another thread of the host may have closed and reused the number meanwhile. */
    if (file_identity(fd, &after) < 0 || after.st_ino != before.st_ino || after.st_dev != before.st_dev)
        return WIRE_LOST_NO_DIRECTORY + 1;
    int reason = file_map(fd, map_bytes, populate, ret_file);
    if (!reason)
        file_close_tail(ret_file, file_bytes);
    return reason;
}

int rt_file_create(const char *name, uint64_t file_bytes, uint64_t map_bytes, bool populate, struct rt_file *ret_file)
{
    if (rt.no_new_files)
        return WIRE_LOST_SECCOMP + 1;
    if (!size_is_allowed(file_bytes))
        return WIRE_LOST_FILE_LIMIT + 1;
    long directory = rt_open_directory();
    if (directory < 0)
        return reason_of(directory);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    long fd = sys_call(__NR_openat, directory, name, flags, 0600);
    int reason = fd < 0 ? reason_of(fd) : file_fill((int)fd, file_bytes, map_bytes, populate, ret_file);
    if (fd >= 0 && reason)
        sys_call(__NR_unlinkat, directory, name, 0, 0);
    if (fd >= 0)
        sys_close((int)fd);
    sys_close((int)directory);
    if (!reason)
        rt_add(&rt.session->announced, 1u);
    return reason;
}

static int file_open(const char *name, int flags, int *ret_fd)
{
    if (rt.no_new_files)
        return WIRE_LOST_SECCOMP + 1;
    long directory = rt_open_directory();
    if (directory < 0)
        return reason_of(directory);
    long fd = sys_call(__NR_openat, directory, name, flags | O_NOFOLLOW | O_CLOEXEC, 0);
    sys_close((int)directory);
    if (fd < 0)
        return reason_of(fd);
    *ret_fd = (int)fd;
    return 0;
}

int rt_file_grow(const char *name, void *map, uint64_t file_bytes)
{
    if (rt.no_new_files)
        return WIRE_LOST_SECCOMP + 1;
    if (!size_is_allowed(file_bytes))
        return WIRE_LOST_FILE_LIMIT + 1;
    int fd;
    int reason = file_open(name, O_RDWR, &fd);
    if (reason)
        return reason;
    long result = file_allocate(fd, file_bytes);
    sys_close(fd);
    if (result >= 0)
        result = sys_call(__NR_mprotect, map, (file_bytes + 4095) & ~UINT64_C(4095), PROT_READ | PROT_WRITE, 0);
    return result < 0 ? reason_of(result) : 0;
}

int rt_file_write(const char *name, const void *data, uint64_t size, uint64_t offset)
{
    int fd;
    int reason = file_open(name, O_WRONLY, &fd);
    if (reason)
        return reason;
    for (uint64_t done = 0; done < size && !reason;) {
        long result = sys_call(__NR_pwrite64, fd, (const char *)data + done, size - done, offset + done);
        if (result < 0 && result != -SYS_E_INTR)
            reason = reason_of(result);
        done += result > 0 ? (uint64_t)result : 0;
    }
    sys_close(fd);
    return reason;
}

static char *put_process(char *out)
{
    out = rt_put_number(out, (uint64_t)(uint32_t)rt.pid);
    *out++ = '-';
    return rt_put_hex(out, rt.key64);
}

void rt_name_process(char *name)
{
    put_process(rt_put_text(name, "process-"));
}

void rt_name_chunk(char *name, uint32_t number)
{
    char *out = put_process(rt_put_text(name, "chunk-"));
    *out++ = '-';
    rt_put_number(out, number);
}

void rt_name_object(char *name, uint32_t number)
{
    char *out = put_process(rt_put_text(name, "object-"));
    *out++ = '-';
    rt_put_number(out, number);
}

void rt_name_note(char *name)
{
    put_process(rt_put_text(name, "note-"));
}
