/* SPDX-License-Identifier: MIT */
/* What a lane is called on a screen. */
#include "lane_label.h"

#include <stdbool.h>
#include <string.h>

/* Whether a process' own thread has its name and number: what would be said of it twice. */
static bool is_named_as(const struct trace *trace, const struct trace_track *track, const struct trace_process *process)
{
    return track->tid >= 0 && track->tid == process->pid && strcmp(trace_text(trace, track->name), trace_text(trace, process->command)) == 0;
}

static void add_process(struct text *out, const struct trace *trace, const struct trace_track *track)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    if (track->process.index >= count)
        return;
    const struct trace_process *process = &processes[track->process.index];
    if (process->rank >= 0)
        text_addf(out, "rank %d ", process->rank);
    else if (count > 1 && !is_named_as(trace, track, process))
        text_addf(out, "%s (%d) ", trace_text(trace, process->command), process->pid);
}

void text_add_lane_label(struct text *out, const struct trace *trace, track_id id)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    if (id.index >= count)
        return;
    const struct trace_track *track = &tracks[id.index];
    const char *name = trace_text(trace, track->name);
    if (strncmp(name, "rank ", 5) != 0) /* MPI's main threads are called that */
        add_process(out, trace, track);
    if (track->kind == TRACK_KIND_STREAM && track->device >= 0)
        text_addf(out, "device %d ", track->device);
    const char *remark =
        track->kind == TRACK_KIND_STREAM ? strstr(name, " (") : NULL; /* the device's own name, which can be long */
    if (remark)
        text_add(out, name, (size_t)(remark - name));
    else
        text_add_string(out, *name ? name : track_kind_name(track->kind));
    if (track->stream >= 0 && !*name)
        text_addf(out, " %d", track->stream);
    if (track->tid >= 0)
        text_addf(out, " (%d)", track->tid);
}
