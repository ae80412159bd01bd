/* SPDX-License-Identifier: MIT */
/* Kernel records are decoded field by field; one that contradicts itself is refused whatever its bytes are. */
#include "unit.h"

#include "sample/perf_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

static const struct perf_layout plain = {PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                             PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
                                         0};
static const struct perf_layout copies = {PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                              PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |
                                              PERF_SAMPLE_STACK_USER,
                                          0x7 /* three registers */};

/* A record under construction. */
struct bytes {
    _Alignas(8) uint8_t data[4096];
    size_t size;
};

static void u64(struct bytes *bytes, uint64_t value)
{
    memcpy(bytes->data + bytes->size, &value, 8);
    bytes->size += 8;
}

static void u32(struct bytes *bytes, uint32_t first, uint32_t second)
{
    u64(bytes, (uint64_t)second << 32 | first);
}

static void text(struct bytes *bytes, const char *string)
{
    memset(bytes->data + bytes->size, 0, 64);
    memcpy(bytes->data + bytes->size, string, strlen(string));
    bytes->size += (strlen(string) + 8) & ~(size_t)7;
}

static void begin(struct bytes *bytes, uint32_t type, uint16_t misc)
{
    bytes->size = 0;
    u64(bytes, (uint64_t)misc << 32 | type);
}

static void end(struct bytes *bytes)
{
    struct perf_event_header header;
    memcpy(&header, bytes->data, sizeof header);
    header.size = (uint16_t)bytes->size;
    memcpy(bytes->data, &header, sizeof header);
}

static void trailer(struct bytes *bytes)
{
    u32(bytes, 70, 71);   /* pid, tid of whoever ran */
    u64(bytes, 123456789); /* time */
    u32(bytes, 3, 0);     /* cpu */
    u64(bytes, 42);       /* identifier */
    end(bytes);
}

