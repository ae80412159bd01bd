/* SPDX-License-Identifier: MIT */
/*
 * bench_unwind PERF_DATA [--frames]: unwinds every sample of a recording made by `perf record --call-graph dwarf` and
 * resolves each distinct address once, inlined frames included, in one thread. Times are CPU times, so that a busy machine
 * disturbs them less. To be set beside user + sys of `time perf script --no-inline -i PERF_DATA`. --frames prints the
 * stacks instead, to be compared with perf's.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/string_table.h"
#include "symbol/symbolizer.h"
#include "symbol/unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#define FRAMES 512

struct record {
    uint64_t time;
    const struct perf_event_header *header;
    size_t order;
};

struct bench {
    const struct perf_event_attr *attr;
    struct record *records;
    size_t count, capacity;
    struct module_table *table;
    struct map maps; /* pid -> struct address_map * */
    struct unwinder *unwinder;
    struct symbolizer *symbolizer;
    struct string_table *strings;
    struct map seen; /* module and address -> 1 */
    struct address {
        struct unwind_frame frame;
        uint32_t pid;
    } *addresses; /* the distinct ones */
    size_t address_count, address_capacity;
    uint64_t samples, frames, names, ends[8];
    int64_t unwind_ns, again_ns, resolve_ns, resolve_slowest_ns;
    bool print;
};

/* The kernel's register numbers in DWARF order. */
static const uint8_t kernel_register[17] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};

