/* SPDX-License-Identifier: MIT */
/* Constructs for devices, as the host sees them: libgomp runs them on the device or, where there is none, on the host. */
#include "gomp.h"

struct target {
    uint64_t begin, region;
};

INLINE struct target target_begin(struct gomp_state *state)
{
    return (struct target){.begin = rt_now(), .region = gomp_id(state)};
}

static void target_end(struct gomp_state *state, struct target target, enum gomp_name name, const void *caller, uint32_t stack)
{
    struct rt_span span;
    gomp_span(&span, name, SPAN_KIND_TARGET, PAYLOAD_REGION, target.begin, rt_now());
    span.stack = stack;
    rt_field(&span, FIELD_REGION_region, target.region);
    rt_field(&span, FIELD_REGION_code, gomp_code(caller, SPAN_KIND_TARGET, state));
    rt_field(&span, FIELD_REGION_hook, gomp_name(NAME_GOMP_GOMP));
    gomp_field_if(&span, FIELD_REGION_encountering_task, state->part.task);
    rt_span(&span);
}

/* One function a row: TARGET(name, what it is called in the trace, its parameters, the arguments for the real one). */
#define TARGET(name, text, parameters, arguments)                                                                      \
    GOMP_EXPORT void name parameters                                                                                   \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass)) {                                                                                \
            call.api->name arguments;                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        struct target target = target_begin(call.state);                                                               \
        call.api->name arguments;                                                                                      \
        target_end(call.state, target, text, CALLER(), gomp_stack());                                                  \
    }
enum { FLAG_EXIT_DATA = 1 << 1 };

TARGET(GOMP_target, NAME_GOMP_TARGET,
       (int device, gomp_function function, const void *unused, size_t count, void **hosts, size_t *sizes, unsigned char *kinds),
       (device, function, unused, count, hosts, sizes, kinds))
TARGET(GOMP_target_ext, NAME_GOMP_TARGET,
       (int device, gomp_function function, size_t count, void **hosts, size_t *sizes, unsigned short *kinds, unsigned flags, void **depend, void **arguments),
       (device, function, count, hosts, sizes, kinds, flags, depend, arguments))
TARGET(GOMP_target_data, NAME_GOMP_TARGET_DATA,
       (int device, const void *unused, size_t count, void **hosts, size_t *sizes, unsigned char *kinds), (device, unused, count, hosts, sizes, kinds))
TARGET(GOMP_target_data_ext, NAME_GOMP_TARGET_DATA,
       (int device, size_t count, void **hosts, size_t *sizes, unsigned short *kinds), (device, count, hosts, sizes, kinds))
TARGET(GOMP_target_end_data, NAME_GOMP_TARGET_END_DATA, (void), ())
TARGET(GOMP_target_update, NAME_GOMP_TARGET_UPDATE,
       (int device, const void *unused, size_t count, void **hosts, size_t *sizes, unsigned char *kinds), (device, unused, count, hosts, sizes, kinds))
TARGET(GOMP_target_update_ext, NAME_GOMP_TARGET_UPDATE,
       (int device, size_t count, void **hosts, size_t *sizes, unsigned short *kinds, unsigned flags, void **depend),
       (device, count, hosts, sizes, kinds, flags, depend))
TARGET(GOMP_target_enter_exit_data, flags & FLAG_EXIT_DATA ? NAME_GOMP_TARGET_EXIT_DATA : NAME_GOMP_TARGET_ENTER_DATA,
       (int device, size_t count, void **hosts, size_t *sizes, unsigned short *kinds, unsigned flags, void **depend),
       (device, count, hosts, sizes, kinds, flags, depend))
