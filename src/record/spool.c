/* SPDX-License-Identifier: MIT */
/*
 * Writing the spool. A block is packed outside the lock, then numbered and written by one write; a write that didn't take
 * everything is cut off again, so that nothing half stands before what comes later.
 */
#include "spool.h"

#include "base/clock.h"
#include "base/error.h"
#include "pack.h"
#include "spool_format.h"
#include "trace/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#if HP_HAVE_ZSTD
#include <zstd.h>
#endif

#define GATHER_BYTES (64u << 10)
#define GATHER_NS 150000000
#define FILES_PER_LIMIT 16 /* --buffer-limit is kept by dropping files of this part of it */

struct scratch { /* one block in the making */
    uint8_t *bytes, *other;
    size_t capacity, other_capacity;
    struct scratch *next;
#if HP_HAVE_ZSTD
    ZSTD_CCtx *zstd;
#endif
};

struct segment { /* one file */
    int fd;
    uint32_t number;
    uint64_t bytes, blocks, records;
};

struct gather { /* small records on their way */
    uint8_t *data;
    size_t size;
    int64_t oldest_ns;
};

struct spool {
    pthread_mutex_t lock;         /* segments, sequence, statistics, scratch list */
    pthread_mutex_t gather_lock;  /* taken before lock */
    int directory_fd;
    uint64_t limit_bytes, file_bytes;
    uint64_t sequence;
    struct segment keep, bulk;    /* the files being written */
    struct segment *old;          /* finished bulk files, oldest first: only with a limit */
    size_t old_count, old_capacity;
    struct scratch *scratches;
    struct gather gathers[2];     /* [0] bulk, [1] keep */
    struct spool_statistics statistics;
};

static void segment_name(const struct segment *segment, bool keep, char *name, size_t size)
{
    if (keep)
        snprintf(name, size, "spool-keep");
    else
        snprintf(name, size, "spool-%08u", segment->number);
}

