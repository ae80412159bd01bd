/* SPDX-License-Identifier: MIT */
/* Every rule of the advisor speaks at its threshold with the numbers of a trace that one can see, and is silent just below it. */
#include "../trace/trace_fixture.h"

#include "analysis/advice.h"

#define RUN_NS 100000
#define SAMPLES 100
#define SAMPLE_NS 1000 /* together RUN_NS */

struct world {
    struct trace_builder *builder;
    track_id main, sched, ranks[2], streams[2];
};

static track_id add_track(struct trace_builder *builder, enum track_kind kind, const char *name, process_id process, int32_t tid, int32_t device)
{
    struct trace_track track = {.kind = kind, .name = trace_builder_string(builder, name), .process = process, .tid = tid, .device = device,
                                .stream = device, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    return id;
}

static track_id rank(struct trace_builder *builder, int32_t number)
{
    struct trace_process process = {.pid = 100 + number, .rank = number, .start_ns = INT64_MIN, .end_ns = INT64_MIN, .parent = PROCESS_NONE,
                                    .command = trace_builder_string(builder, "rank"), .exit_status = -1};
    process_id id;
    assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
    return add_track(builder, TRACK_KIND_THREAD, "main", id, 100 + number, -1);
}

static span_id add(struct world *world, track_id track, int64_t begin_ns, int64_t end_ns, const char *category, const char *name,
                   enum span_kind kind, const struct payload *payload)
{
    struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE,
                        .name = trace_builder_string(world->builder, name), .category = trace_builder_string(world->builder, category)};
    span_id handle;
    assert_int_equal(trace_builder_add_span(world->builder, &span, payload, &handle), 0);
    return handle;
}

static void link_spans(struct world *world, enum link_kind kind, span_id from, span_id to)
{
    const struct trace_link link = {.kind = kind, .confidence = CONFIDENCE_CERTAIN, .from = from, .to = to};
    assert_int_equal(trace_builder_add_link(world->builder, &link), 0);
}

static struct payload payload_of(enum payload_kind kind, unsigned field, uint64_t value)
{
    struct payload payload = {.kind = kind, .present = 1u << field};
    payload.fields[field].u64 = value;
    return payload;
}

static void set(struct payload *payload, unsigned field, uint64_t value)
{
    payload->present |= 1u << field;
    payload->fields[field].u64 = value;
}

static void set_text(struct world *world, struct payload *payload, unsigned field, const char *text)
{
    payload->present |= 1u << field;
    payload->fields[field].string = trace_builder_string(world->builder, text);
}

/* A program that ran from 0 to RUN_NS. */
static void begin(struct world *world)
{
    world->builder = fixture_builder(0);
    world->main = fixture_track(world->builder, TRACK_KIND_THREAD, "main", 42);
    world->sched = fixture_track(world->builder, TRACK_KIND_SCHED, "", 42);
    for (int32_t i = 0; i < 2; i++) {
        world->streams[i] = add_track(world->builder, TRACK_KIND_STREAM, "stream", (process_id){0}, -1, i);
        world->ranks[i] = rank(world->builder, i);
    }
    add(world, fixture_track(world->builder, TRACK_KIND_THREAD, "other", 43), 0, RUN_NS, "", "run", SPAN_KIND_RANGE, NULL);
}

/* --- devices ------------------------------------------------------------------------------------------------------------- */

static void launch(struct world *world, int64_t call_ns, int64_t return_ns, int64_t begin_ns, int64_t end_ns)
{
    span_id call = add(world, world->main, call_ns, return_ns, "cuda", "cudaLaunchKernel", SPAN_KIND_LAUNCH, NULL);
    link_spans(world, LINK_KIND_LAUNCH, call, add(world, world->streams[0], begin_ns, end_ns, "cuda", "k", SPAN_KIND_KERNEL, NULL));
}

static void host_late(struct world *world, int64_t amount_ns)
{
    launch(world, 0, 10, 10, 1000);
    launch(world, 1000 + amount_ns, 1010 + amount_ns, 1010 + amount_ns, 1100 + amount_ns);
}

