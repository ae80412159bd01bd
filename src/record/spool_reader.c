/* SPDX-License-Identifier: MIT */
/* Reading a spool that may be cut off, damaged or made up: each length is checked against what is left, each block against its
 * checksums; after damage the next block's magic is looked for. */
#include "spool.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "pack.h"
#include "spool_format.h"
#include "spool_marks.h"
#include "trace/crc32c.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#if HP_HAVE_ZSTD
#include <zstd.h>
#endif

struct input_file {
    char name[32];
    bool keep;
    uint32_t number;
    int fd;
    struct file_map map;
    struct spool_mark *mark;  /* NULL: the whole file, mapped. Else a copy of what lies between: a file that grows may be cut, too */
};

struct spool_reader {
    struct input_file *files;
    size_t file_count, file_capacity;
    size_t file;              /* being read */
    size_t position;          /* in it */
    bool begun;               /* it has been checked that it is one of ours */
    uint8_t *packed, *raw;
    size_t packed_capacity, raw_capacity;
    bool skip_threads;
    struct spool_damage damage;
};

static int file_compare(const void *left, const void *right)
{
    const struct input_file *a = left, *b = right;
    if (a->keep != b->keep)
        return a->keep ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool name_parse(const char *name, struct input_file *file)
{
    memset(file, 0, sizeof *file);
    file->fd = -1;
    if (strncmp(name, "spool-", 6) != 0 || strlen(name) >= sizeof file->name)
        return false;
    strcpy(file->name, name);
    if (strcmp(name + 6, "keep") == 0)
        file->keep = true;
    return file->keep || spool_bulk_number(name, &file->number);
}

/* Nothing of a file that has gone meanwhile (--buffer-limit). */
static int piece_read(struct input_file *file)
{
    struct spool_mark *mark = file->mark;
    if (file->fd < 0)
        return errno == ENOENT ? 0 : -errno;
    uint8_t *data = malloc((size_t)(mark->end - mark->begin) + 1);
    int code = data ? pread_all(file->fd, data, (size_t)(mark->end - mark->begin), mark->begin) : -ENOMEM;
    closep(&file->fd);
    if (code) {
        free(data);
        return code == -ENODATA ? 0 : code; /* the writer took back what was not whole: it is read the next time */
    }
    file->map = (struct file_map){data, (size_t)(mark->end - mark->begin)};
    return 0;
}

static int file_open(struct input_file *file, int directory_fd, struct spool_marks *marks, struct error *err)
{
    file->mark = marks ? spool_marks_find(marks, file->keep, file->number) : NULL;
    if (marks && (!file->mark || file->mark->begin >= file->mark->end))
        return 0;
    file->fd = openat(directory_fd, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (marks) {
        int code = piece_read(file);
        return code ? error_set_errno(err, code, "%s: cannot be read", file->name) : 0;
    }
    return file->fd < 0 ? error_set_errno(err, -errno, "%s: cannot be opened", file->name)
                        : file_map_fd(file->fd, file->name, &file->map, err);
}

static int files_list(struct spool_reader *reader, int directory_fd, struct spool_marks *marks, struct error *err)
{
    int copy = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory) {
        int code = -errno;
        closep(&copy);
        return error_set_errno(err, code, "session directory: cannot be listed");
    }
    int code = 0;
    for (struct dirent *entry; code == 0 && (entry = readdir(directory));) {
        struct input_file file;
        if (!name_parse(entry->d_name, &file))
            continue;
        struct input_file *files = array_reserve(reader->files, &reader->file_capacity, reader->file_count + 1, sizeof file);
        if (!files) {
            code = error_set(err, -ENOMEM, "spool: out of memory");
            break;
        }
        reader->files = files;
        files[reader->file_count++] = file;
        code = file_open(&files[reader->file_count - 1], directory_fd, marks, err);
    }
    closedir(directory);
    if (reader->file_count)
        qsort(reader->files, reader->file_count, sizeof *reader->files, file_compare);
    return code;
}

int spool_reader_create(int directory_fd, struct spool_reader **ret_reader, struct error *err)
{
    return spool_reader_create_between(directory_fd, NULL, ret_reader, err);
}

int spool_reader_create_between(int directory_fd, struct spool_marks *marks, struct spool_reader **ret_reader, struct error *err)
{
    CLEANUP(spool_reader_destroyp) struct spool_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return error_set(err, -ENOMEM, "spool: out of memory");
    int code = files_list(reader, directory_fd, marks, err);
    if (code)
        return code;
    *ret_reader = TAKE_PTR(reader);
    return 0;
}

int spool_reader_create_memory(const uint8_t *data, size_t size, struct spool_reader **ret_reader)
{
    struct spool_reader *reader = calloc(1, sizeof *reader);
    struct input_file *file = calloc(1, sizeof *file);
    if (!reader || !file) {
        free(reader);
        free(file);
        return -ENOMEM;
    }
    strcpy(file->name, "memory");
    file->fd = -1;
    file->map = (struct file_map){data, size};
    reader->files = file;
    reader->file_count = 1;
    *ret_reader = reader;
    return 0;
}

void spool_reader_destroy(struct spool_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->file_count; i++) {
        if (reader->files[i].mark)
            free((void *)(uintptr_t)reader->files[i].map.data);
        else if (reader->files[i].fd >= 0)
            file_map_close(&reader->files[i].map);
        closep(&reader->files[i].fd);
    }
    free(reader->files);
    free(reader->packed);
    free(reader->raw);
    free(reader);
}

