/* SPDX-License-Identifier: MIT */
/* What viewers show for processes and tracks. */
#include "labels.h"

static const struct trace_process *find_process(const struct trace *trace, process_id process)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    return process.index < count ? &processes[process.index] : NULL;
}

void label_process(const struct trace *trace, process_id id, struct text *out)
{
    const struct trace_process *process = find_process(trace, id);
    if (!process) {
        text_add_string(out, "(no process)");
        return;
    }
    if (process->rank >= 0)
        text_addf(out, "rank %d ", process->rank);
    const char *command = trace_text(trace, process->command);
    if (command[0])
        text_add_string(out, command);
    else
        text_add_string(out, "process");
    if (process->pid >= 0)
        text_addf(out, " (%d)", process->pid);
}

void label_track(const struct trace *trace, track_id id, struct text *out)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    if (id.index >= count)
        return;
    const struct trace_track *track = &tracks[id.index];
    const char *name = trace_text(trace, track->name);
    if (name[0])
        text_add_string(out, name);
    else
        text_add_string(out, track_kind_name(track->kind));
    if (track->device >= 0)
        text_addf(out, " device %d", track->device);
    if (track->stream >= 0)
        text_addf(out, " stream %d", track->stream);
    if (track->tid >= 0)
        text_addf(out, track->kind == TRACK_KIND_SCHED ? " off CPU (%d)" : " (%d)", track->tid);
}

void label_track_full(const struct trace *trace, track_id id, struct text *out)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    if (id.index < count && tracks[id.index].process.index != ID_NONE) {
        label_process(trace, tracks[id.index].process, out);
        text_add_char(out, ' ');
    }
    label_track(trace, id, out);
}