/* Launched as soon as the device is idle; calls take longer than kernels. */
static void short_kernels(struct world *world, int64_t amount_ns)
{
    launch(world, 0, 10, 10, 100);
    launch(world, 100, 2100, 100 + amount_ns, 110 + amount_ns);
}

static void copies_alone(struct world *world, int64_t amount_ns)
{
    add(world, world->streams[0], 0, 40000, "cuda", "k", SPAN_KIND_KERNEL, NULL);
    add(world, world->streams[0], 40000, 40000 + amount_ns, "cuda", "c", SPAN_KIND_COPY, NULL);
}

static void device_imbalance(struct world *world, int64_t amount_ns)
{
    add(world, world->streams[0], 0, 10 + 2 * amount_ns, "cuda", "k", SPAN_KIND_KERNEL, NULL);
    add(world, world->streams[1], 0, 10, "cuda", "k", SPAN_KIND_KERNEL, NULL);
}

static void copy(struct world *world, int64_t begin_ns, int64_t end_ns, uint64_t bytes, const char *source, const char *destination)
{
    struct payload payload = payload_of(PAYLOAD_COPY, FIELD_COPY_bytes, bytes);
    set_text(world, &payload, FIELD_COPY_source_memory, source);
    set_text(world, &payload, FIELD_COPY_destination_memory, destination);
    add(world, world->streams[0], begin_ns, end_ns, "cuda", "copy", SPAN_KIND_COPY, &payload);
}

static void sync_call(struct world *world, int64_t begin_ns, int64_t end_ns)
{
    add(world, world->main, begin_ns, end_ns, "cuda", "cudaDeviceSynchronize", SPAN_KIND_SYNC, NULL);
}

static void pageable_copies(struct world *world, int64_t amount_ns)
{
    sync_call(world, 0, 1);
    copy(world, 0, amount_ns, 1 << 20, "pageable", "device");
    copy(world, 20000, 30000, 1 << 20, "pinned", "device");
}

static void small_copies(struct world *world, int64_t amount_ns)
{
    sync_call(world, 0, 1);
    copy(world, 0, amount_ns / 2, 65535, "pinned", "device");
    copy(world, 10000, 10000 + amount_ns - amount_ns / 2, 1, "pinned", "device");
    copy(world, 20000, 30000, 65536, "pinned", "device");
}

static void sync_blocks(struct world *world, int64_t amount_ns)
{
    struct payload blocking = payload_of(PAYLOAD_API, FIELD_API_blocking, 1);
    sync_call(world, 0, amount_ns - 500);
    add(world, world->main, 50000, 50500, "cuda", "cudaMemcpy", SPAN_KIND_API, &blocking);
    add(world, world->main, 60000, 61000, "cuda", "cudaMemcpyAsync", SPAN_KIND_API, NULL);
}

/* What comes before the first launch is no steady state. */
static void steady_allocation(struct world *world, int64_t amount_ns)
{
    add(world, world->main, 0, 5000, "cuda", "cudaMalloc", SPAN_KIND_ALLOC, NULL);
    add(world, world->main, 5000, 5010, "cuda", "cudaLaunchKernel", SPAN_KIND_LAUNCH, NULL);
    add(world, world->main, 6000, 6000 + amount_ns, "cuda", "cudaMalloc", SPAN_KIND_ALLOC, NULL);
}

static void page_migration(struct world *world, int64_t amount_ns)
{
    struct payload faults = payload_of(PAYLOAD_FAULT, FIELD_FAULT_count, 12);
    sync_call(world, 0, 1);
    copy(world, 0, amount_ns - 100, 4096, "managed", "managed");
    add(world, world->streams[0], 50000, 50100, "cuda", "GPU page fault", SPAN_KIND_FAULT, &faults);
}

/* --- OpenMP -------------------------------------------------------------------------------------------------------------- */

static void region(struct world *world, int64_t begin_ns, int64_t end_ns, uint64_t id)
{
    struct payload payload = payload_of(PAYLOAD_REGION, FIELD_REGION_region, id);
    set(&payload, FIELD_REGION_threads, 2);
    add(world, world->main, begin_ns, end_ns, "openmp", "solve", SPAN_KIND_PARALLEL, &payload);
}

