/* SPDX-License-Identifier: MIT */
/*
 * Programs built, compiled and linked; kernels and their names. A build with a callback may go on after the call: then
 * its time from the call to the callback is a span on a lane of its own, "asynchronous builds". With --disasm the
 * binaries are kept.
 */
#include "state.h"
#include "wire/session.h"

#include <errno.h>

struct build {
    struct ocl_item item;
    ocl_program_notify notify;
    void *data;
    uint64_t begin, launch;
    uint32_t name, options, called; /* called: by the runtime, before the call that began it returned */
    uint32_t users;                 /* the call and the callback: the last one gives it back */
};
static struct ocl_pool builds = {.item_bytes = sizeof(struct build)};
static struct ocl_map kernels;  /* name (string id) | object << 32 */
static struct ocl_map programs; /* object */
static uint64_t build_lane;

void ocl_forget_programs(void)
{
    ocl_map_forget(&kernels);
    ocl_map_forget(&programs);
    ocl_store(&build_lane, 0ull);
}

#define BINARY_MAXIMUM (256u << 20)
#define PROGRAM_DEVICES 64

static unsigned kind_of(const unsigned char *bytes, size_t size)
{
    if (size >= 4 && __builtin_memcmp(bytes, "\177ELF", 4) == 0)
        return WIRE_OBJECT_ELF;
    for (size_t i = 0; i + 8 < size && i < 4096; i++)
        if (__builtin_memcmp(bytes + i, ".version", 8) == 0)
            return WIRE_OBJECT_PTX;
    return WIRE_OBJECT_OTHER;
}

/* The binary of the first device that has one, as a file of the session; its number, 0 = none. */
static uint64_t keep_binary(cl_program program)
{
    const struct ocl_api *api = ocl_direct();
    size_t sizes[PROGRAM_DEVICES] = {0}, bytes = 0;
    unsigned char *places[PROGRAM_DEVICES] = {0}, *memory;
    cl_uint count = 0;
    uint64_t object = 0;
    if (!api->clGetProgramInfo ||
        api->clGetProgramInfo(program, OCL_PROGRAM_NUM_DEVICES, sizeof count, &count, 0) != OCL_SUCCESS ||
        count > PROGRAM_DEVICES ||
        api->clGetProgramInfo(program, OCL_PROGRAM_BINARY_SIZES, count * sizeof sizes[0], sizes, 0) != OCL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < count; i++)
        bytes += sizes[i];
    if (!bytes || bytes > BINARY_MAXIMUM || !(memory = ocl_memory(bytes)))
        return 0;
    for (cl_uint i = 0, at = 0; i < count; at += (cl_uint)sizes[i++])
        places[i] = sizes[i] ? memory + at : 0;
    if (api->clGetProgramInfo(program, OCL_PROGRAM_BINARIES, count * sizeof places[0], places, 0) == OCL_SUCCESS)
        for (cl_uint i = 0; i < count && !object; i++)
            if (sizes[i])
                object = rt_object(WIRE_LAYER_OPENCL, kind_of(places[i], sizes[i]), ocl_string("OpenCL program"),
                                   places[i], sizes[i]);
    ocl_memory_free(memory, bytes);
    return object;
}

static uint64_t keep(cl_program program, cl_int result)
{
    uint64_t object = 0;
    if (result == OCL_SUCCESS && program && rt_flags() & WIRE_SESSION_KEEP_CODE)
        object = keep_binary(program);
    ocl_map_put(&programs, program, object);
    return object;
}

/* Of a build that went on after its call: success if every device has it. */
static cl_int status_of(cl_program program)
{
    const struct ocl_api *api = ocl_direct();
    cl_device_id devices[PROGRAM_DEVICES];
    cl_uint count = 0;
    if (!api->clGetProgramInfo || !api->clGetProgramBuildInfo ||
        api->clGetProgramInfo(program, OCL_PROGRAM_NUM_DEVICES, sizeof count, &count, 0) != OCL_SUCCESS ||
        count > PROGRAM_DEVICES ||
        api->clGetProgramInfo(program, OCL_PROGRAM_DEVICES, count * sizeof devices[0], devices, 0) != OCL_SUCCESS)
        return OCL_SUCCESS;
    for (cl_uint i = 0; i < count; i++) {
        cl_int status = OCL_SUCCESS;
        if (api->clGetProgramBuildInfo(program, devices[i], OCL_PROGRAM_BUILD_STATUS, sizeof status, &status, 0) ==
                OCL_SUCCESS &&
            status != OCL_SUCCESS)
            return status;
    }
    return OCL_SUCCESS;
}

