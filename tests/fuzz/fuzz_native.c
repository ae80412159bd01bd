/* SPDX-License-Identifier: MIT */
/*
 * The native file under fuzzing: each input is opened as it is, and once more with its checksums made right, as a hostile
 * writer would; then everything in it is read, summed and drawn.
 */
#include "trace/crc32c.h"
#include "trace/file_format.h"
#include "trace/filter.h"
#include "trace/lod.h"

#include "base/error.h"
#include "base/file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)1 << 20)

static void visit_span(const struct trace *trace, const struct span_block *block, uint32_t row, struct filter_match *match)
{
    struct payload payload;
    uint32_t found_block, found_row;
    (void)span_payload(block, row, &payload);
    if (span_kind_name(block->kind ? (enum span_kind)block->kind[row] : SPAN_KIND_UNKNOWN) == NULL)
        abort();
    (void)strlen(trace_text(trace, block->name ? block->name[row] : STRING_NONE));
    if (block->parent && block->parent[row].index != ID_NONE)
        (void)trace_span_find(trace, block->parent[row], &found_block, &found_row);
    (void)filter_match_span(match, block, row);
    if (trace_span_end(trace, block->info.track, block->begin_ns[row], block->end_ns[row]) < block->begin_ns[row])
        abort();
}

static void visit_spans(const struct trace *trace, struct filter_match *match)
{
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        if (trace_spans_get(trace, i, &block, NULL) < 0)
            continue;
        for (uint32_t row = 0; row < block.info.count; row++)
            visit_span(trace, &block, row, match);
        trace_spans_put(trace, &block);
    }
}

static void visit_others(const struct trace *trace, struct filter_match *match)
{
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SAMPLES); i++) {
        struct sample_block block;
        if (trace_samples_get(trace, i, &block, NULL) < 0)
            continue;
        for (uint32_t row = 0; row < block.info.count; row++)
            (void)filter_match_sample(match, &block, row);
        trace_samples_put(trace, &block);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_INSTANTS); i++) {
        struct instant_block block;
        struct payload payload;
        if (trace_instants_get(trace, i, &block, NULL) < 0)
            continue;
        for (uint32_t row = 0; row < block.info.count; row++)
            (void)instant_payload(&block, row, &payload);
        trace_instants_put(trace, &block);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_COUNTERS); i++) {
        struct counter_block block;
        if (trace_counters_get(trace, i, &block, NULL) == 0)
            trace_counters_put(trace, &block);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        if (trace_links_get(trace, i, &block, NULL) == 0)
            trace_links_put(trace, &block);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_MEMBERS); i++) {
        struct member_block block;
        if (trace_members_get(trace, i, &block, NULL) == 0)
            trace_members_put(trace, &block);
    }
}

static void visit_sums(const struct trace *trace)
{
    const struct span_aggregate *spans;
    const struct sample_aggregate *samples;
    uint32_t count;
    (void)trace_span_aggregates(trace, &spans, &count, NULL);
    (void)trace_sample_aggregates(trace, &samples, &count, NULL);
    trace_tracks(trace, &count);
    for (uint32_t track = 0; track < count && track < 16; track++) {
        for (unsigned family = 0; family < FAMILY_LINKS; family++) {
            const struct lod *lod;
            if (trace_lod(trace, (enum family)family, (track_id){track}, &lod, NULL) == 0)
                (void)lod_level_for(lod, 1000000);
        }
    }
}

static void visit(const char *path)
{
    struct trace *trace, *next;
    struct error err = ERROR_INIT;
    if (trace_open_native(path, &trace, &err) < 0) {
        if (!err.code || !strstr(err.text, path))
            abort(); /* every refusal names the file */
        return;
    }
    struct trace_filter *filter;
    struct filter_match *match;
    if (trace_filter_compile("name=f*,path=*frame*", &filter, NULL) < 0 || filter_match_create(filter, trace, &match) < 0)
        abort();
    visit_spans(trace, match);
    visit_others(trace, match);
    visit_sums(trace);
    filter_match_destroy(match);
    trace_filter_destroy(filter);
    if (trace_refresh(trace, &next, NULL) == 0)
        trace_unref(next);
    trace_unref(trace);
}

static void repair_chunk(uint8_t *data, size_t size, size_t at)
{
    struct chunk_header header;
    memcpy(&header, data + at, sizeof(header));
    size_t left = size - at - sizeof(header);
    if (header.magic != CHUNK_MAGIC || header.size > left)
        return;
    if (header.type == CHUNK_CONTENTS) {
        struct contents_entry entry;
        for (size_t i = 0; (i + 1) * sizeof(entry) <= header.size; i++) {
            uint8_t *place = data + at + sizeof(header) + i * sizeof(entry);
            memcpy(&entry, place, sizeof(entry));
            if (entry.offset < size && size - entry.offset >= sizeof(header)) /* what the chunk says of its body by now */
                memcpy(&entry.header.body_checksum, data + entry.offset + offsetof(struct chunk_header, body_checksum), 4);
            entry.header.header_checksum = chunk_header_checksum(&entry.header);
            memcpy(place, &entry, sizeof(entry));
        }
    }
    header.body_checksum = crc32c(0, data + at + sizeof(header), header.size);
    header.header_checksum = chunk_header_checksum(&header);
    memcpy(data + at, &header, sizeof(header));
}

static void repair(uint8_t *data, size_t size)
{
    struct native_footer footer;
    if (size >= sizeof(struct native_header)) {
        uint32_t checksum = crc32c(0, data, offsetof(struct native_header, checksum));
        memcpy(data + offsetof(struct native_header, checksum), &checksum, 4);
    }
    for (size_t at = 0; at + sizeof(struct chunk_header) <= size; at += CHUNK_ALIGNMENT)
        repair_chunk(data, size, at);
    if (size < sizeof(footer))
        return;
    memcpy(&footer, data + size - sizeof(footer), sizeof(footer));
    footer.file_size = size;
    footer.checksum = 0;
    footer.checksum = crc32c(0, &footer, sizeof(footer));
    memcpy(data + size - sizeof(footer), &footer, sizeof(footer));
}

static void open_bytes(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz-native", MFD_CLOEXEC);
    if (fd < 0 || write_all(fd, data, size) < 0)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    visit(path);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    open_bytes(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    repair(copy, size);
    open_bytes(copy, size);
    free(copy);
    return 0;
}