static void barrier(struct world *world, int64_t begin_ns, uint64_t wait_ns, uint64_t id)
{
    struct payload payload = payload_of(PAYLOAD_BARRIER, FIELD_BARRIER_region, id);
    set(&payload, FIELD_BARRIER_wait_ns, wait_ns);
    add(world, world->main, begin_ns, begin_ns + (int64_t)wait_ns, "openmp", "barrier", SPAN_KIND_BARRIER, &payload);
}

/* Two threads: both waits of both regions together, divided by two. */
static void region_imbalance(struct world *world, int64_t amount_ns)
{
    region(world, 0, 40000, 1);
    region(world, 40000, RUN_NS, 2);
    barrier(world, 0, (uint64_t)amount_ns, 1);
    barrier(world, 50000, (uint64_t)amount_ns, 2);
}

static void lock_waits(struct world *world, int64_t amount_ns)
{
    struct payload payload = payload_of(PAYLOAD_LOCK, FIELD_LOCK_wait_ns, (uint64_t)amount_ns);
    region(world, 0, RUN_NS, 1);
    add(world, world->main, 0, amount_ns + 100, "openmp", "critical", SPAN_KIND_CRITICAL, &payload);
}

static void fine_tasks(struct world *world, int64_t amount_ns)
{
    region(world, 0, RUN_NS, 1);
    add(world, world->main, 0, amount_ns, "openmp", "make", SPAN_KIND_TASK_CREATE, NULL);
    add(world, world->main, 10000, 10000 + 10 * amount_ns - 1, "openmp", "task", SPAN_KIND_TASK, NULL);
}

static void serial_part(struct world *world, int64_t amount_ns)
{
    region(world, 0, RUN_NS - 2 * amount_ns, 1);
}

/* --- MPI ----------------------------------------------------------------------------------------------------------------- */

static span_id call(struct world *world, int32_t number, int64_t begin_ns, int64_t end_ns, const char *name, enum span_kind kind)
{
    return add(world, world->ranks[number], begin_ns, end_ns, "mpi", name, kind, NULL);
}

static void rank_imbalance(struct world *world, int64_t amount_ns)
{
    call(world, 0, 0, 10, "MPI_Barrier", SPAN_KIND_COLLECTIVE);
    call(world, 1, 0, 10 + 2 * amount_ns, "MPI_Barrier", SPAN_KIND_COLLECTIVE);
}

static span_id send(struct world *world, int64_t begin_ns, int64_t end_ns, uint64_t bytes, const char *mode)
{
    struct payload payload = payload_of(PAYLOAD_MESSAGE, FIELD_MESSAGE_send_bytes, bytes);
    set_text(world, &payload, FIELD_MESSAGE_mode, mode);
    return add(world, world->ranks[0], begin_ns, end_ns, "mpi", "MPI_Send", SPAN_KIND_SEND, &payload);
}

static void small_messages(struct world *world, int64_t amount_ns)
{
    call(world, 1, 0, 10, "MPI_Barrier", SPAN_KIND_COLLECTIVE);
    send(world, 0, amount_ns, 1023, "standard");
    send(world, 5000, 5000, 8, "standard");
    send(world, 10000, 20000, 1024, "standard");
}

static void mpi_startup(struct world *world, int64_t amount_ns)
{
    call(world, 0, 0, amount_ns, "MPI_Init", SPAN_KIND_INIT);
    call(world, 1, 0, 10, "MPI_Init_thread", SPAN_KIND_INIT);
    call(world, 1, 60000, 90000, "MPI_Finalize", SPAN_KIND_INIT);
}

static void late_senders(struct world *world, int64_t amount_ns)
{
    span_id received = call(world, 1, 0, amount_ns + 10, "MPI_Recv", SPAN_KIND_RECV);
    link_spans(world, LINK_KIND_MESSAGE, send(world, amount_ns, amount_ns + 5, 100000, "standard"), received);
}

static void late_receivers(struct world *world, int64_t amount_ns)
{
    span_id received = call(world, 1, amount_ns, amount_ns + 10, "MPI_Recv", SPAN_KIND_RECV);
    link_spans(world, LINK_KIND_MESSAGE, send(world, 0, amount_ns + 5, 100000, "synchronous"), received);
}