static int segment_open(struct spool *spool, struct segment *segment, bool keep, uint32_t number)
{
    *segment = (struct segment){.fd = -1, .number = number};
    char name[32];
    segment_name(segment, keep, name, sizeof name);
    segment->fd = openat(spool->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (segment->fd < 0)
        return -errno;
    struct spool_file_header header = {.magic = SPOOL_MAGIC, .major = SPOOL_MAJOR, .minor = SPOOL_MINOR,
                                       .byte_order = SPOOL_BYTE_ORDER, .keep = keep, .number = number};
    ssize_t written = write(segment->fd, &header, sizeof header);
    if (written != (ssize_t)sizeof header) {
        int code = written < 0 ? -errno : -ENOSPC;
        close(segment->fd);
        segment->fd = -1;
        unlinkat(spool->directory_fd, name, 0);
        return code;
    }
    segment->bytes = sizeof header;
    return 0;
}

int spool_create(int directory_fd, const struct spool_options *options, struct spool **ret_spool, struct error *err)
{
    CLEANUP(spool_destroyp) struct spool *spool = calloc(1, sizeof *spool);
    if (!spool)
        return error_set(err, -ENOMEM, "spool: out of memory");
    pthread_mutex_init(&spool->lock, NULL);
    pthread_mutex_init(&spool->gather_lock, NULL);
    spool->directory_fd = directory_fd;
    spool->limit_bytes = options ? options->limit_bytes : 0;
    spool->file_bytes = spool->limit_bytes / FILES_PER_LIMIT;
    spool->keep.fd = spool->bulk.fd = -1;
    int code = segment_open(spool, &spool->keep, true, 1);
    if (code == 0)
        code = segment_open(spool, &spool->bulk, false, 1);
    if (code)
        return error_set_errno(err, code, "spool: cannot make its files in the session directory");
    for (int i = 0; i < 2; i++) {
        spool->gathers[i].data = malloc(GATHER_BYTES);
        if (!spool->gathers[i].data)
            return error_set(err, -ENOMEM, "spool: out of memory");
    }
    *ret_spool = TAKE_PTR(spool);
    return 0;
}

static void scratch_free(struct scratch *scratch)
{
    free(scratch->bytes);
    free(scratch->other);
#if HP_HAVE_ZSTD
    ZSTD_freeCCtx(scratch->zstd);
#endif
    free(scratch);
}

void spool_destroy(struct spool *spool)
{
    if (!spool)
        return;
    if (spool->bulk.fd >= 0 && spool->gathers[1].data)
        spool_flush(spool, true);
    closep(&spool->keep.fd);
    closep(&spool->bulk.fd);
    for (struct scratch *scratch = spool->scratches, *next; scratch; scratch = next) {
        next = scratch->next;
        scratch_free(scratch);
    }
    free(spool->gathers[0].data);
    free(spool->gathers[1].data);
    free(spool->old);
    pthread_mutex_destroy(&spool->lock);
    pthread_mutex_destroy(&spool->gather_lock);
    free(spool);
}

static struct scratch *scratch_take(struct spool *spool, size_t bytes)
{
    pthread_mutex_lock(&spool->lock);
    struct scratch *scratch = spool->scratches;
    if (scratch)
        spool->scratches = scratch->next;
    pthread_mutex_unlock(&spool->lock);
    if (!scratch && !(scratch = calloc(1, sizeof *scratch)))
        return NULL;
    size_t wanted = sizeof(struct spool_block_header) + pack_bound(bytes);
    if (scratch->capacity < wanted) {
        free(scratch->bytes);
        scratch->bytes = malloc(wanted);
        scratch->capacity = scratch->bytes ? wanted : 0;
        if (!scratch->bytes) {
            scratch_free(scratch);
            return NULL;
        }
    }
    return scratch;
}

static void scratch_give(struct spool *spool, struct scratch *scratch)
{
    pthread_mutex_lock(&spool->lock);
    scratch->next = spool->scratches;
    spool->scratches = scratch;
    pthread_mutex_unlock(&spool->lock);
}

/* Squeezes the payload further, in place, if that makes it smaller. */
static void scratch_compress(struct scratch *scratch, struct spool_block_header *header)
{
#if HP_HAVE_ZSTD
    size_t bound = ZSTD_compressBound(header->packed_bytes) + sizeof *header;
    if (!scratch->zstd)
        scratch->zstd = ZSTD_createCCtx();
    if (scratch->other_capacity < bound) {
        free(scratch->other);
        scratch->other = malloc(bound);
        scratch->other_capacity = scratch->other ? bound : 0;
    }
    if (!scratch->zstd || !scratch->other)
        return;
    size_t size = ZSTD_compressCCtx(scratch->zstd, scratch->other + sizeof *header, bound - sizeof *header,
                                    scratch->bytes + sizeof *header, header->packed_bytes, 1);
    if (ZSTD_isError(size) || size + 16 > header->packed_bytes)
        return;
    uint8_t *bytes = scratch->bytes;
    size_t capacity = scratch->capacity;
    scratch->bytes = scratch->other;
    scratch->capacity = scratch->other_capacity;
    scratch->other = bytes;
    scratch->other_capacity = capacity;
    header->stored_bytes = (uint32_t)size;
    header->encoding |= SPOOL_ZSTD;
#endif
}

static int scratch_fill(struct scratch *scratch, const void *records, size_t bytes, unsigned flags,
                        struct spool_block_header *header)
{
    uint8_t *payload = scratch->bytes + sizeof *header;
    size_t packed = pack_records(records, bytes, payload, &header->records);
    if (!packed)
        return -EINVAL;
    header->encoding = SPOOL_PACKED;
    if (packed >= bytes) {
        memcpy(payload, records, bytes);
        packed = bytes;
        header->encoding = 0;
    }
    header->raw_bytes = (uint32_t)bytes;
    header->packed_bytes = header->stored_bytes = (uint32_t)packed;
    if ((flags & SPOOL_DENSE) && packed > 512)
        scratch_compress(scratch, header);
    header->payload_crc = crc32c(0, scratch->bytes + sizeof *header, header->stored_bytes);
    memset(scratch->bytes + sizeof *header + header->stored_bytes, 0, 8); /* the padding: pack_bound leaves room */
    return 0;
}

static int segment_write(struct segment *segment, const uint8_t *bytes, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && segment->bytes + size > limit.rlim_cur)
        return -EFBIG; /* the write would bring SIGXFSZ */
    ssize_t written;
    do
        written = write(segment->fd, bytes, size);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)size) {
        segment->bytes += size;
        return 0;
    }
    int code = written < 0 ? -errno : -ENOSPC;
    if (written > 0 && (ftruncate(segment->fd, (off_t)segment->bytes) < 0 ||
                        lseek(segment->fd, (off_t)segment->bytes, SEEK_SET) < 0))
        code = -EIO;
    return code;
}

static void segment_drop(struct spool *spool, const struct segment *segment)
{
    char name[32];
    segment_name(segment, false, name, sizeof name);
    unlinkat(spool->directory_fd, name, 0);
    spool->statistics.recycled_blocks += segment->blocks;
    spool->statistics.recycled_records += segment->records;
    spool->statistics.recycled_bytes += segment->bytes;
}

/* With a limit: begins a new file when this one is big enough, and drops the oldest. */
static int bulk_roll(struct spool *spool)
{
    if (!spool->limit_bytes || spool->bulk.bytes < spool->file_bytes)
        return 0;
    struct segment *old = spool->old;
    if (spool->old_count == spool->old_capacity) {
        size_t capacity = spool->old_capacity ? spool->old_capacity * 2 : 32;
        old = realloc(spool->old, capacity * sizeof *old);
        if (!old)
            return -ENOMEM;
        spool->old = old;
        spool->old_capacity = capacity;
    }
    struct segment next;
    int code = segment_open(spool, &next, false, spool->bulk.number + 1);
    if (code)
        return code;
    closep(&spool->bulk.fd);
    old[spool->old_count++] = spool->bulk;
    spool->bulk = next;
    uint64_t total = 0;
    for (size_t i = 0; i < spool->old_count; i++)
        total += old[i].bytes;
    size_t gone = 0;
    for (; gone < spool->old_count && total + spool->file_bytes > spool->limit_bytes; gone++) {
        total -= old[gone].bytes;
        segment_drop(spool, &old[gone]);
    }
    spool->old_count -= gone;
    memmove(old, old + gone, spool->old_count * sizeof *old);
    return 0;
}

