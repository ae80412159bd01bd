/* SPDX-License-Identifier: MIT */
/*
 * NVTX: the marks and ranges that a program sets itself. The program's NVTX (header-only version 3, or the library of version
 * 2) loads us by NVTX_INJECTION64_PATH and lets us fill its tables of functions; no CUDA is needed for that. Handles that we
 * give out are numbers of texts. Push and pop nest by thread and domain; ranges by start and end don't and get a lane.
 */
#include "nvtx.h"

#include "../lane_record.h"
#include "../runtime/sys.h"

#include <linux/mman.h>
#include <string.h>
#include <wchar.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define NVTX_LAYER WIRE_LAYER_USER
#define EXPORT __attribute__((visibility("default")))

enum { TABLE_CALLBACKS = 1, MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };
enum {
    CORE_MARK_EX = 1, CORE_MARK_A, CORE_MARK_W, CORE_START_EX, CORE_START_A, CORE_START_W, CORE_END, CORE_PUSH_EX, CORE_PUSH_A,
    CORE_PUSH_W, CORE_POP, CORE_CATEGORY_A, CORE_CATEGORY_W,
};
enum {
    CORE2_MARK_EX = 1, CORE2_START_EX, CORE2_END, CORE2_PUSH_EX, CORE2_POP,
    CORE2_CATEGORY_A = 8, CORE2_CATEGORY_W, CORE2_STRING_A, CORE2_STRING_W, CORE2_DOMAIN_A, CORE2_DOMAIN_W, CORE2_DOMAIN_DESTROY,
    CORE2_INITIALIZE,
};

typedef const void *(*get_export_table)(uint32_t id);

/* nvtxEventAttributes_t, versions 1 to 3. */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double number;
        uint32_t u32;
        int32_t i32;
        float single;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
        void *registered;
    } message;
};
_Static_assert(sizeof(struct attributes) == 48, "as NVTX lays it out");

struct event {
    uint32_t name, domain;
    uint32_t present;
    uint32_t count;
    uint64_t fields[4]; /* of payload range */
};

/* Pushed ranges of a thread. Pages of threads that ended are used again. */
enum { RANGES_OF_A_THREAD = 72, PAGES = 4096 };
struct open_range {
    uint64_t begin;
    struct event event;
};
struct thread_ranges {
    int32_t tid;
    uint32_t wiped;         /* 1: the kernel zeroes this page in a child of fork */
    uint32_t count, beyond; /* beyond: pushed deeper than there is room, not recorded */
    struct open_range ranges[RANGES_OF_A_THREAD];
};
static struct thread_ranges *pages[PAGES];
static uint32_t page_count;
static __thread struct thread_ranges *own_ranges;

/* Ranges by start and end, by id. */
enum { STARTED = 1 << 14, STARTED_TRIES = 64 };
static struct {
    uint64_t id, begin;
    struct event event;
} *started;

/* Names of categories by (domain, category). */
enum { CATEGORIES = 1024, CATEGORY_TRIES = 16 };
static struct {
    uint64_t key;
    uint32_t name;
} categories[CATEGORIES];

/* A handle is the number of a text. NULL, the default domain, is 0. */
static void *handle_of(uint32_t id)
{
    return (void *)(uintptr_t)id;
}
static uint32_t id_of(const void *handle)
{
    return (uint32_t)(uintptr_t)handle;
}

static uint32_t *category_slot(uint32_t domain, uint32_t category)
{
    uint64_t key = ((uint64_t)domain << 32 | category) + 1, hash = key * 0x9e3779b97f4a7c15ull;
    for (unsigned i = 0; i < CATEGORY_TRIES; i++) {
        uint64_t expected = 0, *slot = &categories[((hash >> 44) + i) % CATEGORIES].key;
        if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == key ||
            __atomic_compare_exchange_n(slot, &expected, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || expected == key)
            return &categories[((hash >> 44) + i) % CATEGORIES].name;
    }
    return 0;
}

static void category_name(uint32_t domain, uint32_t category, uint32_t name)
{
    uint32_t *slot = category_slot(domain, category);
    if (slot)
        __atomic_store_n(slot, name, __ATOMIC_RELEASE);
}

