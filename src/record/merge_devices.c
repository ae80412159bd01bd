/* SPDX-License-Identifier: MIT */
/*
 * Devices, their queues, and what ran on them. A span of a device needs to know what may be recorded later: the call that
 * launched it, its queue's name, the device's clock. So these spans wait in a file until all else has been read.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "device_clock.h"
#include "merge_internal.h"
#include "merge_places.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS_BEFORE_THINNING = 1 << 16, LOOKS_FOR_CALL = 4, KEPT_BYTES = 32 << 20 };
#define TIME_LIMIT_NS (INT64_C(1) << 60)

struct lane {
    track_id track;
    uint64_t queue;
    bool described; /* its own record came */
};

struct clock { /* of a device, as one process knows it */
    uint32_t number;
    int32_t pid;
    uint64_t origin; /* device time 0 of the points */
    struct clock_point *points;
    size_t count, capacity, thin_at;
    uint64_t given;
    bool fitted;
    struct device_clock line;
};

struct devices {
    struct map lanes;   /* hash of (process, layer, queue) -> place in lane_rows */
    struct lane *lane_rows;
    size_t lane_count, lane_capacity;
    struct map tracks;  /* hash of (process, layer, device) -> track */
    struct map clocks;  /* hash of (process, number) -> place in clock_rows */
    struct clock *clock_rows;
    size_t clock_count, clock_capacity;
    FILE *waiting;      /* struct waiting and the record, each */
    uint64_t no_clock, no_launch, objects;
};

struct waiting {
    struct merge_process *process;
    uint32_t bytes;
    uint32_t looks; /* for the call that launched it */
};

static void devices_destroy(void *state)
{
    struct devices *devices = state;
    if (!devices)
        return;
    for (size_t i = 0; i < devices->clock_count; i++) {
        free(devices->clock_rows[i].points);
        device_clock_finish(&devices->clock_rows[i].line);
    }
    if (devices->waiting)
        fclose(devices->waiting);
    map_finish(&devices->lanes);
    map_finish(&devices->tracks);
    map_finish(&devices->clocks);
    free(devices->lane_rows);
    free(devices->clock_rows);
    free(devices);
}

static int devices_create(struct merge *merge, void **ret_state, struct error *err)
{
    (void)merge;
    *ret_state = calloc(1, sizeof(struct devices));
    return *ret_state ? 0 : error_set(err, -ENOMEM, "merge: out of memory");
}

static struct devices *devices_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_devices);
}

static int add_track(struct merge *merge, const struct merge_process *process, enum track_kind kind, int32_t device, track_id *ret_track)
{
    const struct trace_track track = {
        .kind = kind,
        .name = STRING_NONE,
        .process = process->process,
        .tid = -1,
        .device = device,
        .stream = -1,
        .unit = STRING_NONE,
        .start_ns = INT64_MIN,
        .end_ns = INT64_MIN,
    };
    return trace_builder_add_track(merge->builder, &track, ret_track);
}

static uint64_t place_key(const struct merge_process *process, uint8_t layer, uint64_t number)
{
    return hash_u64(process->key ^ hash_u64(number)) + layer;
}

int merge_device_track(struct merge *merge, const struct merge_process *process, uint8_t layer, int32_t device, track_id *ret_track)
{
    struct devices *devices = devices_of(merge);
    uint64_t key = place_key(process, layer, (uint32_t)device), index;
    if (map_get(&devices->tracks, key, &index)) {
        ret_track->index = (uint32_t)index;
        return 0;
    }
    int code = add_track(merge, process, TRACK_KIND_DEVICE, device, ret_track);
    return code ? code : map_set(&devices->tracks, key, ret_track->index);
}

static int on_device(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_device *record = (const struct wire_device *)(const void *)header;
    track_id track;
    if (!stream->process)
        return 0;
    int code = merge_device_track(merge, stream->process, record->layer, record->device, &track);
    if (code == 0 && header->value)
        trace_builder_track(merge->builder, track)->name = merge_string(merge, stream, header->value);
    return code;
}

