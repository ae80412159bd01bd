/* SPDX-License-Identifier: MIT */
/* The times of threads by state, in the window and in each outermost parallel region of their process' main thread. */
#include "efficiency_internal.h"

#include "base/array.h"

#include <errno.h>

/* By state; LANE_OUTSIDE of a main thread is its own code, of others having nothing to do. */
struct sums {
    int64_t by_state_ns[LANE_STATE_COUNT];
    int64_t preempted_ns[LANE_STATE_COUNT]; /* of it; only where it would be useful */
};

static void add_stretch(const struct efficiency_reading *reading, struct sums *sums, uint32_t track, uint8_t state, int64_t from_ns, int64_t to_ns)
{
    sums->by_state_ns[state] += to_ns - from_ns;
    if ((state == LANE_USEFUL || state == LANE_OUTSIDE) && to_ns > from_ns)
        sums->preempted_ns[state] += preempted_within(reading->preempted, track, from_ns, to_ns);
}

static struct sums sums_of(const struct efficiency_reading *reading, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    const struct lane_times *times = reading->times;
    struct sums sums = {{0}, {0}};
    size_t piece;
    if (!lane_times_find(times, track, begin_ns, &piece)) {
        piece = times->first[track];
        int64_t first_ns = piece < times->first[track + 1] ? times->pieces[piece].begin_ns : end_ns;
        add_stretch(reading, &sums, track, LANE_OUTSIDE, begin_ns, first_ns < end_ns ? first_ns : end_ns);
    }
    for (; piece < times->first[track + 1] && times->pieces[piece].begin_ns < end_ns; piece++) {
        int64_t from_ns = times->pieces[piece].begin_ns > begin_ns ? times->pieces[piece].begin_ns : begin_ns;
        add_stretch(reading, &sums, track, times->pieces[piece].state, from_ns, lane_piece_end(times, track, piece, end_ns));
    }
    return sums;
}

static int64_t preempted_of(const struct efficiency_thread *thread, const struct sums *sums)
{
    return sums->preempted_ns[LANE_USEFUL] + (thread->main ? sums->preempted_ns[LANE_OUTSIDE] : 0);
}

static int64_t useful_of(const struct efficiency_thread *thread, const struct sums *sums)
{
    return sums->by_state_ns[LANE_USEFUL] + (thread->main ? sums->by_state_ns[LANE_OUTSIDE] : 0) - preempted_of(thread, sums);
}

static int64_t idle_of(const struct efficiency_thread *thread, const struct sums *sums)
{
    return sums->by_state_ns[LANE_OPENMP] + (thread->main ? 0 : sums->by_state_ns[LANE_OUTSIDE]);
}

/* Time without work of a thread while the main one was in MPI: over the main thread's pieces in MPI. */
static int64_t idle_in_mpi(const struct efficiency_reading *reading, uint32_t main, uint32_t track)
{
    const struct lane_times *times = reading->times;
    int64_t sum_ns = 0, end_ns = reading->out->end_ns;
    for (size_t piece = times->first[main]; piece < times->first[main + 1] && times->pieces[piece].begin_ns < end_ns; piece++) {
        int64_t from_ns = times->pieces[piece].begin_ns, until_ns = lane_piece_end(times, main, piece, end_ns);
        if (from_ns < reading->out->begin_ns)
            from_ns = reading->out->begin_ns;
        if (times->pieces[piece].state == LANE_MPI && until_ns > from_ns)
            sum_ns += sums_of(reading, track, from_ns, until_ns).by_state_ns[LANE_OUTSIDE];
    }
    return sum_ns;
}

