/* SPDX-License-Identifier: MIT */
/* Probes as the recorder writes them: flat objects of numbers and words without escapes. */
#include "clock_probes.h"

#include "base/array.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_LIMIT_NS INT64_C(1000000000) /* a round trip of longer than that says nothing */
#define RAW_LIMIT_NS (INT64_C(1) << 58)    /* 9 years of uptime */

static const char *find(const char *object, const char *field)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "\"%s\":", field);
    const char *at = strstr(object, wanted);
    return at ? at + strlen(wanted) : NULL;
}

static bool number(const char *object, const char *field, int64_t *ret_value)
{
    const char *at = find(object, field);
    char *end;
    errno = 0;
    long long value = at ? strtoll(at, &end, 10) : 0;
    if (!at || end == at || errno || (*end != ',' && *end != '}'))
        return false;
    *ret_value = value;
    return true;
}

static bool raw_time(const char *object, const char *field, int64_t *ret_ns)
{
    return number(object, field, ret_ns) && *ret_ns >= 0 && *ret_ns < RAW_LIMIT_NS;
}

static bool domain(const char *object, const char *field, uint64_t *ret_value)
{
    const char *at = find(object, field);
    char *end;
    errno = 0;
    unsigned long long value = at && *at == '"' ? strtoull(at + 1, &end, 16) : 0;
    if (!at || *at != '"' || errno || end != at + 17 || *end != '"')
        return false;
    *ret_value = value;
    return true;
}

bool clock_probe_parse(const char *key, const char *value, struct clock_probe *ret_probe)
{
    int64_t peer;
    if (strncmp(key, "clock.probe.", 12) != 0 || !number(value, "peer", &peer) || peer < 0 || peer > INT32_MAX)
        return false;
    ret_probe->peer = (int32_t)peer;
    return raw_time(value, "own_raw_ns", &ret_probe->own_ns) && raw_time(value, "peer_raw_ns", &ret_probe->peer_ns) &&
           number(value, "error_ns", &ret_probe->error_ns) && ret_probe->error_ns >= 0 && ret_probe->error_ns < ERROR_LIMIT_NS &&
           domain(value, "own_domain", &ret_probe->own_domain) && domain(value, "peer_domain", &ret_probe->peer_domain);
}

int clock_probes_read(const struct trace *trace, struct clock_probe **ret_probes, size_t *ret_count)
{
    struct clock_probe *probes = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < trace_metadata_count(trace); i++) {
        const char *key, *value;
        struct clock_probe probe;
        trace_metadata_at(trace, i, &key, &value);
        if (!clock_probe_parse(key, value, &probe))
            continue;
        struct clock_probe *grown = array_reserve(probes, &capacity, count + 1, sizeof *probes);
        if (!grown) {
            free(probes);
            return -ENOMEM;
        }
        probes = grown;
        probes[count++] = probe;
    }
    *ret_probes = probes;
    *ret_count = count;
    return 0;
}