static uint64_t lane(void)
{
    uint64_t none = 0, made = rt_correlation();
    if (ocl_load(&build_lane) || !ocl_change(&build_lane, &none, made))
        return ocl_load(&build_lane);
    struct wire_queue record = {.header = {WIRE_QUEUE, sizeof record / 8, ocl_texts[OCL_TEXT_BUILDS]}};
    record.time = rt_now();
    record.queue = made;
    record.device = record.stream = -1;
    record.layer = WIRE_LAYER_OPENCL;
    rt_append(&record.header);
    return made;
}

static void record_late(const struct build *build, cl_program program)
{
    struct {
        struct wire_device_span head;
        uint64_t fields[3];
    } record = {.head = {.span = {.header = {WIRE_DEVICE_SPAN, 0, build->name}}}};
    uint64_t object = keep(program, status_of(program));
    cl_int result = status_of(program);
    uint32_t count = 0;
    struct wire_span *span = &record.head.span;
    span->begin = build->begin;
    span->end = rt_now();
    span->correlation = rt_correlation();
    span->layer = WIRE_LAYER_OPENCL;
    span->span_kind = SPAN_KIND_BUILD;
    span->payload_kind = PAYLOAD_BUILD;
    if (object) {
        span->present |= 1u << FIELD_BUILD_object;
        record.fields[count++] = object;
    }
    if (result) {
        span->present |= 1u << FIELD_BUILD_result;
        record.fields[count++] = (uint64_t)(int64_t)result;
    }
    if (build->options) {
        span->present |= 1u << FIELD_BUILD_options;
        record.fields[count++] = build->options;
    }
    record.head.queue = lane();
    record.head.device = -1;
    record.head.launch = build->launch;
    span->header.words = (uint16_t)(sizeof record.head / 8 + count);
    rt_append(&span->header);
}

static void build_done(struct build *build)
{
    if (ocl_add(&build->users, -1u) == 1)
        ocl_pool_give(&builds, build);
}

/* `called`: 0 = the call has not returned, 1 = the callback came first, 2 = the call returned first. */
static void build_notified(cl_program program, void *object)
{
    struct build *build = object;
    ocl_program_notify notify = build->notify;
    void *data = build->data;
    int saved_errno = errno;
    uint32_t during = 0;
    if (!ocl_change(&build->called, &during, 1u) && !ocl_load(&ocl_off))
        record_late(build, program);
    build_done(build);
    struct ocl_outer left = ocl_step_out();
    errno = saved_errno;
    notify(program, data);
    ocl_step_back(left);
}

/* A box around the program's callback; NULL: it has none, or there is no room: it goes to the runtime as it is. */
static struct build *build_make(const struct ocl_call *call, enum ocl_text name, const char *options,
                                ocl_program_notify notify, void *data)
{
    struct build *build = notify && call->call.thread ? ocl_pool_take(&builds) : 0;
    if (!build)
        return 0;
    build->notify = notify;
    build->data = data;
    build->begin = call->call.begin;
    build->launch = call->correlation;
    build->name = ocl_texts[name];
    build->options = options && options[0] ? ocl_string(options) : 0;
    build->called = 0;
    build->users = 2;
    return build;
}

static void end_build(struct ocl_call *call, struct build *build, cl_program program, const char *options,
                      cl_int result)
{
    uint32_t before = 0;
    uint64_t object = 0;
    int saved_errno = errno;
    bool went_on = build && result == OCL_SUCCESS && ocl_change(&build->called, &before, 2u);
    if (call->call.thread && !went_on)
        object = keep(program, result);
    if (build) {
        if (result != OCL_SUCCESS && !ocl_load(&build->called))
            ocl_store(&build->called, 2u); /* the callback may still come, or never */
        build_done(build);
    }
    if (object)
        rt_field(&call->span, FIELD_BUILD_object, object);
    if (result)
        rt_field(&call->span, FIELD_BUILD_result, (uint64_t)(int64_t)result);
    if (options && options[0] && call->call.thread)
        rt_field(&call->span, FIELD_BUILD_options, ocl_string(options));
    ocl_end(call);
    errno = saved_errno;
}