static void collective_waits(struct world *world, int64_t amount_ns)
{
    struct trace_group row = {.kind = LINK_KIND_COLLECTIVE, .name = trace_builder_string(world->builder, "MPI_Barrier")};
    struct payload payload = payload_of(PAYLOAD_COLLECTIVE, FIELD_COLLECTIVE_comm, 1);
    group_id group;
    assert_int_equal(trace_builder_add_group(world->builder, &row, &group), 0);
    for (int32_t i = 0; i < 2; i++) {
        struct group_member member = {.group = group, .rank = i};
        member.span = add(world, world->ranks[i], i ? amount_ns : 0, amount_ns + 10, "mpi", "MPI_Barrier", SPAN_KIND_COLLECTIVE, &payload);
        assert_int_equal(trace_builder_add_member(world->builder, &member), 0);
    }
}

/* --- samples, switches, the ledger ----------------------------------------------------------------------------------------- */

static void samples(struct world *world, int64_t first, int64_t count, const char *function, uint32_t frame_flags, uint8_t flags)
{
    struct trace_frame frame = {.function = trace_builder_string(world->builder, function), .module = MODULE_NONE, .flags = frame_flags};
    frame_id id;
    stack_id stack;
    assert_int_equal(trace_builder_add_frame(world->builder, &frame, &id), 0);
    assert_int_equal(trace_builder_add_stack(world->builder, STACK_NONE, id, &stack), 0);
    for (int64_t i = first; i < first + count; i++) {
        struct sample sample = {.time_ns = i * SAMPLE_NS, .weight = SAMPLE_NS, .stack = stack, .cpu = UINT16_MAX, .event = SAMPLE_EVENT_CPU_CLOCK,
                                .flags = flags};
        assert_int_equal(trace_builder_add_sample(world->builder, world->main, &sample), 0);
    }
}

static void split_samples(struct world *world, int64_t amount_ns, const char *function, uint32_t frame_flags, uint8_t flags)
{
    int64_t count = amount_ns / SAMPLE_NS;
    samples(world, 0, count, function, frame_flags, flags);
    for (int64_t i = count; i < SAMPLES; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", (int)(i % 10));
        samples(world, i, 1, name, 0, 0);
    }
}

static void hot_function(struct world *world, int64_t amount_ns)
{
    split_samples(world, amount_ns, "hot", 0, 0);
}

static void kernel_time(struct world *world, int64_t amount_ns)
{
    split_samples(world, amount_ns, "do_syscall_64", FRAME_KERNEL, SAMPLE_KERNEL);
}

static void page_faults(struct world *world, int64_t amount_ns)
{
    assert_int_equal(trace_builder_set_metadata(world->builder, "sampling.page_faults", "1234"), 0);
    split_samples(world, amount_ns, "exc_page_fault", FRAME_KERNEL, SAMPLE_KERNEL);
}

static void preempted(struct world *world, int64_t amount_ns)
{
    add(world, world->sched, 0, amount_ns, "", "preempted", SPAN_KIND_BLOCKED, NULL);
}

static void blocked(struct world *world, int64_t amount_ns)
{
    samples(world, 0, 5, "f", 0, 0);
    add(world, world->sched, 0, amount_ns, "", "blocked", SPAN_KIND_BLOCKED, NULL);
}

/* Another thread runs from 10 to 80 % of the main thread's wait, but for a moment. */
static void joins(struct world *world, int64_t amount_ns)
{
    track_id other = fixture_track(world->builder, TRACK_KIND_SCHED, "", 43);
    blocked(world, amount_ns);
    add(world, other, 0, amount_ns / 10, "", "blocked", SPAN_KIND_BLOCKED, NULL);
    add(world, other, amount_ns / 2, amount_ns / 2 + 10, "", "preempted", SPAN_KIND_BLOCKED, NULL);
    add(world, other, amount_ns / 10 * 8, amount_ns, "", "blocked", SPAN_KIND_BLOCKED, NULL);
}

