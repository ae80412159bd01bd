/* SPDX-License-Identifier: MIT */
/*
 * Marks in a spool that still grows. What the bulk's records name (stacks, modules, processes) was put before them, but may be written
 * behind them: so the bulk is marked first, then all that waits is flushed, and spool-keep is marked last. Who reads at idle priority
 * must not hold the recorder's locks: he marks the bulk where it was the last time, and all that waited then has been written since.
 */
#include "spool_marks.h"

#include "base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (96u << 20) /* of one file at a time, more than the longest block: what is behind waits for the next */

struct spool_marks {
    struct spool_mark *items;
    size_t count, capacity;
};

int spool_marks_create(struct spool_marks **ret_marks)
{
    *ret_marks = calloc(1, sizeof **ret_marks);
    return *ret_marks ? 0 : -ENOMEM;
}

void spool_marks_destroy(struct spool_marks *marks)
{
    if (!marks)
        return;
    free(marks->items);
    free(marks);
}

struct spool_mark *spool_marks_find(struct spool_marks *marks, bool keep, uint32_t number)
{
    for (size_t i = marks->count; i-- > 0;)
        if (marks->items[i].keep == keep && (keep || marks->items[i].number == number))
            return &marks->items[i];
    return NULL;
}

static struct spool_mark *mark_add(struct spool_marks *marks, bool keep, uint32_t number)
{
    struct spool_mark *grown = array_reserve(marks->items, &marks->capacity, marks->count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    marks->items = grown;
    grown[marks->count] = (struct spool_mark){.keep = keep, .number = number};
    return &grown[marks->count++];
}

/* False: there is no such file. */
static bool file_size(int directory_fd, bool keep, uint32_t number, uint64_t *ret_size)
{
    char name[32] = "spool-keep";
    struct stat info;
    if (!keep)
        snprintf(name, sizeof name, "spool-%08u", number);
    if (fstatat(directory_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
        return false;
    *ret_size = (uint64_t)info.st_size;
    return true;
}

static void mark_end(struct spool_mark *mark, uint64_t size, bool late)
{
    uint64_t most = mark->begin + PIECE_BYTES, now = size;
    size = late ? mark->seen : size;
    mark->seen = now;
    mark->end = size < most ? size : most;
    if (mark->end < mark->begin)
        mark->end = mark->begin;
}

bool spool_bulk_number(const char *name, uint32_t *ret_number)
{
    if (strncmp(name, "spool-", 6) != 0 || strlen(name + 6) != 8 || strspn(name + 6, "0123456789") != 8)
        return false;
    *ret_number = (uint32_t)strtoul(name + 6, NULL, 10);
    return true;
}

/* The first file of the bulk behind number `last`; 0: there is none. */
static uint32_t first_behind(int directory_fd, uint32_t last)
{
    int copy = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    uint32_t first = 0, number;
    if (!directory) {
        closep(&copy);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(directory));)
        if (spool_bulk_number(entry->d_name, &number) && number > last && (!first || number < first))
            first = number;
    closedir(directory);
    return first;
}

/* Files are numbered without gaps. With --buffer-limit the first of them go, and of a fast program the next one may have gone before we came
 * to look at it: then so has the last one. */
static bool find_next(int directory_fd, uint32_t *last, uint64_t *ret_size)
{
    uint32_t next = *last + 1;
    uint64_t size_of_last;
    if (!file_size(directory_fd, false, next, ret_size)) {
        if (file_size(directory_fd, false, *last, &size_of_last))
            return false;
        next = first_behind(directory_fd, *last);
        if (!next || !file_size(directory_fd, false, next, ret_size))
            return false;
    }
    *last = next;
    return true;
}

static int mark_bulk(struct spool_marks *marks, int directory_fd, bool late)
{
    uint32_t last = 0;
    uint64_t size;
    for (size_t i = 0; i < marks->count; i++) {
        struct spool_mark *mark = &marks->items[i];
        if (mark->keep)
            continue;
        last = mark->number > last ? mark->number : last;
        if (file_size(directory_fd, false, mark->number, &size))
            mark_end(mark, size, late);
        else
            mark->end = mark->begin;
    }
    while (find_next(directory_fd, &last, &size)) {
        struct spool_mark *mark = mark_add(marks, false, last);
        if (!mark)
            return -ENOMEM;
        mark_end(mark, size, late);
    }
    return 0;
}

int spool_marks_take(struct spool_marks *marks, int directory_fd, struct spool *spool)
{
    uint64_t size;
    int code = mark_bulk(marks, directory_fd, !spool);
    if (code)
        return code;
    if (spool)
        spool_flush(spool, true); /* what can't be written comes the next time */
    struct spool_mark *keep = spool_marks_find(marks, true, 0);
    if (!keep)
        keep = mark_add(marks, true, 0);
    if (!keep)
        return -ENOMEM;
    if (file_size(directory_fd, true, 0, &size))
        mark_end(keep, size, false);
    return 0;
}

/* A limit makes files by the thousand: those before the newest few are behind us. */
static void forget_old(struct spool_marks *marks)
{
    size_t kept = 0;
    for (size_t i = 0; i < marks->count; i++)
        if (marks->items[i].keep || i + 4 >= marks->count)
            marks->items[kept++] = marks->items[i];
    marks->count = kept;
}

void spool_marks_pass(struct spool_marks *marks)
{
    bool whole = true;
    for (size_t i = 0; i < marks->count; i++) {
        whole &= marks->items[i].end - marks->items[i].begin < PIECE_BYTES / 2;
        marks->items[i].begin = marks->items[i].end;
    }
    if (whole && marks->count > 16)
        forget_old(marks);
}

bool spool_marks_empty(const struct spool_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++)
        if (marks->items[i].end > marks->items[i].begin)
            return false;
    return true;
}
