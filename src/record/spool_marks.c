/* SPDX-License-Identifier: MIT */
/*
 * Marks in a spool that still grows. What the bulk's records name (stacks, modules, processes) was put before them, but may be written
 * behind them: so the bulk is marked first, then all that waits is flushed, and spool-keep is marked last. Who reads at idle priority
 * must not hold the recorder's locks: he marks the bulk where it was the last time, and all that waited then has been written since.
 */
#include "spool_marks.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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

/* Files are numbered without gaps; with --buffer-limit the first of them go, so the search begins at the last that was there. */
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
    while (file_size(directory_fd, false, last + 1, &size)) {
        struct spool_mark *mark = mark_add(marks, false, ++last);
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
