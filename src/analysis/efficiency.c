/* SPDX-License-Identifier: MIT */
/* From a trace to the inputs of the efficiency models. */
#include "efficiency_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>

static void keep_most(double *most, double value)
{
    if (value > *most)
        *most = value;
}

/* Time in MPI of a process, with that of threads without work meanwhile. */
static double mpi_of(const struct efficiency *out, const struct efficiency_process *process)
{
    double sum = 0;
    for (uint32_t i = 0; i < process->thread_count; i++) {
        const struct efficiency_thread *thread = &out->threads[process->first_thread + i];
        sum += (double)thread->mpi_ns + (double)thread->idle_in_mpi_ns;
    }
    return sum;
}

static void fill_threads(struct efficiency *out, bool preempted_known)
{
    double *value = out->inputs.value, threads = (double)out->thread_count, useful = 0, most = 0, idle = 0, mpi = 0, device = 0, preempted = 0;
    for (size_t i = 0; i < out->thread_count; i++) {
        const struct efficiency_thread *thread = &out->threads[i];
        useful += (double)thread->useful_ns;
        preempted += (double)thread->preempted_ns;
        keep_most(&most, (double)thread->useful_ns);
        idle += (double)(thread->openmp_ns + thread->idle_ns - thread->idle_in_mpi_ns);
        mpi += (double)(thread->mpi_ns + thread->idle_in_mpi_ns);
        device += (double)thread->device_ns;
    }
    value[EFFICIENCY_INPUT_R] = (double)(out->end_ns - out->begin_ns);
    value[EFFICIENCY_INPUT_P] = (double)out->process_count;
    value[EFFICIENCY_INPUT_T] = threads;
    value[EFFICIENCY_INPUT_SUM_U] = useful;
    value[EFFICIENCY_INPUT_AVG_U] = value[EFFICIENCY_INPUT_U] = useful / threads;
    value[EFFICIENCY_INPUT_MAX_U] = most;
    value[EFFICIENCY_INPUT_I] = idle / threads;
    value[EFFICIENCY_INPUT_M] = mpi / threads;
    value[EFFICIENCY_INPUT_G] = device / threads;
    if (preempted_known)
        value[EFFICIENCY_INPUT_V] = preempted / threads;
}

static void fill_processes(struct efficiency *out)
{
    double *value = out->inputs.value, threads = (double)out->thread_count, outside = 0, most_outside = 0, regions = 0, serial = 0;
    double most_own = 0, lost = 0, useful = 0, imbalance = 0, idle = 0, least = 0, most_not_mpi = 0, run = value[EFFICIENCY_INPUT_R];
    for (size_t i = 0; i < out->process_count; i++) {
        const struct efficiency_process *process = &out->processes[i];
        double own = run - (double)out->threads[process->first_thread].mpi_ns, share = process->thread_count;
        outside += own;
        keep_most(&most_outside, own);
        regions += share * (double)process->regions_ns;
        serial += share * (double)process->serial_useful_ns;
        keep_most(&most_own, (double)process->regions_ns + (double)process->serial_useful_ns);
        lost += (share - 1) * (double)process->serial_useful_ns;
        useful += (double)process->regions_useful_ns;
        imbalance += (double)process->imbalance_ns;
        idle += (double)process->regions_idle_ns;
        least += (double)process->regions_idle_least_ns;
        keep_most(&most_not_mpi, run - mpi_of(out, process) / share);
    }
    value[EFFICIENCY_INPUT_AVG_O] = outside / (double)out->process_count;
    value[EFFICIENCY_INPUT_MAX_O] = most_outside;
    value[EFFICIENCY_INPUT_AVG_OMP] = regions / threads;
    value[EFFICIENCY_INPUT_AVG_SU] = serial / threads;
    value[EFFICIENCY_INPUT_MAX_OSU] = most_own;
    value[EFFICIENCY_INPUT_SERIAL_LOSS] = lost / threads;
    value[EFFICIENCY_INPUT_AVG_UO] = useful / threads;
    value[EFFICIENCY_INPUT_IMBALANCE] = imbalance / threads;
    value[EFFICIENCY_INPUT_I_SCH] = least / threads;
    value[EFFICIENCY_INPUT_I_LB] = (idle - least) / threads;
    value[EFFICIENCY_INPUT_I_SER] = value[EFFICIENCY_INPUT_I] > idle / threads ? value[EFFICIENCY_INPUT_I] - idle / threads : 0;
    value[EFFICIENCY_INPUT_MAX_NOT_M] = most_not_mpi;
}