static void sample_head(struct bytes *bytes)
{
    begin(bytes, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    u64(bytes, 42);
    u64(bytes, 0x401000);
    u32(bytes, 10, 11);
    u64(bytes, 1000);
    u32(bytes, 1, 0);
    u64(bytes, 1001001);
}

static struct perf_record decode(const struct perf_layout *layout, const struct bytes *bytes)
{
    struct perf_record record;
    assert_int_equal(perf_record_decode(layout, bytes->data, bytes->size, &record), 0);
    return record;
}

static void test_a_sample_with_its_chain(void **state)
{
    struct bytes bytes;
    sample_head(&bytes);
    u64(&bytes, 3);
    u64(&bytes, (uint64_t)PERF_CONTEXT_USER);
    u64(&bytes, 0x401000);
    u64(&bytes, 0x402000);
    end(&bytes);
    struct perf_record record = decode(&plain, &bytes);
    assert_int_equal(record.id, 42);
    assert_int_equal(record.pid, 10);
    assert_int_equal(record.tid, 11);
    assert_int_equal(record.time_ns, 1000);
    assert_int_equal(record.cpu, 1);
    assert_int_equal(record.u.sample.ip, 0x401000);
    assert_int_equal(record.u.sample.period, 1001001);
    assert_int_equal(record.u.sample.chain_count, 3);
    assert_int_equal(record.u.sample.chain[2], 0x402000);
}

static void test_a_sample_with_registers_and_stack(void **state)
{
    struct bytes bytes;
    sample_head(&bytes);
    u64(&bytes, PERF_SAMPLE_REGS_ABI_64);
    u64(&bytes, 100);
    u64(&bytes, 101);
    u64(&bytes, 102);
    u64(&bytes, 32); /* room for the stack */
    for (int i = 0; i < 4; i++)
        u64(&bytes, (uint64_t)i);
    u64(&bytes, 24); /* of which so many were there */
    end(&bytes);
    struct perf_record record = decode(&copies, &bytes);
    assert_int_equal(record.u.sample.register_count, 3);
    assert_int_equal(record.u.sample.registers[2], 102);
    assert_int_equal(record.u.sample.stack_bytes, 24);
    uint64_t third;
    memcpy(&third, record.u.sample.stack + 16, 8);
    assert_int_equal(third, 2);
}

static void test_a_kernel_thread_has_neither(void **state)
{
    struct bytes bytes;
    sample_head(&bytes);
    u64(&bytes, PERF_SAMPLE_REGS_ABI_NONE);
    u64(&bytes, 0); /* no stack: no size behind it */
    end(&bytes);
    struct perf_record record = decode(&copies, &bytes);
    assert_null(record.u.sample.registers);
    assert_int_equal(record.u.sample.stack_bytes, 0);
}

static void mmap2(struct bytes *bytes, uint16_t misc)
{
    begin(bytes, PERF_RECORD_MMAP2, misc);
    u32(bytes, 10, 11);
    u64(bytes, 0x7f0000000000);
    u64(bytes, 0x2000);
    u64(bytes, 0x1000);
}

static void test_a_mapping_with_its_inode(void **state)
{
    struct bytes bytes;
    mmap2(&bytes, 0);
    u32(&bytes, 8, 1);
    u64(&bytes, 777);
    u64(&bytes, 5);
    u32(&bytes, 5, 2);
    text(&bytes, "/usr/lib/libx.so");
    trailer(&bytes);
    struct perf_record record = decode(&plain, &bytes);
    assert_int_equal(record.pid, 10); /* of the mapping's process, not of the trailer */
    assert_int_equal(record.time_ns, 123456789);
    assert_int_equal(record.u.mmap.device, makedev(8, 1));
    assert_int_equal(record.u.mmap.inode, 777);
    assert_int_equal(record.u.mmap.protection, 5);
    assert_null(record.u.mmap.build_id);
    assert_string_equal(record.u.mmap.path, "/usr/lib/libx.so");
}

static void test_a_mapping_with_its_build_id(void **state)
{
    struct bytes bytes;
    mmap2(&bytes, PERF_RECORD_MISC_MMAP_BUILD_ID);
    u64(&bytes, 0x0403020100000000 | 20); /* size, 3 reserved, first 4 bytes of the id */
    u64(&bytes, 0x1111111111111111);
    u64(&bytes, 0x2222222222222222);
    u32(&bytes, 5, 2);
    text(&bytes, "/usr/bin/x");
    trailer(&bytes);
    struct perf_record record = decode(&plain, &bytes);
    assert_int_equal(record.u.mmap.build_id_size, 20);
    assert_int_equal(record.u.mmap.build_id[1], 2);
    assert_int_equal(record.u.mmap.inode, 0);
}

static void test_forks_names_switches_and_losses(void **state)
{
    struct bytes bytes;
    begin(&bytes, PERF_RECORD_FORK, 0);
    u32(&bytes, 20, 10);
    u32(&bytes, 21, 11);
    u64(&bytes, 555);
    trailer(&bytes);
    struct perf_record record = decode(&plain, &bytes);
    assert_int_equal(record.pid, 20);
    assert_int_equal(record.tid, 21);
    assert_int_equal(record.u.task.parent_pid, 10);
    assert_int_equal(record.u.task.parent_tid, 11);

    begin(&bytes, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    u32(&bytes, 20, 21);
    text(&bytes, "cc1plus");
    trailer(&bytes);
    record = decode(&plain, &bytes);
    assert_true(record.u.comm.exec);
    assert_string_equal(record.u.comm.name, "cc1plus");

    begin(&bytes, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    trailer(&bytes);
    record = decode(&plain, &bytes);
    assert_true(record.u.context_switch.out && record.u.context_switch.preempted);
    assert_int_equal(record.tid, 71);

    begin(&bytes, PERF_RECORD_LOST, 0);
    u64(&bytes, 42);
    u64(&bytes, 99);
    trailer(&bytes);
    assert_int_equal(decode(&plain, &bytes).u.lost.count, 99);
}

static int try_bytes(const struct perf_layout *layout, const struct bytes *bytes)
{
    struct perf_record record;
    return perf_record_decode(layout, bytes->data, bytes->size, &record);
}

static void test_contradictions_are_refused(void **state)
{
    struct bytes bytes;
    sample_head(&bytes);
    u64(&bytes, UINT64_MAX / 8); /* a chain that would overflow */
    end(&bytes);
    assert_int_equal(try_bytes(&plain, &bytes), -EBADMSG);

    sample_head(&bytes);
    u64(&bytes, PERF_SAMPLE_REGS_ABI_64);
    u64(&bytes, 1); /* two registers too few */
    end(&bytes);
    assert_int_equal(try_bytes(&copies, &bytes), -EBADMSG);

    sample_head(&bytes);
    u64(&bytes, PERF_SAMPLE_REGS_ABI_NONE);
    u64(&bytes, 8);
    u64(&bytes, 0);
    u64(&bytes, 9); /* more copied than there was room */
    end(&bytes);
    assert_int_equal(try_bytes(&copies, &bytes), -EBADMSG);

    begin(&bytes, PERF_RECORD_COMM, 0); /* no end of the name, no trailer */
    u32(&bytes, 1, 1);
    end(&bytes);
    assert_int_equal(try_bytes(&plain, &bytes), -EBADMSG);

    begin(&bytes, PERF_RECORD_EXIT, 0);
    end(&bytes);
    bytes.size = 4;
    assert_int_equal(try_bytes(&plain, &bytes), -EBADMSG);

    begin(&bytes, 4711, 0);
    trailer(&bytes);
    assert_int_equal(try_bytes(&plain, &bytes), -ENOTSUP);
}

/* What is decoded lies within the record, whatever the bytes: the sanitizers watch the exact allocation. */
static void test_random_bytes(void **state)
{
    uint32_t seed = 99;
    for (int round = 0; round < 50000; round++) {
        size_t size = 8 + (seed >> 8) % 40 * 8;
        uint8_t *data = malloc(size);
        assert_non_null(data);
        for (size_t i = 0; i < size; i++)
            data[i] = (seed = seed * 1664525 + 1013904223) >> 30 ? 0 : (uint8_t)(seed >> 20);
        struct perf_event_header header = {.type = 1 + seed % 20, .misc = (uint16_t)(seed >> 7), .size = (uint16_t)size};
        memcpy(data, &header, sizeof header);
        struct perf_record record;
        const struct perf_layout *layout = round % 2 ? &plain : &copies;
        if (perf_record_decode(layout, data, size, &record) == 0 && record.type == PERF_RECORD_SAMPLE) {
            assert_true(record.u.sample.chain_count <= size / 8);
            assert_true(record.u.sample.stack_bytes <= size);
        }
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample_with_its_chain),      cmocka_unit_test(test_a_sample_with_registers_and_stack),
        cmocka_unit_test(test_a_kernel_thread_has_neither),  cmocka_unit_test(test_a_mapping_with_its_inode),
        cmocka_unit_test(test_a_mapping_with_its_build_id),  cmocka_unit_test(test_forks_names_switches_and_losses),
        cmocka_unit_test(test_contradictions_are_refused),   cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
