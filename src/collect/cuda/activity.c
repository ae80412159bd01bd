/* SPDX-License-Identifier: MIT */
/*
 * What ran on the device, from CUPTI's activity records: parsed on the thread that completes a buffer. Buffers come from a
 * pool; past its limit CUPTI is told to drop (or, before 12.9, which crashes then, given a scratch buffer whose records count
 * as dropped).
 */
#include "cuda.h"
#include "../lane_record.h"
#include "../runtime/sys.h"
#include "../loader.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum { BUFFER_BYTES = 2 << 20, BUFFERS = 64, FLUSH_NS = 100000000 };
enum buffer_state { BUFFER_NONE, BUFFER_FREE, BUFFER_USED };
static struct {
    uint8_t *bytes;
    uint32_t state; /* atomic */
} buffers[BUFFERS];
static uint8_t *scratch;
static uint64_t completed; /* buffers, atomic */

static uint8_t *buffer_map(void)
{
    void *bytes = mmap(0, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return bytes == MAP_FAILED ? 0 : bytes;
}

static uint8_t *buffer_take(void)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        uint32_t state = __atomic_load_n(&buffers[i].state, __ATOMIC_ACQUIRE);
        if (state == BUFFER_USED ||
            !__atomic_compare_exchange_n(&buffers[i].state, &state, BUFFER_USED, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        if (!buffers[i].bytes)
            buffers[i].bytes = buffer_map();
        if (buffers[i].bytes)
            return buffers[i].bytes;
        __atomic_store_n(&buffers[i].state, BUFFER_NONE, __ATOMIC_RELEASE);
        return 0;
    }
    return 0;
}

static void buffer_give_back(const uint8_t *bytes)
{
    for (unsigned i = 0; i < BUFFERS; i++)
        if (buffers[i].bytes == bytes)
            __atomic_store_n(&buffers[i].state, BUFFER_FREE, __ATOMIC_RELEASE);
}

static void on_buffer_requested(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_records)
{
    uint8_t *buffer = buffer_take();
    if (!buffer && cuda.cupti.version < CUPTI_VERSION_NULL_BUFFER)
        buffer = scratch;
    *ret_buffer = buffer;
    *ret_size = buffer ? BUFFER_BYTES : 0;
    *ret_records = 0;
}

static void field_if(struct lane_record *record, unsigned position, uint64_t value)
{
    if (value)
        lane_field(record, position, value);
}

static void node_fields(struct lane_record *record, unsigned position, uint64_t node)
{
    field_if(record, position, node);
    if (node)
        record->span.span.stack = cuda_node_stack(node);
}

/* False: without times there is no span; it is counted. */
static bool begin(struct lane_record *record, uint64_t start, uint64_t end, uint32_t device, uint32_t context, uint32_t stream,
                  uint32_t correlation)
{
    if (start == 0 || end == 0 || end < start) {
        __atomic_fetch_add(&cuda.unstamped, 1, __ATOMIC_RELAXED);
        return false;
    }
    cuda_lane_announce(device, context, stream);
    memset(&record->span, 0, sizeof record->span);
    record->count = 0;
    record->span.span.begin = cuda_clock_ticks(start);
    record->span.span.end = cuda_clock_ticks(end);
    record->span.span.layer = CUDA_LAYER;
    record->span.queue = cuda_lane(context, stream);
    record->span.device = (int32_t)device;
    record->span.launch = correlation;
    return true;
}

static void finish(struct lane_record *record, uint32_t name, unsigned kind, unsigned payload)
{
    if (lane_write(record, name, kind, payload))
        __atomic_fetch_add(&cuda.device_records, 1, __ATOMIC_RELAXED);
}

static void on_kernel(const struct cupti_kernel *kernel)
{
    struct lane_record record;
    if (!begin(&record, kernel->start, kernel->end, kernel->device, kernel->context, kernel->stream, kernel->correlation))
        return;
    for (unsigned i = 0; i < 3; i++)
        lane_field(&record, FIELD_KERNEL_grid_x + i, (uint32_t)kernel->grid[i]);
    for (unsigned i = 0; i < 3; i++)
        lane_field(&record, FIELD_KERNEL_block_x + i, (uint32_t)kernel->block[i]);
    if (kernel->queued && kernel->queued <= kernel->start)
        lane_field(&record, FIELD_KERNEL_queued_ns, record.span.span.begin - cuda_clock_ticks(kernel->queued));
    if (kernel->submitted && kernel->submitted <= kernel->start)
        lane_field(&record, FIELD_KERNEL_submitted_ns, record.span.span.begin - cuda_clock_ticks(kernel->submitted));
    lane_field(&record, FIELD_KERNEL_registers, kernel->registers);
    lane_field(&record, FIELD_KERNEL_shared_static, (uint32_t)kernel->shared_static);
    lane_field(&record, FIELD_KERNEL_shared_dynamic, (uint32_t)kernel->shared_dynamic);
    lane_field(&record, FIELD_KERNEL_local, kernel->local);
    for (unsigned i = 0; i < 3 && kernel->cluster[0]; i++)
        lane_field(&record, FIELD_KERNEL_cluster_x + i, kernel->cluster[i]);
    lane_field(&record, FIELD_KERNEL_context, kernel->context);
    field_if(&record, FIELD_KERNEL_graph, kernel->graph_node ? kernel->graph : 0);
    node_fields(&record, FIELD_KERNEL_graph_node, kernel->graph_node);
    if (!kernel->graph_node)
        __atomic_fetch_add(&cuda.launched_kernels, 1, __ATOMIC_RELAXED);
    const char *name = kernel->name ? kernel->name : "kernel without a name";
    finish(&record, rt_string(name, strlen(name)), SPAN_KIND_KERNEL, PAYLOAD_KERNEL);
}

static const char *copy_direction(uint8_t kind)
{
    static const char *const names[] = {0, "host-to-device", "device-to-host", "host-to-device", "device-to-host", "device-to-device",
                                        "device-to-device", "device-to-device", "device-to-device", "host-to-host", "peer"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : 0;
}

static const char *copy_name(uint8_t kind)
{
    static const char *const names[] = {"copy", "copy host to device", "copy device to host", "copy host to array", "copy array to host",
                                        "copy array to array", "copy array to device", "copy device to array", "copy device to device",
                                        "copy host to host", "copy device to peer"};
    return names[kind < sizeof names / sizeof names[0] ? kind : 0];
}

static void on_memcpy(const struct cupti_memcpy *copy)
{
    struct lane_record record;
    if (!begin(&record, copy->start, copy->end, copy->device, copy->context, copy->stream, copy->correlation))
        return;
    const char *direction = copy_direction(copy->copy_kind);
    if (direction)
        lane_field(&record, FIELD_COPY_direction, cuda_word(direction));
    lane_field(&record, FIELD_COPY_bytes, copy->bytes);
    field_if(&record, FIELD_COPY_source_memory, cuda_memory_word(copy->source_kind));
    field_if(&record, FIELD_COPY_destination_memory, cuda_memory_word(copy->destination_kind));
    lane_field(&record, FIELD_COPY_context, copy->context);
    field_if(&record, FIELD_COPY_graph, copy->graph_node ? copy->graph : 0);
    node_fields(&record, FIELD_COPY_graph_node, copy->graph_node);
    finish(&record, cuda_word(copy_name(copy->copy_kind)), SPAN_KIND_COPY, PAYLOAD_COPY);
}

static void on_memcpy_peer(const struct cupti_memcpy_peer *copy)
{
    struct lane_record record;
    if (!begin(&record, copy->start, copy->end, copy->device, copy->context, copy->stream, copy->correlation))
        return;
    lane_field(&record, FIELD_COPY_direction, cuda_word("peer"));
    lane_field(&record, FIELD_COPY_bytes, copy->bytes);
    field_if(&record, FIELD_COPY_source_memory, cuda_memory_word(copy->source_kind));
    field_if(&record, FIELD_COPY_destination_memory, cuda_memory_word(copy->destination_kind));
    lane_field(&record, FIELD_COPY_source_device, copy->source_device);
    lane_field(&record, FIELD_COPY_destination_device, copy->destination_device);
    lane_field(&record, FIELD_COPY_context, copy->context);
    field_if(&record, FIELD_COPY_graph, copy->graph_node ? copy->graph : 0);
    node_fields(&record, FIELD_COPY_graph_node, copy->graph_node);
    finish(&record, cuda_word("copy device to peer"), SPAN_KIND_COPY, PAYLOAD_COPY);
}

static void on_memset(const struct cupti_memset *fill)
{
    struct lane_record record;
    if (!begin(&record, fill->start, fill->end, fill->device, fill->context, fill->stream, fill->correlation))
        return;
    lane_field(&record, FIELD_FILL_bytes, fill->bytes);
    lane_field(&record, FIELD_FILL_value, fill->value);
    field_if(&record, FIELD_FILL_memory, cuda_memory_word(fill->memory_kind));
    lane_field(&record, FIELD_FILL_context, fill->context);
    field_if(&record, FIELD_FILL_graph, fill->graph_node ? fill->graph : 0);
    node_fields(&record, FIELD_FILL_graph_node, fill->graph_node);
    finish(&record, cuda_word("fill"), SPAN_KIND_FILL, PAYLOAD_FILL);
}

/* A graph as a whole, where its nodes are not asked for. */
static void on_graph(const struct cupti_graph_trace *graph)
{
    struct lane_record record;
    if (!begin(&record, graph->start, graph->end, graph->device, graph->context, graph->stream, graph->correlation))
        return;
    lane_field(&record, FIELD_KERNEL_context, graph->context);
    lane_field(&record, FIELD_KERNEL_graph, graph->graph);
    lane_field(&record, FIELD_KERNEL_opaque, 1);
    finish(&record, cuda_word("graph"), SPAN_KIND_GRAPH, PAYLOAD_KERNEL);
}

static void on_context(const struct cupti_context *context)
{
    cuda_lane_null_stream(context->context, context->null_stream);
}

static void on_record(const struct cupti_record *record)
{
    const void *body = record;
    switch (record->kind) {
    case CUPTI_KERNEL:
    case CUPTI_KERNEL_SERIAL:
        on_kernel(body);
        break;
    case CUPTI_MEMCPY:
        on_memcpy(body);
        break;
    case CUPTI_MEMCPY_PEER:
        on_memcpy_peer(body);
        break;
    case CUPTI_MEMSET:
        on_memset(body);
        break;
    case CUPTI_GRAPH_TRACE:
        on_graph(body);
        break;
    case CUPTI_CONTEXT:
        on_context(body);
        break;
    default:
        if (!cuda_on_memory_record(record))
            cuda_on_overhead_record(record);
        break;
    }
}

static void on_buffer_completed(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    __atomic_fetch_add(&completed, 1, __ATOMIC_ACQ_REL);
    struct cupti_record *record = 0;
    bool is_scratch = buffer == scratch;
    while (buffer && valid && cuda.cupti.next_record(buffer, valid, &record) == CUPTI_OK)
        if (is_scratch)
            __atomic_fetch_add(&cuda.dropped, 1, __ATOMIC_RELAXED);
        else
            on_record(record);
    size_t dropped = 0;
    if (cuda.cupti.dropped(context, stream, &dropped) == CUPTI_OK && dropped)
        __atomic_fetch_add(&cuda.dropped, dropped, __ATOMIC_RELAXED);
    if (!is_scratch)
        buffer_give_back(buffer);
}

/*
 * CUPTI hands over a buffer when it is full. So that a program that is killed loses little, a thread of ours asks for what
 * there is when none came for a while; asking slows the launches down. It takes none of the program's signals.
 */
static void *flusher_main(void *unused)
{
    uint64_t seen = 0;
    const struct timespec pause = {.tv_nsec = FLUSH_NS};
    static const char name[16] = "hprofiler cuda";
    sys_call(__NR_prctl, PR_SET_NAME, name, 0, 0);
    while (!__atomic_load_n(&cuda.ended, __ATOMIC_ACQUIRE)) {
        nanosleep(&pause, 0);
        if (__atomic_load_n(&cuda.active, __ATOMIC_ACQUIRE) && !__atomic_load_n(&cuda.ended, __ATOMIC_ACQUIRE)) {
            uint64_t now = __atomic_load_n(&completed, __ATOMIC_ACQUIRE);
            cuda_own_calls(true);
            if (now == seen)
                cuda.cupti.flush(0);
            seen = now;
            cuda_sampling_collect(false);
        }
    }
    return unused;
}

static void flusher_start(void)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = 0;
    void *found = dlsym(RTLD_DEFAULT, "pthread_create");
    uint64_t all = UINT64_MAX, before = 0;
    pthread_t thread;
    memcpy(&create, &found, sizeof found);
    sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    if (!create || create(&thread, 0, flusher_main, 0) != 0)
        rt_note("no thread for CUDA's records could be made: a program that is killed loses its last ones");
    sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
}

bool cuda_activity_start(void)
{
    static const uint32_t kinds[] = {CUPTI_CONTEXT, CUPTI_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY_PEER, CUPTI_MEMSET};
    static const uint32_t more[] = {CUPTI_MEMORY, CUPTI_MEMORY_POOL, CUPTI_OVERHEAD, CUPTI_JIT}; /* good to have */
    scratch = buffer_map();
    if (!scratch || cuda.cupti.register_buffers(on_buffer_requested, on_buffer_completed) != CUPTI_OK)
        return false;
    bool any = false;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        any |= cuda.cupti.enable(kinds[i]) == CUPTI_OK;
    for (unsigned i = 0; i < sizeof more / sizeof more[0]; i++)
        cuda.cupti.enable(more[i]);
    if (rt_flags() & WIRE_SESSION_WHOLE_GRAPHS && cuda.cupti.enable(CUPTI_GRAPH_TRACE) != CUPTI_OK)
        rt_note("this libcupti cannot time a graph as a whole: its nodes are recorded");
    if (any)
        flusher_start();
    return any;
}

void cuda_activity_finish(void)
{
    cuda.cupti.flush(1);
}
