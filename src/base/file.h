/* SPDX-License-Identifier: MIT */
/* Files: whole reads, read-only maps, atomic replacement, buffered writing that reports a full disk. */
#ifndef HP_BASE_FILE_H
#define HP_BASE_FILE_H

#include "cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* Reads at most `maximum` bytes of a regular file (or /proc file); -EFBIG if it is longer. Caller frees *ret_data (NUL-terminated). */
int file_read(const char *path, size_t maximum, char **ret_data, size_t *ret_size, struct error *err);
int file_read_fd(int fd, const char *name, size_t maximum, char **ret_data, size_t *ret_size, struct error *err);

struct file_map {
    const uint8_t *data; /* NULL for an empty file */
    size_t size;
};

/* Maps a regular file read-only. Growing or shrinking while mapped is the caller's affair (a shrunk file means SIGBUS). */
int file_map_open(const char *path, struct file_map *ret_map, struct error *err);
int file_map_fd(int fd, const char *name, struct file_map *ret_map, struct error *err);
void file_map_close(struct file_map *map);

/* Buffered sequential writer; the first failure sticks and is returned by finish. */
struct file_writer;
/* Writes to a temporary name beside path; finish renames it over path, so that nobody sees a half-written file. "-" is stdout. */
int file_writer_create(const char *path, struct file_writer **ret_writer, struct error *err);
/* Writes to fd, which stays the caller's; nothing is renamed. */
int file_writer_create_fd(int fd, const char *name, struct file_writer **ret_writer, struct error *err);
void file_write(struct file_writer *writer, const void *data, size_t size);
void file_writef(struct file_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Direct access for fast formatters: at least `size` (<= 64 KiB) writable bytes; then tell how many were used. */
char *file_writer_reserve(struct file_writer *writer, size_t size);
void file_writer_commit(struct file_writer *writer, size_t size);
uint64_t file_writer_position(const struct file_writer *writer);
bool file_writer_failed(const struct file_writer *writer);
int file_writer_finish(struct file_writer *writer, struct error *err); /* flush, rename, free; always frees */
void file_writer_destroy(struct file_writer *writer);                  /* abandon: removes the temporary file */
DEFINE_CLEANUP(struct file_writer *, file_writer_destroy)

bool descriptor_limit_raise(void); /* the soft limit to the hard one; false when there is no more. A target gets the old one back. */
int write_all(int fd, const void *data, size_t size);                    /* retries short writes and EINTR; 0 or -errno */
int pread_all(int fd, void *data, size_t size, uint64_t offset);         /* -ENODATA at end of file */
int directory_remove(const char *path, struct error *err);               /* recursively, following no links */

#endif
