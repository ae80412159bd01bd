/* SPDX-License-Identifier: MIT */
/*
 * What is mapped executable, into the process log: code addresses in records mean nothing without it. A page that was looked up
 * before costs one load. An unknown one has /proc/self/maps read, of which only lines that are new are written. A library
 * that came where another had been is noticed when an unknown address makes us look again.
 */
#include "runtime.h"

#include <asm/fcntl.h>
#include <linux/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PAGE_SHIFT 12
#define TEXT_BYTES 4096u
#define SEEN_PAGES 2048u
#define RANGES 1024u
#define LOOKS_WHEN_FULL 64u /* each writes again what there was no room for */

struct range {
    uint64_t start, end;
    uint64_t hash; /* of its line; 0: nothing is mapped there */
};

/* In memory that fork wipes, as the child's log knows nothing of it. */
struct code {
    uint32_t busy, again;
    uint32_t count;
    uint32_t looks_when_full;
    uint64_t listed_at;
    uint64_t seen[SEEN_PAGES];    /* page numbers */
    struct range ranges[RANGES];  /* appended only; of one start the last holds */
    struct {
        uint64_t time;
        char text[TEXT_BYTES];
    } body;                       /* behind a record's header */
};
static struct code *code;

static struct code *code_get(void)
{
    struct code *table = rt_load(&code);
    if (table || rt.no_new_files)
        return table;
    void *map = sys_mmap(0, sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error((long)map))
        return 0;
    if (rt.wipes)
        sys_call(__NR_madvise, map, sizeof *table, MADV_WIPEONFORK, 0);
    if (__atomic_compare_exchange_n(&code, &table, (struct code *)map, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return map;
    sys_call(__NR_munmap, map, sizeof *table, 0, 0);
    return table;
}

/* Where the kernel can't wipe, the child does it itself. */
void rt_code_forget(void)
{
    if (code && !rt.wipes)
        __builtin_memset(code, 0, sizeof *code);
}

static const struct range *range_find(const struct code *table, uint64_t address)
{
    for (uint32_t i = rt_load(&table->count); i-- > 0;)
        if (table->ranges[i].start <= address && address < table->ranges[i].end)
            return &table->ranges[i];
    return 0;
}

static void range_add(struct code *table, uint64_t start, uint64_t end, uint64_t hash)
{
    uint32_t count = table->count;
    if (count == RANGES)
        return;
    table->ranges[count] = (struct range){start, end, hash};
    rt_store(&table->count, count + 1);
}

static const char *hex_read(const char *at, const char *end, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (; at < end; at++) {
        unsigned digit = (unsigned char)*at, letter = (digit | 32) - 'a';
        if (digit - '0' < 10)
            number = number << 4 | (digit - '0');
        else if (letter < 6)
            number = number << 4 | (letter + 10);
        else
            break;
    }
    *ret_number = number;
    return at;
}

/* A line "start-end perms ..." that is executable and says something new: remembered from now on. */
static bool line_is_new(struct code *table, const char *line, const char *end)
{
    uint64_t first, last, hash = 0x9e3779b97f4a7c15ull;
    const char *at = hex_read(line, end, &first);
    at = at < end ? hex_read(at + 1, end, &last) : end;
    if (end - at < 5 || at[3] != 'x')
        return false;
    for (const char *letter = line; letter < end; letter++)
        hash = (hash ^ (unsigned char)*letter) * 0x100000001b3ull;
    const struct range *known = range_find(table, first);
    if (known && known->start == first && known->hash == (hash | 1))
        return false;
    range_add(table, first, last, hash | 1);
    return true;
}

/* Keeps the new lines of a piece of the file at its front; returns how many bytes at the end are no whole line. */
static uint32_t text_filter(struct code *table, uint32_t length, uint32_t *ret_kept)
{
    char *text = table->body.text;
    uint32_t kept = 0, begin = 0;
    for (uint32_t i = 0; i < length; i++) {
        if (text[i] != '\n')
            continue;
        if (line_is_new(table, text + begin, text + i)) {
            __builtin_memmove(text + kept, text + begin, i + 1 - begin);
            kept += i + 1 - begin;
        }
        begin = i + 1;
    }
    *ret_kept = kept;
    return length - begin;
}

static void text_write(struct code *table, uint32_t length)
{
    table->body.time = rt_clock();
    uint32_t bytes = (uint32_t)sizeof(struct wire_target_maps) + wire_round_up(length);
    const struct wire_header header = {WIRE_TARGET_MAPS, (uint16_t)(bytes / 8), length};
    rt_log_append(&header, &table->body, (uint32_t)sizeof table->body.time + length, 0);
}

/* The mapping, of those in a piece of the file, that holds the address. *ret_rest: bytes at the end that are no whole line. */
static bool text_search(const char *text, uint32_t length, uint64_t address, uint64_t *ret_start, uint64_t *ret_end, uint32_t *ret_rest)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < length; i++) {
        if (text[i] != '\n')
            continue;
        const char *at = hex_read(text + begin, text + i, ret_start);
        *ret_end = 0;
        if (at < text + i)
            hex_read(at + 1, text + i, ret_end);
        if (address >= *ret_start && address < *ret_end)
            return true;
        begin = i + 1;
    }
    *ret_rest = length - begin;
    return false;
}