static void event_field(struct event *event, unsigned position, uint64_t value)
{
    event->fields[event->count++] = value;
    event->present |= 1u << position;
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void event_payload(struct event *event, const struct attributes *attributes)
{
    switch (attributes->payload_type) {
    case 1: /* unsigned 64 bits */
    case 2:
        event_field(event, FIELD_RANGE_value, attributes->payload.u64);
        break;
    case 3:
        event_field(event, FIELD_RANGE_number, double_bits(attributes->payload.number));
        break;
    case 4:
        event_field(event, FIELD_RANGE_value, attributes->payload.u32);
        break;
    case 5:
        event_field(event, FIELD_RANGE_value, (uint64_t)(int64_t)attributes->payload.i32);
        break;
    case 6:
        event_field(event, FIELD_RANGE_number, double_bits((double)attributes->payload.single));
        break;
    default:
        break;
    }
}

static struct event event_of(const void *domain, const struct attributes *attributes)
{
    struct event event = {.domain = id_of(domain)};
    if (!attributes)
        return event;
    if (attributes->message_type == MESSAGE_ASCII)
        event.name = nvtx_text(attributes->message.ascii);
    else if (attributes->message_type == MESSAGE_UNICODE)
        event.name = nvtx_wide_text(attributes->message.unicode);
    else if (attributes->message_type == MESSAGE_REGISTERED)
        event.name = id_of(attributes->message.registered);
    uint32_t *category = attributes->category ? category_slot(event.domain, attributes->category) : 0;
    uint32_t category_text = category ? __atomic_load_n(category, __ATOMIC_ACQUIRE) : 0;
    if (category_text)
        event_field(&event, FIELD_RANGE_group, category_text);
    event_payload(&event, attributes);
    if (attributes->colour_type == 1)
        event_field(&event, FIELD_RANGE_colour, attributes->colour);
    return event;
}

static uint32_t category_of(const struct event *event)
{
    return event->domain ? event->domain : nvtx_text("nvtx");
}

static uint32_t name_of(const struct event *event)
{
    return event->name ? event->name : nvtx_text("(no message)");
}

static void mark(struct event event)
{
    rt_instant(NVTX_LAYER, name_of(&event), category_of(&event));
}

static void write_range(const struct event *event, uint64_t begin)
{
    struct rt_span span;
    span.begin = begin;
    span.end = rt_now();
    span.correlation = 0;
    span.name = name_of(event);
    span.category = category_of(event);
    span.stack = 0;
    span.present = event->present;
    span.layer = NVTX_LAYER;
    span.span_kind = SPAN_KIND_RANGE;
    span.payload_kind = event->present ? PAYLOAD_RANGE : 0;
    memcpy(span.fields, event->fields, event->count * sizeof event->fields[0]);
    rt_span(&span);
}

static bool thread_lives(int32_t tid)
{
    return sys_call(__NR_tgkill, sys_pid(), tid, 0, 0) == 0;
}

/* This thread's page: new, or one whose thread is gone. */
static struct thread_ranges *ranges_get(void)
{
    if (own_ranges && own_ranges->tid && own_ranges->wiped)
        return own_ranges;
    int32_t tid = (int32_t)sys_tid();
    if (own_ranges && own_ranges->tid == tid)
        return own_ranges;
    uint32_t count = __atomic_load_n(&page_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < PAGES; i++) {
        struct thread_ranges *page = __atomic_load_n(&pages[i], __ATOMIC_ACQUIRE);
        int32_t owner = page ? __atomic_load_n(&page->tid, __ATOMIC_ACQUIRE) : 0;
        if (!page || (owner != tid && thread_lives(owner)) ||
            !__atomic_compare_exchange_n(&page->tid, &owner, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        page->count = page->beyond = 0;
        return own_ranges = page;
    }
    void *map = sys_mmap(0, sizeof *own_ranges, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t index = __atomic_fetch_add(&page_count, 1, __ATOMIC_ACQ_REL);
    if (sys_is_error((long)map))
        return 0;
    own_ranges = map;
    own_ranges->wiped = !sys_is_error(sys_call(__NR_madvise, map, sizeof *own_ranges, MADV_WIPEONFORK, 0));
    own_ranges->tid = tid;
    if (index < PAGES)
        __atomic_store_n(&pages[index], own_ranges, __ATOMIC_RELEASE);
    return own_ranges;
}

/* Levels count from 0, by domain. */
static int level_of(const struct thread_ranges *own, uint32_t domain)
{
    int level = 0;
    for (uint32_t i = 0; i < own->count; i++)
        level += own->ranges[i].event.domain == domain;
    return level;
}

static int push(struct event event)
{
    struct thread_ranges *own = ranges_get();
    if (!own)
        return -1;
    int level = level_of(own, event.domain);
    if (own->count == RANGES_OF_A_THREAD) {
        own->beyond++;
        return level;
    }
    own->ranges[own->count].event = event;
    own->ranges[own->count++].begin = rt_now();
    return level;
}

static int pop(uint32_t domain)
{
    struct thread_ranges *own = ranges_get();
    if (!own || (own->count == 0 && own->beyond == 0))
        return -2; /* NVTX_NO_PUSH_POP_TRACKING */
    if (own->beyond) {
        own->beyond--;
        return level_of(own, domain);
    }
    for (uint32_t i = own->count; i-- > 0;) {
        if (own->ranges[i].event.domain != domain)
            continue;
        const struct open_range range = own->ranges[i];
        own->count--;
        memmove(&own->ranges[i], &own->ranges[i + 1], (own->count - i) * sizeof range);
        write_range(&range.event, range.begin);
        return level_of(own, domain);
    }
    return -2;
}

static uint64_t range_start(struct event event)
{
    uint64_t id = rt_correlation();
    for (unsigned i = 0; started && i < STARTED_TRIES; i++) {
        uint64_t expected = 0, *slot = &started[(id * 31 + i) % STARTED].id;
        if (!__atomic_compare_exchange_n(slot, &expected, UINT64_MAX, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        started[(id * 31 + i) % STARTED].event = event;
        started[(id * 31 + i) % STARTED].begin = rt_now();
        __atomic_store_n(slot, id, __ATOMIC_RELEASE);
        break;
    }
    return id;
}

/* On a lane of the ranges' own: they begin and end on any thread and overlap. */
static void write_started(const struct event *event, uint64_t begin)
{
    struct lane_record record = {.span = {.queue = 1, .device = -1}};
    record.span.span.begin = begin;
    record.span.span.end = rt_now();
    record.span.span.category = category_of(event);
    record.span.span.layer = NVTX_LAYER;
    record.span.span.present = event->present;
    record.count = event->count;
    memcpy(record.fields, event->fields, event->count * sizeof event->fields[0]);
    lane_write(&record, name_of(event), SPAN_KIND_RANGE, PAYLOAD_RANGE);
}

static void range_end(uint64_t id)
{
    for (unsigned i = 0; started && id && i < STARTED_TRIES; i++) {
        uint64_t expected = id, *slot = &started[(id * 31 + i) % STARTED].id;
        if (!__atomic_compare_exchange_n(slot, &expected, UINT64_MAX, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        write_started(&started[(id * 31 + i) % STARTED].event, started[(id * 31 + i) % STARTED].begin);
        __atomic_store_n(slot, 0, __ATOMIC_RELEASE);
        return;
    }
}

static struct event plain(const char *message)
{
    return (struct event){.name = nvtx_text(message)};
}
static struct event plain_wide(const wchar_t *message)
{
    return (struct event){.name = nvtx_wide_text(message)};
}

/* The program's functions, in the order of NVTX's tables. */
static void core_mark_ex(const struct attributes *event) { mark(event_of(0, event)); }
static void core_mark_a(const char *message) { mark(plain(message)); }
static void core_mark_w(const wchar_t *message) { mark(plain_wide(message)); }
static uint64_t core_start_ex(const struct attributes *event) { return range_start(event_of(0, event)); }
static uint64_t core_start_a(const char *message) { return range_start(plain(message)); }
static uint64_t core_start_w(const wchar_t *message) { return range_start(plain_wide(message)); }
static void core_end(uint64_t id) { range_end(id); }
static int core_push_ex(const struct attributes *event) { return push(event_of(0, event)); }
static int core_push_a(const char *message) { return push(plain(message)); }
static int core_push_w(const wchar_t *message) { return push(plain_wide(message)); }
static int core_pop(void) { return pop(0); }
static void core_category_a(uint32_t category, const char *name) { category_name(0, category, nvtx_text(name)); }
static void core_category_w(uint32_t category, const wchar_t *name) { category_name(0, category, nvtx_wide_text(name)); }
static void core2_mark_ex(void *domain, const struct attributes *event) { mark(event_of(domain, event)); }
static uint64_t core2_start_ex(void *domain, const struct attributes *event) { return range_start(event_of(domain, event)); }
static void core2_end(void *domain, uint64_t id) { (void)domain; range_end(id); }
static int core2_push_ex(void *domain, const struct attributes *event) { return push(event_of(domain, event)); }
static int core2_pop(void *domain) { return pop(id_of(domain)); }
static void core2_category_a(void *domain, uint32_t category, const char *name) { category_name(id_of(domain), category, nvtx_text(name)); }
static void core2_category_w(void *domain, uint32_t category, const wchar_t *name) { category_name(id_of(domain), category, nvtx_wide_text(name)); }
static void *core2_string_a(void *domain, const char *text) { (void)domain; return handle_of(nvtx_text(text)); }
static void *core2_string_w(void *domain, const wchar_t *text) { (void)domain; return handle_of(nvtx_wide_text(text)); }
static void *core2_domain_a(const char *name) { return handle_of(nvtx_text(name)); }
static void *core2_domain_w(const wchar_t *name) { return handle_of(nvtx_wide_text(name)); }

static const struct filling core[] = {
    FILL(CORE_MARK_EX, core_mark_ex), FILL(CORE_MARK_A, core_mark_a), FILL(CORE_MARK_W, core_mark_w),
    FILL(CORE_START_EX, core_start_ex), FILL(CORE_START_A, core_start_a), FILL(CORE_START_W, core_start_w),
    FILL(CORE_END, core_end), FILL(CORE_PUSH_EX, core_push_ex), FILL(CORE_PUSH_A, core_push_a), FILL(CORE_PUSH_W, core_push_w),
    FILL(CORE_POP, core_pop), FILL(CORE_CATEGORY_A, core_category_a), FILL(CORE_CATEGORY_W, core_category_w),
};
static const struct filling core2[] = {
    FILL(CORE2_MARK_EX, core2_mark_ex), FILL(CORE2_START_EX, core2_start_ex), FILL(CORE2_END, core2_end),
    FILL(CORE2_PUSH_EX, core2_push_ex), FILL(CORE2_POP, core2_pop), FILL(CORE2_CATEGORY_A, core2_category_a),
    FILL(CORE2_CATEGORY_W, core2_category_w), FILL(CORE2_STRING_A, core2_string_a), FILL(CORE2_STRING_W, core2_string_w),
    FILL(CORE2_DOMAIN_A, core2_domain_a), FILL(CORE2_DOMAIN_W, core2_domain_w),
};

static void announce_lane(void)
{
    const struct wire_queue record = {
        .header = {WIRE_QUEUE, sizeof record / 8, nvtx_text("NVTX ranges")},
        .time = rt_now(),
        .queue = 1,
        .device = -1,
        .stream = -1,
        .layer = NVTX_LAYER,
    };
    rt_append(&record.header);
}

EXPORT int InitializeInjectionNvtx2(get_export_table get);
EXPORT int InitializeInjectionNvtx(get_export_table get);

/* Each NVTX of a process (several shared objects may have one) calls this. 1 = attached. */
int InitializeInjectionNvtx2(get_export_table get)
{
    static uint32_t ready;
    const struct callbacks *callbacks = get ? get(TABLE_CALLBACKS) : 0;
    if (!callbacks || callbacks->size < sizeof *callbacks || !callbacks->get_table)
        return 0;
    if (!__atomic_exchange_n(&ready, 1, __ATOMIC_ACQ_REL)) {
        if (!rt_register(NVTX_LAYER, "nvtx"))
            return 0;
        void *map = sys_mmap(0, STARTED * sizeof *started, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        started = sys_is_error((long)map) ? 0 : map;
        announce_lane();
    }
    nvtx_fill(callbacks, NVTX_CORE, core, sizeof core / sizeof core[0]);
    nvtx_fill(callbacks, NVTX_CORE2, core2, sizeof core2 / sizeof core2[0]);
    nvtx_names_fill(callbacks);
    return 1;
}

int InitializeInjectionNvtx(get_export_table get)
{
    return InitializeInjectionNvtx2(get);
}