void spool_reader_skip_threads(struct spool_reader *reader, bool skip)
{
    reader->skip_threads = skip;
}

const struct spool_damage *spool_reader_damage(const struct spool_reader *reader)
{
    return &reader->damage;
}

static void damaged(struct spool_reader *reader, uint64_t bytes, bool block, const char *what)
{
    struct spool_damage *damage = &reader->damage;
    if (!damage->first[0])
        snprintf(damage->first, sizeof damage->first, "%s at offset %zu: %s", reader->files[reader->file].name,
                 reader->position, what);
    damage->bytes_skipped += bytes;
    damage->blocks_damaged += block;
}

static bool header_check(const uint8_t *bytes, size_t left, struct spool_block_header *header)
{
    if (left < sizeof *header)
        return false;
    memcpy(header, bytes, sizeof *header);
    return header->magic == SPOOL_BLOCK_MAGIC && header->header_bytes == sizeof *header &&
           header->header_crc == crc32c(0, header, offsetof(struct spool_block_header, header_crc)) &&
           header->stored_bytes <= left - sizeof *header && header->raw_bytes <= SPOOL_RAW_MAXIMUM &&
           header->raw_bytes % 8 == 0 && header->packed_bytes <= pack_bound(header->raw_bytes);
}

static uint8_t *room(uint8_t **buffer, size_t *capacity, size_t size)
{
    if (*capacity < size) {
        free(*buffer);
        *buffer = malloc(size);
        *capacity = *buffer ? size : 0;
    }
    return *buffer;
}

/* Of a file that grows the last block may be there in part: not damage, but not yet. */
static bool is_cut(const uint8_t *bytes, size_t left)
{
    struct spool_block_header header;
    if (left < sizeof header)
        return true;
    memcpy(&header, bytes, sizeof header);
    return header.magic == SPOOL_BLOCK_MAGIC && header.header_crc == crc32c(0, &header, offsetof(struct spool_block_header, header_crc)) &&
           wire_round_up(header.stored_bytes) > left - sizeof header;
}

/* Undoes zstd: points *payload at header->packed_bytes bytes. */
static int block_inflate(struct spool_reader *reader, const struct spool_block_header *header, const uint8_t **payload)
{
    if (!(header->encoding & SPOOL_ZSTD))
        return header->stored_bytes == header->packed_bytes ? 0 : -EBADMSG;
#if HP_HAVE_ZSTD
    unsigned long long told = ZSTD_getFrameContentSize(*payload, header->stored_bytes);
    if (told != header->packed_bytes)
        return -EBADMSG;
    uint8_t *out = room(&reader->packed, &reader->packed_capacity, (size_t)header->packed_bytes + 1);
    if (!out)
        return -ENOMEM;
    size_t size = ZSTD_decompress(out, header->packed_bytes, *payload, header->stored_bytes);
    if (ZSTD_isError(size) || size != header->packed_bytes)
        return -EBADMSG;
    *payload = out;
    return 0;
#else
    return -EOPNOTSUPP;
#endif
}

/* All bytes must be whole records: users walk them without looking back. */
static int records_check(const uint8_t *data, size_t size)
{
    for (const uint8_t *at = data, *end = data + size; at < end;) {
        const struct wire_header *record = wire_record_at(at, end);
        if (!record)
            return -EBADMSG;
        at += wire_bytes(record);
    }
    return 0;
}