static uint64_t take_u64(const uint8_t **at)
{
    uint64_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

static uint64_t record_time(const struct bench *bench, const struct perf_event_header *header)
{
    uint64_t type = bench->attr->sample_type;
    const uint8_t *at = (const uint8_t *)(header + 1);
    if (header->type == PERF_RECORD_SAMPLE) {
        at += 8 * (((type & PERF_SAMPLE_IDENTIFIER) != 0) + ((type & PERF_SAMPLE_IP) != 0) + ((type & PERF_SAMPLE_TID) != 0));
        return take_u64(&at);
    }
    at = (const uint8_t *)header + header->size;
    at -= 8 * (((type & PERF_SAMPLE_IDENTIFIER) != 0) + ((type & PERF_SAMPLE_CPU) != 0) +
               ((type & PERF_SAMPLE_STREAM_ID) != 0) + ((type & PERF_SAMPLE_ID) != 0) + 1);
    return take_u64(&at);
}

static int record_compare(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int records_read(struct bench *bench, const struct file_map *file)
{
    uint64_t header[13];
    if (file->size < sizeof header || memcmp(file->data, "PERFILE2", 8) != 0)
        return -EINVAL;
    memcpy(header, file->data, sizeof header);
    uint64_t attr_at = header[3], data_at = header[5], data_end = header[5] + header[6];
    if (attr_at > file->size || data_end > file->size)
        return -EINVAL;
    bench->attr = (const struct perf_event_attr *)(const void *)(file->data + attr_at);
    for (uint64_t at = data_at; at + sizeof(struct perf_event_header) <= data_end;) {
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)(file->data + at);
        if (record->size < sizeof *record)
            break;
        at += record->size;
        if (record->type >= 64) /* perf's own, made up after the fact */
            continue;
        bench->records = array_reserve(bench->records, &bench->capacity, bench->count + 1, sizeof *bench->records);
        bench->records[bench->count] = (struct record){record_time(bench, record), record, bench->count};
        bench->count++;
    }
    qsort(bench->records, bench->count, sizeof *bench->records, record_compare);
    return 0;
}

static struct address_map *map_of(struct bench *bench, uint32_t pid)
{
    uint64_t known;
    struct address_map *map = NULL;
    if (map_get(&bench->maps, pid, &known))
        return (struct address_map *)(uintptr_t)known;
    if (address_map_create(bench->table, (pid_t)pid, &map) == 0)
        map_set(&bench->maps, pid, (uintptr_t)map);
    return map;
}

static void map_replace(struct bench *bench, uint32_t pid, struct address_map *map)
{
    uint64_t known;
    if (map_get(&bench->maps, pid, &known))
        address_map_destroy((struct address_map *)(uintptr_t)known);
    map_set(&bench->maps, pid, (uintptr_t)map);
}

static void take_mapping(struct bench *bench, const struct perf_event_header *header)
{
    struct {
        uint32_t pid, tid;
        uint64_t start, length, offset;
        uint32_t major_number, minor_number;
        uint64_t inode, generation;
        uint32_t protection, flags;
    } body;
    const uint8_t *bytes = (const uint8_t *)(header + 1);
    memcpy(&body, bytes, 64);
    struct mapping_info mapping = {.start = body.start, .length = body.length, .file_offset = body.offset,
                                   .path = (const char *)bytes + 64, .executable = (body.protection & 4) != 0};
    if (header->misc & 1 << 14) { /* the build id instead of device and inode */
        mapping.build_id_size = bytes[32];
        mapping.build_id = bytes + 36;
    } else {
        mapping.device = makedev(body.major_number, body.minor_number);
        mapping.inode = body.inode;
    }
    if ((header->misc & 7) != 1)
        address_map_add(map_of(bench, body.pid), &mapping);
}

static void take_fork(struct bench *bench, const struct perf_event_header *header)
{
    uint32_t ids[4];
    struct address_map *child = NULL;
    memcpy(ids, header + 1, sizeof ids);
    if (ids[0] != ids[1] && address_map_clone(map_of(bench, ids[1]), (pid_t)ids[0], &child) == 0)
        map_replace(bench, ids[0], child);
}

static void take_comm(struct bench *bench, const struct perf_event_header *header)
{
    uint32_t pid;
    struct address_map *fresh = NULL;
    memcpy(&pid, header + 1, sizeof pid);
    if ((header->misc & PERF_RECORD_MISC_COMM_EXEC) && address_map_create(bench->table, (pid_t)pid, &fresh) == 0)
        map_replace(bench, pid, fresh);
}

static bool sample_parse(const struct bench *bench, const struct perf_event_header *header, uint32_t *ret_pid,
                         struct unwind_sample *sample)
{
    uint64_t type = bench->attr->sample_type;
    const uint8_t *at = (const uint8_t *)(header + 1);
    if (type & PERF_SAMPLE_IDENTIFIER)
        at += 8;
    if (type & PERF_SAMPLE_IP)
        at += 8;
    memcpy(ret_pid, at, sizeof *ret_pid);
    at += 16; /* pid, tid, time */
    for (uint64_t bit = PERF_SAMPLE_ADDR; bit <= PERF_SAMPLE_STREAM_ID; bit <<= 1)
        if ((bit == PERF_SAMPLE_ADDR || bit == PERF_SAMPLE_ID || bit == PERF_SAMPLE_CPU || bit == PERF_SAMPLE_PERIOD ||
             bit == PERF_SAMPLE_STREAM_ID) && (type & bit))
            at += 8;
    if (type & PERF_SAMPLE_CALLCHAIN) {
        uint64_t chain = take_u64(&at);
        at += 8 * chain;
    }
    memset(&sample->registers, 0, sizeof sample->registers);
    if (take_u64(&at) != PERF_SAMPLE_REGS_ABI_64)
        return false;
    uint64_t values[64];
    for (unsigned i = 0; i < 64; i++)
        if (bench->attr->sample_regs_user >> i & 1)
            values[i] = take_u64(&at);
    for (unsigned i = 0; i < 17; i++)
        sample->registers.values[i] = values[kernel_register[i]];
    sample->registers.valid = (1u << 17) - 1;
    uint64_t size = take_u64(&at);
    if (size == 0)
        return false;
    sample->stack = at;
    at += size;
    sample->stack_size = take_u64(&at);
    sample->stack_address = sample->registers.values[7];
    return true;
}

static size_t resolve(struct bench *bench, const struct unwind_frame *frame, uint32_t pid, struct symbol_frame *names)
{
    int64_t begin = clock_process_cpu_ns();
    size_t count = symbolizer_resolve(bench->symbolizer, frame->module, frame->address, (pid_t)pid, 0, names, 64);
    int64_t took = clock_process_cpu_ns() - begin;
    if (took > bench->resolve_slowest_ns)
        bench->resolve_slowest_ns = took;
    return count;
}

static void print_stack(struct bench *bench, const struct unwind_frame *frames, size_t count, uint32_t pid, enum unwind_end end)
{
    struct symbol_frame names[64];
    for (size_t i = 0; i < count; i++) {
        size_t found = resolve(bench, &frames[i], pid, names);
        for (size_t j = 0; j < found; j++)
            printf("\t%16" PRIx64 " %s%s %s:%u\n", frames[i].run_address, string_table_text(bench->strings, names[j].function),
                   names[j].inlined ? " (inlined)" : "", string_table_text(bench->strings, names[j].file), names[j].line);
    }
    printf("\tended by %s\n\n", unwind_end_name(end));
}

static void take_sample(struct bench *bench, const struct perf_event_header *header)
{
    struct unwind_sample sample;
    struct unwind_frame frames[FRAMES];
    enum unwind_end end;
    uint32_t pid;
    if (!sample_parse(bench, header, &pid, &sample))
        return;
    struct address_map *map = map_of(bench, pid);
    size_t count = unwind(bench->unwinder, map, &sample, frames, FRAMES, &end);
    bench->samples++;
    bench->frames += count;
    bench->ends[end]++;
    if (bench->print) {
        print_stack(bench, frames, count, pid, end);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t seen, key = hash_u64(frames[i].address ^ (uint64_t)(uintptr_t)frames[i].module << 20);
        if (map_get(&bench->seen, key, &seen))
            continue;
        map_set(&bench->seen, key, 1);
        bench->addresses = array_reserve(bench->addresses, &bench->address_capacity, bench->address_count + 1,
                                         sizeof *bench->addresses);
        bench->addresses[bench->address_count++] = (struct address){frames[i], pid};
    }
}

static void take_all(struct bench *bench)
{
    for (size_t i = 0; i < bench->count; i++) {
        const struct perf_event_header *header = bench->records[i].header;
        switch (header->type) {
        case PERF_RECORD_MMAP2: take_mapping(bench, header); break;
        case PERF_RECORD_FORK: take_fork(bench, header); break;
        case PERF_RECORD_COMM: take_comm(bench, header); break;
        case PERF_RECORD_SAMPLE: take_sample(bench, header); break;
        default: break;
        }
    }
}

/* The same stacks again, with all that is made once. Mappings stay as the recording left them. */
static void unwind_again(struct bench *bench)
{
    struct bench once = *bench;
    for (size_t i = 0; i < bench->count; i++)
        if (bench->records[i].header->type == PERF_RECORD_SAMPLE)
            take_sample(&once, bench->records[i].header);
    bench->addresses = once.addresses; /* a program that unloads libraries may have added some */
    bench->address_capacity = once.address_capacity;
    bench->seen = once.seen;
}

static void resolve_all(struct bench *bench)
{
    struct symbol_frame names[64];
    for (size_t i = 0; i < bench->address_count; i++)
        bench->names += resolve(bench, &bench->addresses[i].frame, bench->addresses[i].pid, names);
}

static void report(const struct bench *bench)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t total = bench->unwind_ns + bench->resolve_ns;
    printf("samples                %" PRIu64 "\nframes per sample      %.1f\n", bench->samples,
           (double)bench->frames / (double)bench->samples);
    printf("unwinding              %.3f s, %.0f samples/s, %.0f ns/frame\n", (double)bench->unwind_ns / 1e9,
           (double)bench->samples * 1e9 / (double)bench->unwind_ns, (double)bench->unwind_ns / (double)bench->frames);
    printf("unwinding again        %.3f s, %.0f samples/s: what is left without tables to make and addresses to find\n",
           (double)bench->again_ns / 1e9, (double)bench->samples * 1e9 / (double)bench->again_ns);
    printf("distinct addresses     %zu, %" PRIu64 " frames with inlines\n", bench->address_count, bench->names);
    printf("resolving              %.3f s, slowest %.3f s\n", (double)bench->resolve_ns / 1e9,
           (double)bench->resolve_slowest_ns / 1e9);
    printf("both                   %.3f s, %.0f samples/s, %.2f s per 10k samples\n", (double)total / 1e9,
           (double)bench->samples * 1e9 / (double)total, (double)total / 1e9 / (double)bench->samples * 1e4);
    for (int i = 0; i <= UNWIND_LIMIT; i++)
        printf("ended by %-22s %.1f %%\n", unwind_end_name((enum unwind_end)i),
               100.0 * (double)bench->ends[i] / (double)bench->samples);
    printf("peak memory            %ld MB\n", usage.ru_maxrss / 1024);
}