#define BEGIN(function) ocl_begin(&call, OCL_FUNCTION_##function, SPAN_KIND_BUILD, PAYLOAD_BUILD)

cl_int ocl_clBuildProgram(const struct ocl_api *api, cl_program program, cl_uint count, const cl_device_id *devices,
                          const char *options, ocl_program_notify notify, void *data)
{
    struct ocl_call call;
    BEGIN(clBuildProgram);
    struct build *build = build_make(&call, OCL_TEXT_BUILD_RUN, options, notify, data);
    cl_int result =
        api->clBuildProgram(program, count, devices, options, build ? build_notified : notify, build ? build : data);
    end_build(&call, build, program, options, result);
    return result;
}

cl_int ocl_clCompileProgram(const struct ocl_api *api, cl_program program, cl_uint count, const cl_device_id *devices,
                            const char *options, cl_uint headers, const cl_program *header_list, const char **names,
                            ocl_program_notify notify, void *data)
{
    struct ocl_call call;
    BEGIN(clCompileProgram);
    struct build *build = build_make(&call, OCL_TEXT_COMPILE_RUN, options, notify, data);
    cl_int result = api->clCompileProgram(program, count, devices, options, headers, header_list, names,
                                          build ? build_notified : notify, build ? build : data);
    end_build(&call, build, 0, options, result);
    return result;
}

cl_program ocl_clLinkProgram(const struct ocl_api *api, cl_context context, cl_uint count, const cl_device_id *devices,
                             const char *options, cl_uint programs_count, const cl_program *list,
                             ocl_program_notify notify, void *data, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clLinkProgram);
    struct build *build = build_make(&call, OCL_TEXT_LINK_RUN, options, notify, data);
    cl_program program = api->clLinkProgram(context, count, devices, options, programs_count, list,
                                            build ? build_notified : notify, build ? build : data, &error);
    if (ret_error)
        *ret_error = error;
    end_build(&call, build, program, options, error);
    return program;
}

static void kernel_put(cl_program program, cl_kernel kernel, const char *name)
{
    uint64_t object = program ? ocl_map_get(&programs, program) : 0;
    ocl_map_put(&kernels, kernel, (uint64_t)ocl_string(name) | object << 32);
}

/* The runtime's own name and program of a kernel. */
static void kernel_learn(cl_kernel kernel)
{
    const struct ocl_api *api = ocl_direct();
    char name[1024];
    cl_program program = 0;
    if (!api->clGetKernelInfo ||
        api->clGetKernelInfo(kernel, OCL_KERNEL_FUNCTION_NAME, sizeof name, name, 0) != OCL_SUCCESS)
        return;
    name[sizeof name - 1] = 0;
    api->clGetKernelInfo(kernel, OCL_KERNEL_PROGRAM, sizeof program, &program, 0);
    kernel_put(program, kernel, name);
}

uint64_t ocl_kernel_value(cl_kernel kernel)
{
    uint64_t value = ocl_map_get(&kernels, kernel);
    if (value)
        return value;
    kernel_learn(kernel);
    return ocl_map_get(&kernels, kernel);
}

cl_kernel ocl_clCreateKernel(const struct ocl_api *api, cl_program program, const char *name, cl_int *ret_error)
{
    cl_kernel kernel = api->clCreateKernel(program, name, ret_error);
    if (kernel && name && ocl_ready())
        kernel_put(program, kernel, name);
    return kernel;
}

/* A handle that comes again is another kernel: learnt when it is first enqueued. */
cl_int ocl_clCreateKernelsInProgram(const struct ocl_api *api, cl_program program, cl_uint count, cl_kernel *list,
                                    cl_uint *ret_count)
{
    cl_uint made = 0;
    cl_int result = api->clCreateKernelsInProgram(program, count, list, &made);
    if (ret_count && result == OCL_SUCCESS)
        *ret_count = made;
    for (cl_uint i = 0; result == OCL_SUCCESS && list && i < made && i < count && ocl_ready(); i++)
        ocl_map_put(&kernels, list[i], 0);
    return result;
}

cl_kernel ocl_clCloneKernel(const struct ocl_api *api, cl_kernel kernel, cl_int *ret_error)
{
    cl_kernel clone = api->clCloneKernel(kernel, ret_error);
    if (clone && ocl_ready())
        ocl_map_put(&kernels, clone, ocl_map_get(&kernels, kernel));
    return clone;
}
