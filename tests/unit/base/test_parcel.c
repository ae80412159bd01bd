/* SPDX-License-Identifier: MIT */
/* What is put in comes out in the same order; what is not there does not, and it sticks. */
#include "base/cleanup.h"
#include "base/parcel.h"

#include "unit.h"

#include <string.h>

static void test_comes_out_as_it_went_in(void **unused)
{
    CLEANUP(parcel_finish) struct parcel parcel = PARCEL_INIT;
    const uint16_t numbers[] = {1, 2, 3};
    size_t count;
    parcel_put_u64(&parcel, UINT64_MAX);
    parcel_put(&parcel, numbers, 3, sizeof *numbers);
    parcel_put_text(&parcel, "");
    parcel_put_text(&parcel, "nine chars");
    parcel_put(&parcel, NULL, 0, sizeof *numbers);
    assert_false(parcel.failed);
    assert_true(parcel_take_u64(&parcel) == UINT64_MAX);
    assert_memory_equal(parcel_take(&parcel, sizeof *numbers, &count), numbers, sizeof numbers);
    assert_int_equal(count, 3);
    assert_string_equal(parcel_take_text(&parcel), "");
    assert_string_equal(parcel_take_text(&parcel), "nine chars");
    assert_null(parcel_take(&parcel, sizeof *numbers, &count));
    assert_true(count == 0 && !parcel.failed);
}

/* Any cut, and counts that no parcel can have. */
static void test_too_short_gives_nothing(void **unused)
{
    struct parcel parcel = PARCEL_INIT;
    const uint64_t most = UINT64_MAX;
    size_t count;
    parcel_put_text(&parcel, "text");
    parcel_put_u64(&parcel, 7);
    size_t whole = parcel.size;
    for (parcel.size = 0; parcel.size < whole; parcel.size++) {
        parcel.position = 0;
        parcel.failed = false;
        parcel_take_text(&parcel);
        assert_int_equal(parcel_take_u64(&parcel), 0);
        assert_true(parcel.failed);
        assert_null(parcel_take(&parcel, 1, &count));
    }
    parcel.position = 0;
    parcel.failed = false;
    memcpy(parcel.data, &most, sizeof most);
    assert_null(parcel_take(&parcel, 8, &count));
    assert_true(parcel.failed && count == 0);
    parcel_finish(&parcel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_out_as_it_went_in),
        cmocka_unit_test(test_too_short_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