/* The main thread waits in a call of MPI for most of it; the rest is nobody's. */
static void waits_in_calls(struct world *world, int64_t amount_ns)
{
    blocked(world, amount_ns);
    add(world, world->main, 100, amount_ns - 22000, "mpi", "MPI_Recv", SPAN_KIND_RECV, NULL);
    struct payload payload = payload_of(PAYLOAD_LOCK, FIELD_LOCK_wait_ns, 4000);
    add(world, world->main, amount_ns - 22000, amount_ns, "openmp", "critical", SPAN_KIND_CRITICAL, &payload);
}

/* Two threads of a life of 30000 ns each, blocked ten times for the amount together. */
static void workers(struct world *world, int64_t amount_ns)
{
    for (int32_t i = 0; i < 2; i++) {
        struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = trace_builder_string(world->builder, "worker"), .process = {0}, .tid = 50 + i,
                                    .device = -1, .stream = -1, .start_ns = 0, .end_ns = 30000};
        track_id thread, sched, main = world->main;
        assert_int_equal(trace_builder_add_track(world->builder, &track, &thread), 0);
        track.kind = TRACK_KIND_SCHED;
        assert_int_equal(trace_builder_add_track(world->builder, &track, &sched), 0);
        world->main = thread;
        samples(world, 0, 2, "f", 0, 0);
        world->main = main;
        for (int64_t k = 0; k < 10; k++)
            add(world, sched, 3000 * k, 3000 * k + (k < 9 ? amount_ns / 10 : amount_ns - 9 * (amount_ns / 10)), "", "blocked", SPAN_KIND_BLOCKED, NULL);
    }
}

static void prompts(struct world *world, int64_t amount_ns)
{
    samples(world, 0, 4, "f", 0, 0);
    add(world, world->sched, 0, amount_ns, "", "blocked", SPAN_KIND_BLOCKED, NULL);
}

static void broken_stacks(struct world *world, int64_t amount_ns)
{
    assert_int_equal(trace_builder_set_metadata(world->builder, "sampling.callgraph", "fp"), 0);
    split_samples(world, amount_ns, "broken", 0, SAMPLE_TRUNCATED);
}

static void data_lost(struct world *world, int64_t amount_ns)
{
    assert_int_equal(trace_builder_add_ledger(world->builder, "records", RUN_NS, (uint64_t)(RUN_NS - amount_ns), (uint64_t)amount_ns, "no room"), 0);
    assert_int_equal(trace_builder_add_ledger(world->builder, "others", 1000, 1000, 0, ""), 0);
}

/* --- judging them ---------------------------------------------------------------------------------------------------------- */

