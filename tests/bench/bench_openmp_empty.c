/* SPDX-License-Identifier: MIT */
/* An OMPT tool that asks for the same events as ours and does nothing in them: what bench_openmp.py measures ours against. */
#include <omp-tools.h>
#include <stddef.h>

static void nothing(void)
{
}

static int initialize(ompt_function_lookup_t lookup, int initial_device, ompt_data_t *tool_data)
{
    static const ompt_callbacks_t events[] = {
        ompt_callback_thread_begin, ompt_callback_thread_end,  ompt_callback_parallel_begin,   ompt_callback_parallel_end,
        ompt_callback_implicit_task, ompt_callback_work,       ompt_callback_dispatch,         ompt_callback_masked,
        ompt_callback_sync_region,  ompt_callback_sync_region_wait, ompt_callback_reduction,   ompt_callback_mutex_acquire,
        ompt_callback_mutex_acquired, ompt_callback_mutex_released, ompt_callback_task_create, ompt_callback_task_schedule,
        ompt_callback_task_dependence, ompt_callback_cancel,
    };
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        set(events[i], nothing); /* the caller removes the arguments, whatever they are */
    return 1;
}

static void finalize(ompt_data_t *tool_data)
{
}

__attribute__((visibility("default"))) ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