int efficiency_sum_threads(struct efficiency_reading *reading)
{
    struct efficiency *out = reading->out;
    for (size_t i = 0; i < out->process_count; i++) {
        const struct efficiency_process *process = &out->processes[i];
        for (uint32_t j = 0; j < process->thread_count; j++) {
            struct efficiency_thread *thread = &out->threads[process->first_thread + j];
            struct sums sums = sums_of(reading, thread->track.index, out->begin_ns, out->end_ns);
            thread->useful_ns = useful_of(thread, &sums);
            thread->preempted_ns = preempted_of(thread, &sums);
            thread->mpi_ns = sums.by_state_ns[LANE_MPI];
            thread->openmp_ns = sums.by_state_ns[LANE_OPENMP];
            thread->device_ns = sums.by_state_ns[LANE_DEVICE];
            thread->idle_ns = thread->main ? 0 : sums.by_state_ns[LANE_OUTSIDE];
            if (!thread->main && out->inputs.mpi)
                thread->idle_in_mpi_ns = idle_in_mpi(reading, out->threads[process->first_thread].track.index, thread->track.index);
        }
    }
    return 0;
}

static void sum_region(struct efficiency_reading *reading, struct efficiency_process *process, int64_t begin_ns, int64_t end_ns)
{
    int64_t most_ns = 0, least_idle_ns = INT64_MAX, useful_ns = 0;
    for (uint32_t i = 0; i < process->thread_count; i++) {
        const struct efficiency_thread *thread = &reading->out->threads[process->first_thread + i];
        struct sums sums = sums_of(reading, thread->track.index, begin_ns, end_ns);
        int64_t own_ns = useful_of(thread, &sums), idle_ns = idle_of(thread, &sums);
        useful_ns += own_ns;
        most_ns = own_ns > most_ns ? own_ns : most_ns;
        least_idle_ns = idle_ns < least_idle_ns ? idle_ns : least_idle_ns;
        process->regions_idle_ns += idle_ns;
        if (thread->main) {
            process->serial_useful_ns -= own_ns;
            process->regions_ns += end_ns - begin_ns - sums.by_state_ns[LANE_MPI];
        }
    }
    process->regions_useful_ns += useful_ns;
    process->imbalance_ns += most_ns * process->thread_count - useful_ns;
    process->regions_idle_least_ns += least_idle_ns * process->thread_count;
}

static int by_index(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Regions that forked, by span; the same one comes once for each thread. */
static int read_regions(const struct efficiency_reading *reading, uint32_t **ret_regions, size_t *ret_count)
{
    size_t count = 0;
    uint32_t *regions = array_resize_exact(NULL, reading->link_count + 1, sizeof *regions);
    if (!regions)
        return -ENOMEM;
    for (size_t i = 0; i < reading->link_count; i++)
        if (reading->links[i].kind == LINK_KIND_FORK && reading->links[i].from.index < reading->table->count)
            regions[count++] = reading->links[i].from.index;
    qsort(regions, count, sizeof *regions, by_index);
    *ret_regions = regions;
    *ret_count = count;
    return 0;
}

static void sum_process(struct efficiency_reading *reading, struct efficiency_process *process, const uint32_t *regions, size_t count)
{
    const struct span_table *table = reading->table;
    const struct efficiency_thread *main = &reading->out->threads[process->first_thread];
    int64_t covered_ns = reading->out->begin_ns;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions[middle] < table->track_first[main->track.index])
            low = middle + 1;
        else
            high = middle;
    }
    process->serial_useful_ns = main->useful_ns;
    for (; low < count && table->track[regions[low]] == main->track.index; low++) {
        int64_t begin_ns = table->begin_ns[regions[low]], end_ns = table->end_ns[regions[low]];
        begin_ns = begin_ns > covered_ns ? begin_ns : covered_ns;
        end_ns = end_ns < reading->out->end_ns ? end_ns : reading->out->end_ns;
        if (end_ns <= begin_ns || table->end_ns[regions[low]] <= covered_ns)
            continue;
        sum_region(reading, process, begin_ns, end_ns);
        covered_ns = end_ns;
    }
}

int efficiency_sum_regions(struct efficiency_reading *reading)
{
    CLEANUP(freep) uint32_t *regions = NULL;
    size_t count = 0;
    int result = read_regions(reading, &regions, &count);
    for (size_t i = 0; i < reading->out->process_count && result == 0; i++)
        sum_process(reading, &reading->out->processes[i], regions, count);
    return result;
}