/* `amount` of RUN_NS is in every maker what the rule's share is of; below it by `step` it is silent. */
static const struct rule_case {
    enum advice_rule rule;
    void (*make)(struct world *world, int64_t amount_ns);
    int64_t step_ns;
    bool timeless;
    const char *evidence; /* one of its numbers */
    double value;
    const char *name;
} cases[] = {
    {ADVICE_HOST_LATE, host_late, 1, false, "of that the host late", 5000, ""},
    {ADVICE_SHORT_KERNELS, short_kernels, 1, false, "mean launching call", 1005, ""},
    {ADVICE_COPIES_ALONE, copies_alone, 1, false, "kernels alone", 40000, ""},
    {ADVICE_DEVICE_IMBALANCE, device_imbalance, 1, false, "average", 5010, ""},
    {ADVICE_PAGEABLE_COPIES, pageable_copies, 1, false, "pageable copies", 1, "copy"},
    {ADVICE_SMALL_COPIES, small_copies, 1, false, "mean size", 32768, "copy"},
    {ADVICE_SYNC_BLOCKS, sync_blocks, 1, false, "waited", 10000, "cudaDeviceSynchronize"},
    {ADVICE_STEADY_ALLOCATION, steady_allocation, 1, false, "calls after the first launch", 1, "cudaMalloc"},
    {ADVICE_PAGE_MIGRATION, page_migration, 1, false, "faults of devices", 12, "copy"},
    {ADVICE_REGION_IMBALANCE, region_imbalance, 1, false, "its threads waited", 10000, "solve"},
    {ADVICE_LOCK_WAITS, lock_waits, 1, false, "longest of all", 5000, "critical"},
    {ADVICE_FINE_TASKS, fine_tasks, 1, false, "mean task", 19999, "make"},
    {ADVICE_SERIAL_PART, serial_part, 1, false, "outside of regions", 20000, ""},
    {ADVICE_RANK_IMBALANCE, rank_imbalance, 1, false, "the lightest", 89990, ""},
    {ADVICE_SMALL_MESSAGES, small_messages, 1, false, "messages below 1 KiB", 2, "MPI_Send"},
    {ADVICE_MPI_STARTUP, mpi_startup, 1, false, "average of all ranks", 5005, "MPI_Init"},
    {ADVICE_LATE_SENDERS, late_senders, 1, false, "mostly for rank", 0, "MPI_Recv"},
    {ADVICE_LATE_RECEIVERS, late_receivers, 1, false, "mostly for rank", 1, "MPI_Send"},
    {ADVICE_COLLECTIVE_WAITS, collective_waits, 1, false, "mostly for rank", 1, "MPI_Barrier"},
    {ADVICE_HOT_FUNCTION, hot_function, SAMPLE_NS, false, "self time", 30000, "hot"},
    {ADVICE_KERNEL_TIME, kernel_time, SAMPLE_NS, false, "in the kernel", 20000, ""},
    {ADVICE_PAGE_FAULTS, page_faults, SAMPLE_NS, false, "faults of all", 1234, ""},
    {ADVICE_PREEMPTED, preempted, 1, false, "without a processor", 5000, ""},
    {ADVICE_BLOCKED, blocked, 1, false, "on the CPU", 5000, ""},
    {ADVICE_BLOCKED_WORKERS, workers, 1, false, "all of these blocked", 40000, ""},
    {ADVICE_BROKEN_STACKS, broken_stacks, SAMPLE_NS, true, "broken", 20, ""},
    {ADVICE_DATA_LOST, data_lost, 1, true, "lost", 1000, "records"},
};