int main(int argc, char **argv)
{
    struct bench bench = {.print = argc > 2 && strcmp(argv[2], "--frames") == 0};
    struct file_map file;
    struct error err = ERROR_INIT;
    if (argc < 2 || file_map_open(argv[1], &file, &err) < 0 || records_read(&bench, &file) < 0) {
        fprintf(stderr, "usage: bench_unwind PERF_DATA [--frames] %s\n", err.text);
        return 2;
    }
    string_table_create(&bench.strings);
    const struct symbolizer_options options = {.strings = bench.strings};
    if (module_table_create(&bench.table) < 0 || unwinder_create(&bench.unwinder) < 0 ||
        symbolizer_create(&options, &bench.symbolizer, &err) < 0)
        return 1;
    /* In a recording run the bytes have just been written: page faults do not belong here. */
    volatile uint8_t touched = 0;
    for (size_t at = 0; at < file.size; at += 4096)
        touched = file.data[at];
    (void)touched;
    int64_t begin = clock_process_cpu_ns();
    take_all(&bench);
    int64_t between = clock_process_cpu_ns();
    resolve_all(&bench);
    bench.unwind_ns = between - begin;
    int64_t end = clock_process_cpu_ns();
    bench.resolve_ns = end - between;
    if (!bench.print) {
        unwind_again(&bench);
        bench.again_ns = clock_process_cpu_ns() - end;
    }
    if (!bench.print)
        report(&bench);
    return 0;
}
