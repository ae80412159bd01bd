/* SPDX-License-Identifier: MIT */
/* Streams as lanes: each is announced when something first ran on it. */
#include "cuda.h"

enum { LANES = 1 << 12, LANE_TRIES = 32 };
static uint64_t announced[LANES];
static uint32_t null_streams[64]; /* by context id, of the first contexts; 0 = unknown */

void cuda_lane_null_stream(uint32_t context, uint32_t stream)
{
    if (context < sizeof null_streams / sizeof null_streams[0])
        __atomic_store_n(&null_streams[context], stream, __ATOMIC_RELEASE);
}

/* True once for each lane; a full table announces it again, which does no harm. */
static bool is_new(uint64_t lane)
{
    uint64_t key = lane + 1, hash = key * 0x9e3779b97f4a7c15ull;
    for (unsigned i = 0; i < LANE_TRIES; i++) {
        uint64_t expected = 0, *slot = &announced[((hash >> 44) + i) & (LANES - 1)];
        if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == key)
            return false;
        if (__atomic_compare_exchange_n(slot, &expected, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        if (expected == key)
            return false;
    }
    return true;
}

static bool was_announced(uint64_t lane)
{
    uint64_t key = lane + 1, hash = key * 0x9e3779b97f4a7c15ull;
    for (unsigned i = 0; i < LANE_TRIES; i++)
        if (__atomic_load_n(&announced[((hash >> 44) + i) & (LANES - 1)], __ATOMIC_ACQUIRE) == key)
            return true;
    return false;
}

static char *put_text(char *out, const char *text)
{
    while (*text)
        *out++ = *text++;
    return out;
}

static char *put_number(char *out, uint32_t number)
{
    char digits[10];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *out++ = digits[--count];
    return out;
}

/* What is known of a lane beside its number. An entry is made only for lanes of which something is known. */
enum { NOTES = 1 << 10 };
static struct note {
    uint64_t key;
    uint32_t traits, name; /* atomic: enum cuda_lane_trait; string id of the program's own name */
} notes[NOTES];

static struct note *note_of(uint64_t lane, bool make)
{
    uint64_t key = lane + 1, hash = key * 0x9e3779b97f4a7c15ull;
    for (unsigned i = 0; i < LANE_TRIES; i++) {
        uint64_t expected = 0, *slot = &notes[((hash >> 44) + i) & (NOTES - 1)].key;
        uint64_t known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (known == 0 && !make)
            return 0;
        if (known == key || (known == 0 && (__atomic_compare_exchange_n(slot, &expected, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || expected == key)))
            return &notes[((hash >> 44) + i) & (NOTES - 1)];
    }
    return 0;
}

void cuda_lane_trait(uint32_t context, uint32_t stream, enum cuda_lane_trait trait)
{
    struct note *note = note_of(cuda_lane(context, stream), true);
    if (note && !(__atomic_load_n(&note->traits, __ATOMIC_RELAXED) & trait))
        __atomic_fetch_or(&note->traits, trait, __ATOMIC_ACQ_REL);
}

static bool is_default(uint32_t context, uint32_t stream)
{
    return context < sizeof null_streams / sizeof null_streams[0] &&
           __atomic_load_n(&null_streams[context], __ATOMIC_ACQUIRE) == stream;
}

/* "halo: stream 14 (non-blocking), context 1". */
static uint32_t lane_text(uint32_t context, uint32_t stream, const char *own_name)
{
    char text[192], *end = text;
    const struct note *note = note_of(cuda_lane(context, stream), false);
    uint32_t traits = note ? __atomic_load_n(&note->traits, __ATOMIC_ACQUIRE) : 0;
    for (unsigned i = 0; own_name && own_name[i] && i < 100; i++)
        *end++ = own_name[i];
    end = put_number(put_text(end, own_name ? ": stream " : "stream "), stream);
    end = put_text(end, is_default(context, stream)           ? " (default)"
                        : traits & CUDA_LANE_PER_THREAD       ? " (thread's default)"
                        : traits & CUDA_LANE_NON_BLOCKING     ? " (non-blocking)"
                                                              : "");
    end = put_number(put_text(end, ", context "), context);
    return rt_string(text, (size_t)(end - text));
}

static void write_queue(int32_t device, uint32_t context, uint32_t stream, uint32_t name)
{
    const struct wire_queue record = {
        .header = {WIRE_QUEUE, sizeof record / 8, name},
        .time = rt_now(),
        .queue = cuda_lane(context, stream),
        .device = device,
        .stream = (int32_t)stream,
        .layer = CUDA_LAYER,
    };
    rt_append(&record.header);
}

void cuda_lane_announce(uint32_t device, uint32_t context, uint32_t stream)
{
    if (!is_new(cuda_lane(context, stream)))
        return;
    const struct note *note = note_of(cuda_lane(context, stream), false);
    uint32_t own = note ? __atomic_load_n(&note->name, __ATOMIC_ACQUIRE) : 0;
    write_queue((int32_t)device, context, stream, own ? own : lane_text(context, stream, 0));
}

/* A stream that never had work gets no lane by being named. */
void cuda_lane_name(uint32_t context, uint32_t stream, const char *name)
{
    uint64_t lane = cuda_lane(context, stream);
    struct note *note = note_of(lane, true);
    if (!note)
        return;
    uint32_t text = lane_text(context, stream, name);
    __atomic_store_n(&note->name, text, __ATOMIC_RELEASE);
    if (was_announced(lane))
        write_queue(-1, context, stream, text);
}

uint64_t cuda_own_lane(enum cuda_own_lane lane, uint32_t device)
{
    static const char *const names[] = {[CUDA_OWN_JIT] = "code made at run time", [CUDA_OWN_OVERHEAD] = "CUDA overhead", [CUDA_OWN_MANAGED] = "managed memory"};
    uint64_t queue = cuda_lane(UINT32_MAX - (uint32_t)lane, device + 1); /* numbers that no context has */
    if (!is_new(queue))
        return queue;
    char text[64], *end = put_text(text, names[lane]);
    if (device != UINT32_MAX)
        end = put_number(put_text(end, ", device "), device);
    else if (lane == CUDA_OWN_MANAGED)
        end = put_text(end, ", host");
    const struct wire_queue record = {
        .header = {WIRE_QUEUE, sizeof record / 8, rt_string(text, (size_t)(end - text))},
        .time = rt_now(),
        .queue = queue,
        .device = (int32_t)device,
        .stream = -1,
        .layer = CUDA_LAYER,
    };
    rt_append(&record.header);
    return queue;
}
