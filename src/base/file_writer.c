/* SPDX-License-Identifier: MIT */
/*
 * Buffered writing. A regular file is written beside its final name and renamed at the end; a device, a FIFO or standard
 * output is written directly, as nothing can be renamed over it.
 */
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#define BUFFER_BYTES ((size_t)256 << 10)
#define RESERVE_MAXIMUM ((size_t)64 << 10)

struct file_writer {
    int fd;
    bool owns_fd;
    char *name;      /* for messages */
    char *temporary; /* NULL if written directly */
    char *final;     /* the name it gets; NULL if written directly */
    uint64_t flushed;
    size_t used;
    int failure; /* -errno of the first one */
    char buffer[BUFFER_BYTES];
};

static void writer_free(struct file_writer *writer)
{
    if (writer->owns_fd && writer->fd >= 0)
        close(writer->fd);
    free(writer->name);
    free(writer->temporary);
    free(writer->final);
    free(writer);
}
DEFINE_CLEANUP(struct file_writer *, writer_free)

static struct file_writer *writer_alloc(const char *name)
{
    struct file_writer *writer = malloc(sizeof(*writer));
    if (!writer)
        return NULL;
    memset(writer, 0, offsetof(struct file_writer, buffer));
    writer->fd = -1;
    writer->name = strdup(name);
    if (!writer->name) {
        free(writer);
        return NULL;
    }
    return writer;
}

int file_writer_create_fd(int fd, const char *name, struct file_writer **ret_writer, struct error *err)
{
    struct file_writer *writer = writer_alloc(name);
    if (!writer)
        return error_set(err, -ENOMEM, "cannot write %s: out of memory", name);
    writer->fd = fd;
    *ret_writer = writer;
    return 0;
}

/* A free name in the same directory; O_EXCL makes it ours whatever others do there. */
static int open_temporary(struct file_writer *writer)
{
    static atomic_uint counter; /* two writers of one process for one path */
    const char *slash = strrchr(writer->final, '/');
    int prefix = slash ? (int)(slash - writer->final) + 1 : 0;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        free(writer->temporary);
        unsigned serial = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        /* Not derived from the file's own name, which may already be as long as a name can be. */
        if (asprintf(&writer->temporary, "%.*s.hprofiler-%ld-%u.tmp", prefix, writer->final, (long)getpid(), serial) < 0) {
            writer->temporary = NULL;
            return -ENOMEM;
        }
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (writer->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int result = -errno;
    free(writer->temporary);
    writer->temporary = NULL;
    return result;
}

static int open_path(struct file_writer *writer, const char *path)
{
    struct stat status;
    bool exists = stat(path, &status) == 0;
    writer->owns_fd = true;
    if (!*path)
        return -ENOENT;
    if (exists && S_ISDIR(status.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(status.st_mode)) {
        writer->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return writer->fd < 0 ? -errno : 0;
    }
    if (exists && access(path, W_OK) < 0)
        return -errno; /* renaming over a write-protected file would get round the protection */
    writer->final = exists ? realpath(path, NULL) : strdup(path); /* a link stays a link, its target is replaced */
    if (!writer->final)
        return -errno;
    int result = open_temporary(writer);
    if (result == 0 && exists)
        (void)fchmod(writer->fd, status.st_mode & 0777); /* keep the rights; if that is refused, umask's are right too */
    return result;
}

int file_writer_create(const char *path, struct file_writer **ret_writer, struct error *err)
{
    if (!strcmp(path, "-"))
        return file_writer_create_fd(STDOUT_FILENO, "standard output", ret_writer, err);
    CLEANUP(writer_freep) struct file_writer *writer = writer_alloc(path);
    if (!writer)
        return error_set(err, -ENOMEM, "cannot write %s: out of memory", path);
    int result = open_path(writer, path);
    if (result < 0)
        return error_set_errno(err, result, "cannot create %s", path);
    *ret_writer = TAKE_PTR(writer);
    return 0;
}

static void put(struct file_writer *writer, const void *data, size_t size)
{
    if (!writer->failure)
        writer->failure = write_all(writer->fd, data, size);
    writer->flushed += size;
}

static void flush(struct file_writer *writer)
{
    size_t used = writer->used;
    writer->used = 0;
    if (used)
        put(writer, writer->buffer, used);
}

void file_write(struct file_writer *writer, const void *data, size_t size)
{
    if (!size)
        return;
    if (size > BUFFER_BYTES - writer->used) {
        flush(writer);
        if (size >= BUFFER_BYTES) {
            put(writer, data, size);
            return;
        }
    }
    memcpy(writer->buffer + writer->used, data, size);
    writer->used += size;
}

void file_writef(struct file_writer *writer, const char *format, ...)
{
    va_list arguments;
    char *room = file_writer_reserve(writer, 4096);
    va_start(arguments, format);
    int wanted = vsnprintf(room, 4096, format, arguments);
    va_end(arguments);
    if (wanted >= 0 && wanted < 4096) {
        file_writer_commit(writer, (size_t)wanted);
        return;
    }
    CLEANUP(freep) char *text = NULL;
    va_start(arguments, format);
    wanted = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (wanted >= 0)
        file_write(writer, text, (size_t)wanted);
    else {
        text = NULL; /* undefined after a failure */
        if (!writer->failure)
            writer->failure = -ENOMEM;
    }
}

char *file_writer_reserve(struct file_writer *writer, size_t size)
{
    if (size > RESERVE_MAXIMUM)
        return NULL;
    if (size > BUFFER_BYTES - writer->used)
        flush(writer);
    return writer->buffer + writer->used;
}

void file_writer_commit(struct file_writer *writer, size_t size)
{
    writer->used += size;
}

uint64_t file_writer_position(const struct file_writer *writer)
{
    return writer->flushed + writer->used;
}

bool file_writer_failed(const struct file_writer *writer)
{
    return writer->failure != 0;
}

int file_writer_finish(struct file_writer *writer, struct error *err)
{
    flush(writer);
    int result = writer->failure;
    /* Network file systems report a full disk only here. */
    if (writer->owns_fd && close(TAKE_FD(writer->fd)) < 0 && !result && errno != EINTR)
        result = -errno;
    if (!result && writer->temporary && rename(writer->temporary, writer->final) < 0)
        result = -errno;
    if (!result) {
        free(writer->temporary);
        writer->temporary = NULL;
    } else {
        error_set_errno(err, result, "cannot write %s", writer->name);
    }
    file_writer_destroy(writer);
    return result;
}

void file_writer_destroy(struct file_writer *writer)
{
    if (!writer)
        return;
    if (writer->temporary)
        unlink(writer->temporary);
    writer_free(writer);
}
