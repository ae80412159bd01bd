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

void cuda_lane_announce(uint32_t device, uint32_t context, uint32_t stream)
{
    if (!is_new(cuda_lane(context, stream)))
        return;
    char name[96], *end = put_number(put_text(name, "stream "), stream);
    bool is_default =
        context < sizeof null_streams / sizeof null_streams[0] && __atomic_load_n(&null_streams[context], __ATOMIC_ACQUIRE) == stream;
    if (is_default)
        end = put_text(end, " (default)");
    end = put_number(put_text(end, ", context "), context);
    const struct wire_queue record = {
        .header = {WIRE_QUEUE, sizeof record / 8, rt_string(name, (size_t)(end - name))},
        .time = rt_now(),
        .queue = cuda_lane(context, stream),
        .device = (int32_t)device,
        .stream = (int32_t)stream,
        .layer = CUDA_LAYER,
    };
    rt_append(&record.header);
}