bool rt_mapping_find(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
    char text[1024];
    uint64_t start = 0, end = 0;
    uint32_t have = 0;
    bool found = false;
    if (rt.no_new_files)
        return false;
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    while (fd >= 0 && !found) {
        long got = sys_call(__NR_read, fd, text + have, sizeof text - have, 0);
        if (got <= 0)
            break;
        uint32_t length = have + (uint32_t)got, rest = 0;
        found = text_search(text, length, address, &start, &end, &rest);
        const char *unread = text + length - rest;
        have = rest < sizeof text ? rest : 0; /* the rest of so long a line begins with no numbers */
        __builtin_memmove(text, unread, have);
    }
    if (fd >= 0)
        sys_close((int)fd);
    *ret_start = start;
    *ret_end = end;
    return found;
}

static void maps_read(struct code *table)
{
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    char *text = table->body.text;
    uint32_t have = 0;
    while (fd >= 0) {
        long got = sys_call(__NR_read, fd, text + have, TEXT_BYTES - have, 0);
        if (got <= 0)
            break;
        uint32_t length = have + (uint32_t)got, kept;
        uint32_t rest = text_filter(table, length, &kept);
        char *unread = text + length - rest;
        if (kept)
            text_write(table, kept);
        have = rest < TEXT_BYTES ? rest : 0; /* a line longer than a page: skipped */
        __builtin_memmove(text, unread, have);
    }
    if (fd >= 0)
        sys_close((int)fd);
    rt_store(&table->listed_at, rt_clock());
}

/* Who finds it busy leaves word, and whoever is at it lists once more: what was mapped meanwhile must not be missed. */
static bool list(struct code *table)
{
    rt_store(&table->again, 1u);
    while (rt_load(&table->again)) {
        uint32_t expected = 0;
        if (!__atomic_compare_exchange_n(&table->busy, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return false;
        rt_store(&table->again, 0u);
        maps_read(table);
        rt_store(&table->busy, 0u);
    }
    return true;
}

void rt_code_list(void)
{
    struct code *table = rt.no_new_files || !rt_ready() ? 0 : code_get();
    if (table)
        list(table);
}

uint64_t rt_code_listed_at(void)
{
    struct code *table = rt_load(&code);
    return table ? rt_load(&table->listed_at) : 0;
}

static bool may_look(struct code *table)
{
    return rt_load(&table->count) < RANGES || rt_add(&table->looks_when_full, 1u) < LOOKS_WHEN_FULL;
}

/* A page that is in no mapping even after a look (code that came and went) is noted as such: no look for each of its calls. */
static RT_COLD void page_learn(uint64_t page)
{
    struct code *table = rt_ready() ? code_get() : 0;
    uint64_t address = page << PAGE_SHIFT;
    if (!table)
        return;
    if (!range_find(table, address) && !rt.no_new_files && may_look(table)) {
        if (!list(table))
            return;
        uint32_t expected = 0;
        if (!range_find(table, address) &&
            __atomic_compare_exchange_n(&table->busy, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            range_add(table, address, address + (1u << PAGE_SHIFT), 0);
            rt_store(&table->busy, 0u);
        }
    }
    __atomic_store_n(&table->seen[page % SEEN_PAGES], page, __ATOMIC_RELAXED);
}

void rt_code(const void *address)
{
    uint64_t page = (uintptr_t)address >> PAGE_SHIFT;
    const struct code *table = rt_load(&code);
    if (RT_LIKELY(table && __atomic_load_n(&table->seen[page % SEEN_PAGES], __ATOMIC_RELAXED) == page))
        return;
    if (page && rt_load(&rt.state) != RT_OFF)
        page_learn(page);
}
