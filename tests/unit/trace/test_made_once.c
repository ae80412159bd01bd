/* SPDX-License-Identifier: MIT */
/* What is made of a trace is made once, whoever asks at the same time, and ends with the trace. */
#include "trace_fixture.h"

#include "base/thread_pool.h"
#include "trace/made_once.h"

#include <errno.h>
#include <stdatomic.h>

static atomic_int makings, destroyed;

static int make(const struct trace *trace, void **ret_made, struct error *err)
{
    (void)trace;
    (void)err;
    if (atomic_fetch_add(&makings, 1) == 0)
        return -EIO; /* the first time fails: it is tried again */
    return (*ret_made = malloc(1)) ? 0 : -ENOMEM;
}

static void destroy(void *made)
{
    destroyed++;
    free(made);
}

struct asking {
    const struct trace *trace;
    const void *made[64];
    atomic_int failures;
};

static void ask(void *context, size_t index)
{
    struct asking *asking = context;
    if (trace_made_once(asking->trace, make, destroy, &asking->made[index], NULL) < 0)
        asking->failures++;
}

static void test_all_that_ask_get_the_same(void **state)
{
    (void)state;
    struct trace *trace = fixture_finish(fixture_builder(0));
    struct asking asking = {.trace = trace};
    struct thread_pool *pool;
    assert_int_equal(thread_pool_create(4, &pool), 0);
    thread_pool_for(pool, 64, ask, &asking);
    thread_pool_destroy(pool);
    assert_int_equal(asking.failures, 1);
    assert_int_equal(makings, 2);
    const void *made;
    assert_int_equal(trace_made_once(trace, make, destroy, &made, NULL), 0);
    for (size_t i = 0; i < 64; i++)
        assert_true(!asking.made[i] || asking.made[i] == made);
    assert_int_equal(destroyed, 0);
    trace_unref(trace);
    assert_int_equal(destroyed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_that_ask_get_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