/* Of the node whose processes are least in MPI, per thread. */
static void fill_nodes(const struct trace *trace, struct efficiency *out)
{
    uint32_t process_count, node_count;
    const struct trace_process *processes = trace_processes(trace, &process_count);
    double *value = out->inputs.value, most = 0;
    trace_nodes(trace, &node_count);
    for (uint32_t node = 0; node < node_count; node++) {
        double mpi = 0, threads = 0;
        for (size_t i = 0; i < out->process_count; i++) {
            const struct efficiency_process *process = &out->processes[i];
            if (processes[process->process.index].node.index != node)
                continue;
            mpi += mpi_of(out, process);
            threads += process->thread_count;
        }
        if (threads > 0)
            keep_most(&most, value[EFFICIENCY_INPUT_R] - mpi / threads);
    }
    value[EFFICIENCY_INPUT_MAX_NODE_NOT_M] = most > 0 ? most : (double)NAN;
}

static int begin_reading(struct efficiency_reading *reading)
{
    int result = reading->run ? 0 : run_reading_create(reading->trace, true, reading->progress, &reading->run, reading->err);
    if (result < 0)
        return result;
    reading->times = reading->run->times;
    reading->links = reading->run->links;
    reading->link_count = reading->run->link_count;
    return span_table_share(reading->run->table, &reading->table);
}

static int read_run(struct efficiency_reading *reading)
{
    int result = begin_reading(reading);
    if (result == 0)
        result = efficiency_find_threads(reading);
    if (result == 0)
        result = preempted_create(reading->trace, &reading->preempted, reading->err);
    if (result == 0)
        result = efficiency_sum_threads(reading);
    if (result == 0)
        result = efficiency_sum_regions(reading);
    if (result == 0)
        result = efficiency_sum_devices(reading);
    return result ? result : efficiency_tell_calls(reading);
}

static void reading_finish(struct efficiency_reading *reading)
{
    span_table_destroy(TAKE_PTR(reading->table));
    preempted_destroy(TAKE_PTR(reading->preempted));
    run_reading_unref(TAKE_PTR(reading->run));
}

int efficiency_create(const struct trace *trace, const struct efficiency_options *options, const struct progress *progress,
                      struct efficiency **ret_efficiency, struct error *err)
{
    struct run_reading *run = options ? options->run : NULL;
    CLEANUP(efficiency_destroyp) struct efficiency *out = calloc(1, sizeof *out);
    if (!out) {
        run_reading_unref(run);
        return error_set(err, -ENOMEM, "efficiency: out of memory");
    }
    struct error own = ERROR_INIT;
    struct efficiency_reading reading = {.trace = trace, .progress = progress, .run = run, .out = out, .err = &own, .part = options && options->has_window};
    if (reading.part) {
        out->begin_ns = options->begin_ns;
        out->end_ns = options->end_ns;
    }
    for (unsigned i = 0; i < EFFICIENCY_INPUT_COUNT; i++)
        out->inputs.value[i] = (double)NAN;
    backends_find(trace, &reading.backends);
    int result = read_run(&reading);
    bool preempted_known = reading.preempted && reading.preempted->known;
    reading_finish(&reading);
    if (result == 0)
        result = efficiency_replay(&reading);
    free(reading.calls);
    free(reading.bounds);
    if (result < 0)
        return error_set(err, result, "%s", own.code ? own.text : "efficiency: out of memory");
    fill_threads(out, preempted_known);
    fill_processes(out);
    fill_nodes(trace, out);
    efficiency_compute(&out->inputs, out->values);
    *ret_efficiency = TAKE_PTR(out);
    return 0;
}

void efficiency_destroy(struct efficiency *efficiency)
{
    if (!efficiency)
        return;
    free(efficiency->processes);
    free(efficiency->threads);
    free(efficiency);
}