static int block_decode(struct spool_reader *reader, const struct spool_block_header *header, const uint8_t *payload,
                        struct spool_block *ret_block)
{
    if (header->encoding & ~(uint32_t)(SPOOL_PACKED | SPOOL_ZSTD))
        return -EOPNOTSUPP;
    if (header->payload_crc != crc32c(0, payload, header->stored_bytes))
        return -EBADMSG;
    ret_block->data = NULL;
    ret_block->size = 0;
    if (reader->skip_threads && header->process_key)
        return 0;
    int code = block_inflate(reader, header, &payload);
    if (code)
        return code;
    uint8_t *out = room(&reader->raw, &reader->raw_capacity, (size_t)header->raw_bytes + 8);
    if (!out)
        return -ENOMEM;
    if (header->encoding & SPOOL_PACKED)
        code = unpack_records(payload, header->packed_bytes, out, header->raw_bytes);
    else if (header->packed_bytes == header->raw_bytes)
        memcpy(out, payload, header->raw_bytes);
    else
        code = -EBADMSG;
    if (code == 0)
        code = records_check(out, header->raw_bytes);
    if (code)
        return code;
    ret_block->data = out;
    ret_block->size = header->raw_bytes;
    return 0;
}

static void block_describe(const struct spool_reader *reader, const struct spool_block_header *header,
                           struct spool_block *ret_block)
{
    ret_block->sequence = header->sequence;
    ret_block->records = header->records;
    ret_block->flags = reader->files[reader->file].keep ? SPOOL_KEEP : 0;
    ret_block->stream = (struct spool_stream){
        .process_key = header->process_key,
        .pid = header->pid,
        .tid = header->tid,
        .thread_serial = header->thread_serial,
        .context = header->context,
        .chunk = header->chunk,
        .lap = header->lap,
        .first = header->first,
        .end = header->end,
    };
}

/* Moves to the next block's magic, 8 bytes at a time. A rest of zeros, or a block that the writer's death cut short, ends the file. */
static void resync(struct spool_reader *reader, const struct file_map *map)
{
    size_t from = reader->position, at = from + 8;
    struct spool_block_header header;
    for (; at + sizeof header <= map->size; at += 8)
        if (header_check(map->data + at, map->size - at, &header))
            break;
    if (at + sizeof header > map->size)
        at = map->size;
    damaged(reader, at - from, true, at == map->size ? "the rest is no block (cut short?)" : "not a block, or damaged");
    reader->position = at;
}

static bool file_begin(struct spool_reader *reader, const struct file_map *map)
{
    struct spool_file_header header;
    const char *problem = NULL;
    if (map->size < sizeof header) {
        problem = "too short";
    } else {
        memcpy(&header, map->data, sizeof header);
        if (header.magic != SPOOL_MAGIC)
            problem = "not a spool file";
        else if (header.byte_order != SPOOL_BYTE_ORDER)
            problem = "written on a machine of the other byte order";
        else if (header.major != SPOOL_MAJOR)
            problem = "written by a version with another format";
    }
    if (problem)
        damaged(reader, map->size, false, problem);
    reader->position = sizeof header;
    reader->begun = true;
    return !problem;
}

int spool_reader_next(struct spool_reader *reader, struct spool_block *ret_block, struct error *err)
{
    while (reader->file < reader->file_count) {
        struct spool_mark *mark = reader->files[reader->file].mark;
        const struct file_map *map = &reader->files[reader->file].map;
        bool usable = reader->begun || (mark && (mark->begin || !map->data)) || file_begin(reader, map);
        bool cut = usable && mark && map->data && is_cut(map->data + reader->position, map->size - reader->position);
        if (mark && (cut || !map->data))
            mark->end = mark->begin + reader->position;
        if (!usable || cut || reader->position >= map->size) {
            reader->file++;
            reader->position = 0;
            reader->begun = false;
            continue;
        }
        reader->begun = true;
        struct spool_block_header header;
        size_t left = map->size - reader->position;
        if (!header_check(map->data + reader->position, left, &header)) {
            resync(reader, map);
            continue;
        }
        int code = block_decode(reader, &header, map->data + reader->position + sizeof header, ret_block);
        if (code == -ENOMEM)
            return error_set(err, code, "spool: out of memory");
        if (code)
            damaged(reader, sizeof header + header.stored_bytes, true,
                    code == -EOPNOTSUPP ? "needs a feature that this build lacks" : "damaged block");
        block_describe(reader, &header, ret_block);
        size_t step = sizeof header + wire_round_up(header.stored_bytes);
        reader->position = step < left ? reader->position + step : map->size;
        if (code == 0)
            return 1;
    }
    return 0;
}