/* The lane of a queue, made at first mention. */
static int lane_get(struct merge *merge, struct merge_process *process, uint8_t layer, uint64_t queue, int32_t device,
                    struct lane **ret_lane)
{
    struct devices *devices = devices_of(merge);
    uint64_t key = place_key(process, layer, queue), index;
    if (!map_get(&devices->lanes, key, &index)) {
        struct lane *grown = array_reserve(devices->lane_rows, &devices->lane_capacity, devices->lane_count + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        devices->lane_rows = grown;
        index = devices->lane_count;
        grown[index] = (struct lane){.queue = queue};
        int code = add_track(merge, process, TRACK_KIND_STREAM, device, &grown[index].track);
        if (code == 0)
            code = map_set(&devices->lanes, key, index);
        if (code)
            return code;
        devices->lane_count++;
    }
    *ret_lane = &devices->lane_rows[index];
    return 0;
}

static int on_queue(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_queue *record = (const struct wire_queue *)(const void *)header;
    struct lane *lane;
    if (!stream->process)
        return 0;
    int code = lane_get(merge, stream->process, record->layer, record->queue, record->device, &lane);
    if (code)
        return code;
    struct trace_track *track = trace_builder_track(merge->builder, lane->track);
    if (record->device >= 0)
        track->device = record->device;
    if (record->stream >= 0)
        track->stream = record->stream;
    if (header->value)
        track->name = merge_string(merge, stream, header->value);
    lane->described = true;
    return 0;
}

static uint64_t clock_key(const struct merge_process *process, uint32_t number)
{
    return hash_u64(process->key ^ hash_u64(number));
}

static struct clock *clock_find(struct devices *devices, const struct merge_process *process, uint32_t number)
{
    uint64_t index;
    return map_get(&devices->clocks, clock_key(process, number), &index) ? &devices->clock_rows[index] : NULL;
}

static struct clock *clock_make(struct devices *devices, const struct merge_process *process, const struct wire_device_clock *record)
{
    struct clock *grown = array_reserve(devices->clock_rows, &devices->clock_capacity, devices->clock_count + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    devices->clock_rows = grown;
    struct clock *clock = &grown[devices->clock_count];
    *clock = (struct clock){.number = record->header.value, .pid = process->pid, .origin = record->device_time,
                            .thin_at = POINTS_BEFORE_THINNING};
    return map_set(&devices->clocks, clock_key(process, clock->number), devices->clock_count++) < 0 ? NULL : clock;
}

static bool within_limits(int64_t time_ns)
{
    return time_ns > -TIME_LIMIT_NS && time_ns < TIME_LIMIT_NS;
}

static int on_device_clock(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct devices *devices = devices_of(merge);
    const struct wire_device_clock *record = (const struct wire_device_clock *)(const void *)header;
    if (!stream->process)
        return 0;
    struct clock *clock = clock_find(devices, stream->process, header->value);
    if (!clock && !(clock = clock_make(devices, stream->process, record)))
        return -ENOMEM;
    const struct clock_point point = {
        .host_ns = merge_time(merge, stream, record->time),
        .device_ns = (int64_t)(record->device_time - clock->origin),
        .spread_ns = record->order ? 0 : merge_duration(merge, stream, record->spread),
        .order = record->order,
    };
    if (!within_limits(point.host_ns) || !within_limits(point.device_ns) || point.spread_ns > TIME_LIMIT_NS)
        return -EINVAL;
    struct clock_point *grown = array_reserve(clock->points, &clock->capacity, clock->count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    clock->points = grown;
    grown[clock->count++] = point;
    clock->given++;
    if (clock->count < clock->thin_at)
        return 0;
    int code = device_clock_thin(clock->points, &clock->count);
    clock->thin_at = 2 * clock->count > POINTS_BEFORE_THINNING ? 2 * clock->count : POINTS_BEFORE_THINNING;
    return code;
}

static int waiting_open(struct merge *merge, struct devices *devices)
{
    char copy[4096];
    snprintf(copy, sizeof(copy), "%s", merge->directory);
    int fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    devices->waiting = fd < 0 ? tmpfile() : fdopen(fd, "w+");
    if (devices->waiting)
        return 0;
    int code = -errno;
    closep(&fd);
    return code;
}

static int on_device_span(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct devices *devices = devices_of(merge);
    if (!stream->process)
        return 0;
    int code = devices->waiting ? 0 : waiting_open(merge, devices);
    const struct waiting waiting = {stream->process, wire_bytes(header), 0};
    if (code == 0 && (fwrite(&waiting, sizeof(waiting), 1, devices->waiting) != 1 ||
                      fwrite(header, waiting.bytes, 1, devices->waiting) != 1))
        code = errno ? -errno : -EIO;
    return code;
}

/* Code objects are files of the session, which `run` and `recover` bring to a folder beside the trace. */
static int on_object(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct devices *devices = devices_of(merge);
    devices->objects += stream->process != NULL;
    return 0;
}

/* A device's time on the trace's axis; false: nothing is known of its clock. */
static bool device_time(struct clock *clock, uint64_t time, int64_t *ret_ns)
{
    int64_t device_ns = (int64_t)(time - clock->origin);
    if (!clock->fitted || !within_limits(device_ns))
        return false;
    *ret_ns = device_clock_at(&clock->line, device_ns);
    return true;
}

static bool span_times(struct merge *merge, const struct merge_stream *stream, const struct wire_device_span *record, struct span *span)
{
    struct devices *devices = devices_of(merge);
    if (record->clock == 0) {
        span->begin_ns = merge_time(merge, stream, record->span.begin);
        span->end_ns = merge_time(merge, stream, record->span.end);
        return true;
    }
    struct clock *clock = clock_find(devices, stream->process, record->clock);
    if (clock && device_time(clock, record->span.begin, &span->begin_ns) && device_time(clock, record->span.end, &span->end_ns))
        return true;
    devices->no_clock++;
    return false;
}

static int add_launch(struct merge *merge, const struct merge_span *span, span_id device)
{
    if (span_id_is(span->span->parent, SPAN_NONE))
        return 0;
    const struct trace_link link = {
        .kind = LINK_KIND_LAUNCH, .confidence = CONFIDENCE_CERTAIN, .from = span->span->parent, .to = device};
    return trace_builder_add_link(merge->builder, &link);
}

static int place_span(struct merge *merge, struct merge_process *process, const struct wire_device_span *record)
{
    struct devices *devices = devices_of(merge);
    const struct wire_span *fixed = &record->span;
    uint8_t layer = fixed->layer % WIRE_LAYER_COUNT;
    struct lane *lane;
    int code = lane_get(merge, process, layer, record->queue, record->device, &lane);
    if (code)
        return code;
    const struct merge_stream stream = {
        .id = {.process_key = process->key, .pid = process->map->pid}, .process = process, .track = lane->track};
    struct span span = {
        .track = lane->track,
        .name = merge_string(merge, &stream, fixed->header.value),
        .category = merge_category(merge, &stream, fixed->category, layer),
        .kind = fixed->span_kind < SPAN_KIND_COUNT ? fixed->span_kind : SPAN_KIND_UNKNOWN,
        .parent = merge_span_find(merge, process, layer, record->launch),
        .correlation = fixed->correlation,
    };
    if (!span_times(merge, &stream, record, &span))
        return 0;
    devices->no_launch += record->launch && span_id_is(span.parent, SPAN_NONE);
    struct payload payload;
    merge_payload(merge, &stream, &fixed->header, fixed->payload_kind, fixed->present, record->clock != 0, &payload);
    struct merge_span merge_span = {.stream = &stream, .layer = layer, .span = &span, .payload = &payload};
    span_id handle;
    code = merge_call_stack(merge, &stream, fixed->stack, &span.stack);
    if (code == 0)
        code = merge_add_span(merge, &merge_span, &handle);
    return code ? code : add_launch(merge, &merge_span, handle);
}

/* Of a recording that goes on a call may be read later than what it launched: each thread's records come when its chunk is full. */
static bool may_come(struct merge *merge, const struct waiting *waiting, const struct wire_device_span *record)
{
    uint8_t layer = record->span.layer % WIRE_LAYER_COUNT;
    return merge_is_following(merge) && record->launch && waiting->looks < LOOKS_FOR_CALL &&
           span_id_is(merge_span_find(merge, waiting->process, layer, record->launch), SPAN_NONE);
}

static int keep_waiting(struct waiting *waiting, const uint8_t *record, struct text *kept)
{
    waiting->looks++;
    text_add(kept, (const char *)waiting, sizeof(*waiting));
    text_add(kept, (const char *)record, waiting->bytes);
    return kept->failed ? -ENOMEM : 0;
}

/* Places what waits; what must wait on is added to `kept`. */
static int place_records(struct merge *merge, FILE *file, struct text *kept)
{
    CLEANUP(freep) uint8_t *record = malloc((size_t)WIRE_WORDS_MAX * 8);
    struct waiting waiting;
    if (!record)
        return -ENOMEM;
    while (fread(&waiting, sizeof(waiting), 1, file) == 1) {
        if (fread(record, waiting.bytes, 1, file) != 1)
            return -EIO;
        const struct wire_device_span *span = (const struct wire_device_span *)(const void *)record;
        bool waits = kept->length < KEPT_BYTES && may_come(merge, &waiting, span);
        int code = waits ? keep_waiting(&waiting, record, kept) : place_span(merge, waiting.process, span);
        if (code == -EINVAL)
            merge->refused_records++;
        else if (code)
            return code;
    }
    return ferror(file) ? -EIO : 0;
}

static int place_waiting(struct merge *merge, struct devices *devices)
{
    struct text kept = TEXT_INIT;
    if (fflush(devices->waiting) != 0 || fseek(devices->waiting, 0, SEEK_SET) != 0)
        return -errno;
    int code = place_records(merge, devices->waiting, &kept);
    rewind(devices->waiting);
    if (code == 0 && ftruncate(fileno(devices->waiting), 0) < 0)
        code = -errno;
    if (code == 0 && kept.length && fwrite(kept.data, kept.length, 1, devices->waiting) != 1)
        code = -EIO;
    text_finish(&kept);
    return code;
}

static void put_clock(struct merge *merge, size_t number, const char *what, int decimals, double value)
{
    char key[64], text[64];
    snprintf(key, sizeof(key), "clock.device.%zu.%s", number, what);
    snprintf(text, sizeof(text), "%.*f", decimals, value);
    trace_builder_set_metadata(merge->builder, key, text);
}

static int fit_clocks(struct merge *merge, struct devices *devices)
{
    for (size_t i = 0; i < devices->clock_count; i++) {
        struct clock *clock = &devices->clock_rows[i];
        if (clock->fitted)
            device_clock_finish(&clock->line);
        clock->fitted = false;
        int code = device_clock_fit(clock->points, clock->count, &clock->line);
        if (code == -ENODATA)
            continue;
        if (code)
            return code;
        clock->fitted = true;
        put_clock(merge, i, "pid", 0, clock->pid);
        put_clock(merge, i, "readings", 0, (double)clock->given);
        put_clock(merge, i, "drift_ppm", 3, clock->line.drift * 1e6);
        if (clock->line.error_ns >= 0)
            put_clock(merge, i, "error_ns", 0, (double)clock->line.error_ns);
        if (!clock->line.contradictions || merge->following)
            continue;
        code = trace_builder_add_ledger(merge->builder, "device clock", clock->given, clock->given - clock->line.contradictions,
                                        clock->line.contradictions, "readings that contradict others");
        if (code)
            return code;
    }
    return 0;
}

static int name_lanes(struct merge *merge, struct devices *devices)
{
    for (size_t i = 0; i < devices->lane_count; i++) {
        char name[48];
        struct trace_track *track = trace_builder_track(merge->builder, devices->lane_rows[i].track);
        if (!string_is(track->name, STRING_NONE))
            continue;
        if (track->stream >= 0)
            snprintf(name, sizeof(name), "stream %d", track->stream);
        else
            snprintf(name, sizeof(name), "queue %" PRIu64, devices->lane_rows[i].queue);
        string_id id = trace_builder_string(merge->builder, name);
        trace_builder_track(merge->builder, devices->lane_rows[i].track)->name = id;
    }
    return 0;
}

static int add_losses(struct merge *merge, const struct devices *devices)
{
    int code = 0;
    if (devices->no_clock)
        code = trace_builder_add_ledger(merge->builder, "device spans", devices->no_clock, 0, devices->no_clock,
                                        "nothing is known of their device's clock");
    if (code == 0 && devices->no_launch)
        code = trace_builder_add_ledger(merge->builder, "launches", devices->no_launch, 0, devices->no_launch,
                                        "the call that launched the work was not recorded");
    if (code == 0 && devices->objects)
        code = trace_builder_add_ledger(merge->builder, "device code", devices->objects, devices->objects, 0,
                                        "in files beside the trace");
    return code;
}

int merge_devices_place(struct merge *merge)
{
    struct devices *devices = devices_of(merge);
    int code = fit_clocks(merge, devices);
    if (code == 0 && devices->waiting)
        code = place_waiting(merge, devices);
    if (code == 0)
        code = name_lanes(merge, devices);
    return code || merge->following ? code : add_losses(merge, devices);
}

static const struct merge_handler handlers[] = {
    {WIRE_DEVICE, MERGE_ROWS, on_device},
    {WIRE_QUEUE, MERGE_ROWS, on_queue},
    {WIRE_DEVICE_SPAN, MERGE_ROWS, on_device_span},
    {WIRE_DEVICE_CLOCK, MERGE_ROWS, on_device_clock},
    {WIRE_OBJECT, MERGE_ROWS, on_object},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_devices = {
    .name = "devices",
    .create = devices_create,
    .destroy = devices_destroy,
    .handlers = handlers,
};
