/* SPDX-License-Identifier: MIT */
/* What the kernel writes into a sampling ring, decoded: every length is checked against the record's own size. */
#ifndef HP_SAMPLE_PERF_RECORD_H
#define HP_SAMPLE_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the records of a ring are laid out: all events that share a ring are opened with these same values. */
struct perf_layout {
    uint64_t sample_type;
    uint64_t user_registers; /* mask of PERF_REG_*; 0 = none */
};

struct perf_branch {
    uint64_t from, to;
};

struct perf_sample_record {
    uint64_t ip, period;
    const uint64_t *chain; /* with the kernel's PERF_CONTEXT_ marks */
    size_t chain_count;
    uint64_t register_abi; /* PERF_SAMPLE_REGS_ABI_*; NONE for a kernel thread */
    const uint64_t *registers;
    size_t register_count;
    const uint8_t *stack;
    size_t stack_bytes;       /* really copied */
    const uint8_t *branches;  /* branch_count entries of 24 bytes: from, to, flags */
    size_t branch_count;
};

struct perf_mmap_record {
    uint64_t start, length, file_offset;
    uint64_t device, inode, inode_generation; /* 0 when the kernel gave the build id instead */
    uint32_t protection;
    const uint8_t *build_id;
    size_t build_id_size;
    const char *path;
};

struct perf_record {
    uint32_t type;
    uint16_t misc;
    /* From the sample or its trailer. */
    uint64_t id, time_ns;
    uint32_t pid, tid, cpu;
    union {
        struct perf_sample_record sample;
        struct perf_mmap_record mmap; /* MMAP and MMAP2 */
        struct {
            const char *name;
            bool exec;
        } comm;
        struct {
            uint32_t parent_pid, parent_tid;
        } task; /* FORK and EXIT; pid and tid are the new (or ended) ones */
        struct {
            uint64_t count;
        } lost; /* LOST and LOST_SAMPLES */
        struct {
            bool out, preempted;
        } context_switch;
    } u;
};

/*
 * Decodes one record. Pointers lead into `data`, which must be 8-byte aligned and holds `size` bytes. -EBADMSG when the
 * record contradicts itself, -ENOTSUP for a type that is not decoded (the caller counts and skips it).
 */
int perf_record_decode(const struct perf_layout *layout, const void *data, size_t size, struct perf_record *ret_record);

/* Branch i of a sample, newest first. */
struct perf_branch perf_record_branch(const struct perf_sample_record *sample, size_t index);

#endif