static int block_write(struct spool *spool, struct scratch *scratch, struct spool_block_header *header, bool keep)
{
    size_t size = sizeof *header + wire_round_up(header->stored_bytes);
    pthread_mutex_lock(&spool->lock);
    int code = keep ? 0 : bulk_roll(spool);
    struct segment *segment = keep ? &spool->keep : &spool->bulk;
    if (code == 0) {
        header->sequence = spool->sequence;
        header->header_crc = crc32c(0, header, offsetof(struct spool_block_header, header_crc));
        memcpy(scratch->bytes, header, sizeof *header);
        code = segment_write(segment, scratch->bytes, size);
    }
    if (code == 0) {
        spool->sequence++;
        segment->blocks++;
        segment->records += header->records;
        spool->statistics.blocks++;
        spool->statistics.records += header->records;
        spool->statistics.raw_bytes += header->raw_bytes;
        spool->statistics.stored_bytes += size;
    } else {
        spool->statistics.failed_appends++;
        spool->statistics.failed_records += header->records;
        spool->statistics.last_error = code;
    }
    pthread_mutex_unlock(&spool->lock);
    return code;
}

int spool_append(struct spool *spool, const struct spool_stream *stream, unsigned flags, const void *records, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (bytes % 8 || bytes > SPOOL_RAW_MAXIMUM)
        return -EINVAL;
    struct scratch *scratch = scratch_take(spool, bytes);
    if (!scratch)
        return -ENOMEM;
    struct spool_block_header header = {
        .magic = SPOOL_BLOCK_MAGIC,
        .header_bytes = sizeof header,
        .process_key = stream->process_key,
        .pid = stream->pid,
        .tid = stream->tid,
        .thread_serial = stream->thread_serial,
        .context = stream->context,
        .chunk = stream->chunk,
        .lap = stream->lap,
        .first = stream->first,
        .end = stream->end,
    };
    int code = scratch_fill(scratch, records, bytes, flags, &header);
    if (code == 0)
        code = block_write(spool, scratch, &header, flags & SPOOL_KEEP);
    scratch_give(spool, scratch);
    return code;
}

static int gather_flush(struct spool *spool, unsigned keep)
{
    struct gather *gather = &spool->gathers[keep];
    if (!gather->size)
        return 0;
    struct spool_stream own = {0};
    int code = spool_append(spool, &own, (keep ? SPOOL_KEEP : 0) | SPOOL_DENSE, gather->data, gather->size);
    if (code == -ENOSPC || code == -EDQUOT || code == -EFBIG || code == -ENOMEM)
        return code; /* kept for the next try, until it is full */
    gather->size = 0;
    return code;
}

int spool_put(struct spool *spool, unsigned flags, const struct wire_header *record)
{
    unsigned keep = flags & SPOOL_KEEP ? 1 : 0;
    struct gather *gather = &spool->gathers[keep];
    size_t bytes = wire_bytes(record);
    pthread_mutex_lock(&spool->gather_lock);
    int code = 0;
    if (gather->size + bytes > GATHER_BYTES)
        code = gather_flush(spool, keep);
    if (bytes > GATHER_BYTES) {
        struct spool_stream own = {0};
        code = spool_append(spool, &own, flags | SPOOL_DENSE, record, bytes);
    } else if (gather->size + bytes > GATHER_BYTES) {
        pthread_mutex_lock(&spool->lock);
        spool->statistics.failed_records++;
        pthread_mutex_unlock(&spool->lock);
    } else {
        if (!gather->size)
            gather->oldest_ns = clock_monotonic_ns();
        memcpy(gather->data + gather->size, record, bytes);
        gather->size += bytes;
    }
    pthread_mutex_unlock(&spool->gather_lock);
    return code;
}

int spool_flush(struct spool *spool, bool now)
{
    int code = 0;
    pthread_mutex_lock(&spool->gather_lock);
    for (unsigned keep = 0; keep < 2; keep++) {
        const struct gather *gather = &spool->gathers[keep];
        if (gather->size && (now || clock_monotonic_ns() - gather->oldest_ns >= GATHER_NS)) {
            int result = gather_flush(spool, keep);
            code = code ? code : result;
        }
    }
    pthread_mutex_unlock(&spool->gather_lock);
    return code;
}

void spool_statistics(struct spool *spool, struct spool_statistics *ret_statistics)
{
    pthread_mutex_lock(&spool->lock);
    *ret_statistics = spool->statistics;
    pthread_mutex_unlock(&spool->lock);
}
