/* SPDX-License-Identifier: MIT */
/* Many readers of one trace at once, while its builder goes on and the cache is too small for what they read. */
#include "trace_fixture.h"

#include "trace/block.h"
#include "trace/lod.h"

#include <pthread.h>

#define READERS 4

struct reading {
    struct trace *trace;
    uint64_t expected;
    uint32_t seed;
    int failed;
};

static void *read_spans(void *context)
{
    struct reading *reading = context;
    uint64_t rows = 0, seed = reading->seed;
    for (int pass = 0; pass < 3; pass++) {
        uint32_t count = trace_block_count(reading->trace, FAMILY_SPANS), start = random_next(&seed) % count;
        for (uint32_t i = 0; i < count; i++) {
            struct span_block block;
            uint32_t columns = random_next(&seed) % 2 ? SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) : UINT32_MAX;
            if (trace_spans_get_columns(reading->trace, (start + i) % count, columns, &block, NULL) < 0) {
                reading->failed = 1;
                return NULL;
            }
            for (uint32_t row = 0; row < block.info.count; row++)
                rows += block.begin_ns[row] >= 0;
            trace_spans_put(reading->trace, &block);
        }
        const struct span_aggregate *sums;
        const struct lod *lod;
        uint32_t sum_count;
        if (trace_span_aggregates(reading->trace, &sums, &sum_count, NULL) < 0 ||
            trace_lod(reading->trace, FAMILY_SPANS, (track_id){1}, &lod, NULL) < 0 || sums[0].count == 0)
            reading->failed = 1;
    }
    reading->failed |= rows != 3 * reading->expected;
    return NULL;
}

static void test_readers_beside_the_builder(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id tracks[2] = {fixture_track(builder, TRACK_KIND_THREAD, "a", 1), fixture_track(builder, TRACK_KIND_THREAD, "b", 2)};
    pthread_t threads[READERS];
    struct reading readings[READERS] = {{0}};
    uint64_t added = 0;
    for (int i = 0; i < READERS; i++) {
        for (int row = 0; row < 20000; row++, added++)
            fixture_span(builder, tracks[row % 2], (int64_t)added * 10, (int64_t)added * 10 + 15, "f", SPAN_KIND_API);
        readings[i] = (struct reading){.expected = added, .seed = (uint32_t)i};
        assert_int_equal(trace_builder_snapshot(builder, &readings[i].trace, NULL), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, read_spans, &readings[i]), 0);
    }
    struct trace *trace = fixture_finish(builder); /* while they read */
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readings[i].failed, 0);
        trace_unref(readings[i].trace);
    }
    struct reading again[READERS];
    for (int i = 0; i < READERS; i++) {
        again[i] = (struct reading){.trace = trace, .expected = added, .seed = 50 + (uint32_t)i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_spans, &again[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(again[i].failed, 0);
    }
    trace_unref(trace);
}

static int decode_whole(const void *context, const struct block *block, uint32_t columns, struct decoded **ret, struct error *err)
{
    return block_decode(block, columns, NULL, ret, err);
}

static struct block *make_block(uint32_t rows)
{
    struct body_builder builder;
    assert_int_equal(body_builder_init(&builder), 0);
    body_begin(&builder, FAMILY_COUNTERS, rows, 0);
    for (uint8_t column = 0; column < 2; column++) {
        for (uint32_t i = 0; i < rows; i++)
            builder.values[i] = i;
        assert_int_equal(body_add_values(&builder, column), 0);
    }
    struct block_info info = {.count = rows};
    struct block *block = block_create(FAMILY_COUNTERS, &info);
    block->trusted = true;
    assert_int_equal(body_end(&builder, &block->bytes, &block->size), 0);
    body_builder_finish(&builder);
    return block;
}

static void test_the_cache_keeps_its_bound_and_what_is_held(void **state)
{
    struct block_cache *cache;
    struct block *blocks[8];
    struct decoded *held, *decoded, *again;
    assert_int_equal(block_cache_create(3 * 17000, &cache), 0); /* room for three blocks */
    for (int i = 0; i < 8; i++)
        blocks[i] = make_block(1000);
    assert_int_equal(block_cache_get(cache, blocks[0], 3, decode_whole, NULL, &held, NULL), 0);
    for (int i = 1; i < 8; i++) {
        assert_int_equal(block_cache_get(cache, blocks[i], 3, decode_whole, NULL, &decoded, NULL), 0);
        block_cache_put(cache, decoded);
    }
    unsigned kept = 0;
    for (int i = 0; i < 8; i++)
        kept += blocks[i]->decoded != NULL;
    assert_int_equal(kept, 3);
    assert_ptr_equal(blocks[0]->decoded, held); /* the oldest, but in use */
    assert_non_null(blocks[7]->decoded);
    assert_int_equal(((const uint64_t *)held->column[0])[999], 999);
    assert_int_equal(block_cache_get(cache, blocks[7], 1, decode_whole, NULL, &decoded, NULL), 0);
    assert_int_equal(block_cache_get(cache, blocks[7], 3, decode_whole, NULL, &again, NULL), 0);
    assert_ptr_equal(decoded, again);
    block_cache_put(cache, decoded);
    block_cache_put(cache, again);
    block_cache_put(cache, held);
    for (int i = 0; i < 8; i++)
        block_unref(blocks[i]); /* the cache holds its own */
    block_cache_unref(cache);
}

/* An entry with too few columns is replaced, though somebody still holds it. */
static void test_a_richer_entry_replaces_a_poorer_one(void **state)
{
    struct block_cache *cache;
    struct block *block = make_block(10);
    struct decoded *poor, *rich;
    assert_int_equal(block_cache_create(1 << 20, &cache), 0);
    assert_int_equal(block_cache_get(cache, block, 1, decode_whole, NULL, &poor, NULL), 0);
    assert_null(poor->column[1]);
    assert_int_equal(block_cache_get(cache, block, 2, decode_whole, NULL, &rich, NULL), 0);
    assert_non_null(rich->column[0]); /* what the poorer one had, too */
    assert_non_null(rich->column[1]);
    block_cache_put(cache, poor);
    assert_ptr_equal(block->decoded, rich);
    block_cache_put(cache, rich);
    block_unref(block);
    block_cache_unref(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_beside_the_builder),
        cmocka_unit_test(test_the_cache_keeps_its_bound_and_what_is_held),
        cmocka_unit_test(test_a_richer_entry_replaces_a_poorer_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