static struct advices *judged(void (*make)(struct world *world, int64_t amount_ns), int64_t amount_ns, struct trace **ret_trace)
{
    struct world world;
    struct advices *advices;
    struct error err = ERROR_INIT;
    begin(&world);
    if (make)
        make(&world, amount_ns);
    *ret_trace = fixture_finish(world.builder);
    if (advices_create(*ret_trace, NULL, NULL, &advices, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(advices->run_ns, RUN_NS);
    for (size_t i = 1; i < advices->count; i++)
        assert_true(advices->rows[i].bound_ns <= advices->rows[i - 1].bound_ns);
    return advices;
}

static const struct advice *find(const struct advices *advices, enum advice_rule rule)
{
    for (size_t i = 0; i < advices->count; i++)
        if (advices->rows[i].rule == rule)
            return &advices->rows[i];
    return NULL;
}

static void assert_speaks(const struct rule_case *expected, const struct advice *advice, const struct trace *trace, int64_t amount_ns)
{
    const char *id = advice_rule_text(expected->rule)->id;
    bool cited = false;
    if (!advice)
        fail_msg("%s is silent at its threshold", id);
    if (advice->bound_ns != (expected->timeless ? -1 : amount_ns))
        fail_msg("%s could give back %lld ns, not %lld", id, (long long)advice->bound_ns, (long long)amount_ns);
    assert_int_equal((advice->severity == ADVICE_DATA), expected->timeless);
    assert_string_equal(trace_text(trace, advice->name), expected->name);
    for (unsigned i = 0; i < advice->evidence_count; i++) {
        if (strcmp(advice->evidence[i].name, expected->evidence) != 0)
            continue;
        cited = true;
        if (advice->evidence[i].value != expected->value)
            fail_msg("%s: %s is %g, not %g", id, expected->evidence, advice->evidence[i].value, expected->value);
    }
    if (!cited)
        fail_msg("%s does not say '%s'", id, expected->evidence);
}

static void test_each_rule_speaks_from_its_threshold_on(void **state)
{
    (void)state;
    assert_int_equal(sizeof cases / sizeof *cases, ADVICE_RULE_COUNT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t amount_ns = (int64_t)(advice_rule_text(cases[i].rule)->threshold_percent * RUN_NS / 100);
        struct trace *trace;
        assert_int_equal(cases[i].rule, i);
        struct advices *advices = judged(cases[i].make, amount_ns, &trace);
        assert_speaks(&cases[i], find(advices, cases[i].rule), trace, amount_ns);
        advices_destroy(advices);
        trace_unref(trace);
        advices = judged(cases[i].make, amount_ns - cases[i].step_ns, &trace);
        if (find(advices, cases[i].rule))
            fail_msg("%s speaks below its threshold", advice_rule_text(cases[i].rule)->id);
        advices_destroy(advices);
        trace_unref(trace);
    }
}

/* --- second conditions ------------------------------------------------------------------------------------------------------ */

static void long_kernels(struct world *world, int64_t amount_ns)
{
    launch(world, 0, 10, 10, 5000);
    launch(world, 5000, 5010, 5000 + amount_ns, 6000 + amount_ns);
}

static void half_small_copies(struct world *world, int64_t amount_ns)
{
    sync_call(world, 0, 1);
    copy(world, 0, amount_ns, 1, "pinned", "device");
    copy(world, 20000, 30000, 65536, "pinned", "device");
}

static void long_tasks(struct world *world, int64_t amount_ns)
{
    region(world, 0, RUN_NS, 1);
    add(world, world->main, 0, amount_ns, "openmp", "make", SPAN_KIND_TASK_CREATE, NULL);
    add(world, world->main, 10000, 10000 + 10 * amount_ns, "openmp", "task", SPAN_KIND_TASK, NULL);
}

static void half_small_messages(struct world *world, int64_t amount_ns)
{
    call(world, 1, 0, 10, "MPI_Barrier", SPAN_KIND_COLLECTIVE);
    send(world, 0, amount_ns, 8, "standard");
    send(world, 10000, 20000, 1024, "standard");
}

static void stacks_not_asked_for(struct world *world, int64_t amount_ns)
{
    assert_int_equal(trace_builder_set_metadata(world->builder, "sampling.callgraph", "none"), 0);
    split_samples(world, amount_ns, "broken", 0, SAMPLE_TRUNCATED);
}

/* What is said of the thread that is named is its own; the sums say whose they are. */
static void both_hot(struct world *world, int64_t amount_ns)
{
    track_id other = add_track(world->builder, TRACK_KIND_THREAD, "other", (process_id){0}, 43, -1), main = world->main;
    track_id sched = fixture_track(world->builder, TRACK_KIND_SCHED, "", 43);
    samples(world, 0, 60, "hot", 0, 0);
    world->main = other;
    samples(world, 0, 40, "hot", 0, 0);
    world->main = main;
    add(world, world->sched, 0, amount_ns, "", "preempted", SPAN_KIND_BLOCKED, NULL);
    add(world, sched, 0, 3 * amount_ns, "", "preempted", SPAN_KIND_BLOCKED, NULL);
}

static double number_of(const struct advice *advice, const char *name)
{
    for (unsigned i = 0; advice && i < advice->evidence_count; i++)
        if (strcmp(advice->evidence[i].name, name) == 0)
            return advice->evidence[i].value;
    return -1;
}

static void test_numbers_are_of_whom_is_named(void **state)
{
    (void)state;
    struct trace *trace;
    struct advices *advices = judged(both_hot, 10000, &trace);
    const struct advice *hot = find(advices, ADVICE_HOT_FUNCTION), *preempted_most = find(advices, ADVICE_PREEMPTED);
    assert_int_equal(number_of(hot, "self time"), 60000);
    assert_int_equal(number_of(hot, "all threads together"), 100000);
    assert_int_equal(number_of(hot, "of their CPU time"), 100000);
    assert_int_equal(number_of(preempted_most, "without a processor"), 30000);
    assert_int_equal(number_of(preempted_most, "all threads together"), 40000);
    assert_int_equal(number_of(preempted_most, "threads of all processes that were"), 2);
    advices_destroy(advices);
    trace_unref(trace);
}

static void test_rules_with_two_conditions_need_both(void **state)
{
    (void)state;
    static const struct {
        enum advice_rule rule;
        void (*make)(struct world *world, int64_t amount_ns);
        int64_t amount_ns;
    } silent[] = {{ADVICE_SHORT_KERNELS, long_kernels, 20000}, {ADVICE_SMALL_COPIES, half_small_copies, 10000}, {ADVICE_FINE_TASKS, long_tasks, 5000},
                  {ADVICE_SMALL_MESSAGES, half_small_messages, 9000}, {ADVICE_BROKEN_STACKS, stacks_not_asked_for, 50000}};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        struct trace *trace;
        struct advices *advices = judged(silent[i].make, silent[i].amount_ns, &trace);
        if (find(advices, silent[i].rule))
            fail_msg("%s speaks", advice_rule_text(silent[i].rule)->id);
        advices_destroy(advices);
        trace_unref(trace);
    }
}

/* --- what cannot be judged -------------------------------------------------------------------------------------------------- */

static void test_what_cannot_be_judged_says_why(void **state)
{
    (void)state;
    struct trace *trace;
    struct advices *advices = judged(NULL, 0, &trace);
    unsigned unjudged = 0;
    assert_int_equal(advices->count, 0);
    assert_int_equal(advices->judged, 0);
    for (unsigned i = 0; i < ADVICE_NEED_COUNT; i++) {
        assert_non_null(advices->missing[i]);
        unjudged += advices->unjudged[i];
    }
    assert_int_equal(unjudged, ADVICE_RULE_COUNT);
    assert_string_equal(advices->missing[ADVICE_NEED_OPENMP], "no region of OpenMP is in the trace");
    advices_destroy(advices);
    trace_unref(trace);
}

static void few_samples(struct world *world, int64_t amount_ns)
{
    samples(world, 0, amount_ns, "hot", 0, 0);
}

static void test_few_samples_judge_nothing(void **state)
{
    (void)state;
    struct trace *trace;
    struct advices *advices = judged(few_samples, 99, &trace);
    assert_null(find(advices, ADVICE_HOT_FUNCTION));
    assert_int_equal(advices->unjudged[ADVICE_NEED_SAMPLES], 4);
    advices_destroy(advices);
    trace_unref(trace);
}

/* The launcher's own time is no part of the run of its ranks. */
static void test_waits_for_own_threads_and_at_prompts_are_no_news(void **state)
{
    struct trace *trace;
    struct advices *advices = judged(joins, 90000, &trace);
    const struct advice *advice = find(advices, ADVICE_BLOCKED);
    (void)state;
    assert_non_null(advice);
    assert_int_equal(advice->bound_ns, 90000 - 63000); /* who is preempted has work */
    advices_destroy(advices);
    trace_unref(trace);
    advices = judged(joins, 60000, &trace); /* 18 % are left */
    assert_null(find(advices, ADVICE_BLOCKED));
    advices_destroy(advices);
    trace_unref(trace);
    advices = judged(waits_in_calls, 90000, &trace); /* 18.1 % are left */
    assert_null(find(advices, ADVICE_BLOCKED));
    advices_destroy(advices);
    trace_unref(trace);
    advices = judged(prompts, 90000, &trace);
    assert_null(find(advices, ADVICE_BLOCKED));
    advices_destroy(advices);
    trace_unref(trace);
}

static void test_the_run_is_that_of_the_ranks(void **state)
{
    (void)state;
    struct world world;
    struct advices *advices;
    begin(&world);
    for (uint32_t i = 1; i <= 2; i++) {
        struct trace_process *process = trace_builder_process(world.builder, (process_id){i});
        process->start_ns = 20000 + i;
        process->end_ns = 60000 + i;
    }
    struct trace *trace = fixture_finish(world.builder);
    assert_int_equal(advices_create(trace, NULL, NULL, &advices, NULL), 0);
    assert_int_equal(advices->run_ns, 40001);
    advices_destroy(advices);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_rule_speaks_from_its_threshold_on),
        cmocka_unit_test(test_numbers_are_of_whom_is_named),
        cmocka_unit_test(test_rules_with_two_conditions_need_both),
        cmocka_unit_test(test_what_cannot_be_judged_says_why),
        cmocka_unit_test(test_few_samples_judge_nothing),
        cmocka_unit_test(test_waits_for_own_threads_and_at_prompts_are_no_news),
        cmocka_unit_test(test_the_run_is_that_of_the_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
