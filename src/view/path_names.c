/* SPDX-License-Identifier: MIT */
/* What parts of a critical path are called. */
#include "path_rows.h"

#include "base/string_table.h"
#include "base/text.h"

#include <string.h>

static const struct {
    const char *name, *text;
} dimensions[] = {
#define PATH_DIMENSION(enumerator, name, text) {name, text},
    PATH_DIMENSIONS
#undef PATH_DIMENSION
};

const char *path_dimension_name(enum path_dimension dimension)
{
    return (unsigned)dimension < PATH_DIMENSION_COUNT ? dimensions[dimension].name : NULL;
}

const char *path_dimension_text(enum path_dimension dimension)
{
    return (unsigned)dimension < PATH_DIMENSION_COUNT ? dimensions[dimension].text : NULL;
}

int path_dimension_find(const char *name)
{
    for (int d = 0; d < PATH_DIMENSION_COUNT; d++)
        if (strcmp(dimensions[d].name, name) == 0)
            return d;
    return -1;
}

static bool on_device(const struct trace *trace, track_id track)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    return track.index < count &&
           (tracks[track.index].kind == TRACK_KIND_STREAM || tracks[track.index].kind == TRACK_KIND_DEVICE);
}

static const char *function_name(const struct trace *trace, frame_id frame)
{
    uint32_t count;
    const struct trace_frame *frames = trace_frames(trace, &count);
    return frame.index < count ? trace_text(trace, frames[frame.index].function) : "";
}

static const char *text_of(const struct trace *trace, const struct activities *activities, string_id id)
{
    return activities->texts ? string_table_text(activities->texts, id) : trace_text(trace, id);
}

void path_part_name(const struct trace *trace, const struct activities *activities, const struct path_part *part,
                    struct text *out)
{
    const struct activity *activity = &activities->rows[part->activity];
    const char *name = text_of(trace, activities, activity->name);
    if (part->by_samples && *function_name(trace, part->frame))
        name = function_name(trace, part->frame);
    else if (part->activity == ACTIVITY_NONE)
        name = on_device(trace, part->track)        ? "(idle)"
               : *function_name(trace, part->frame) ? function_name(trace, part->frame)
                                                    : "(code)";
    switch (part->state) {
    case PATH_EDGE: text_add_string(out, edge_rule_name((enum edge_rule)part->rule)); break;
    case PATH_GAP: text_add_string(out, "(between commands)"); break;
    case PATH_START: text_add_string(out, "(before its first event)"); break;
    case PATH_DESCHEDULED: text_add_string(out, "(off the processor)"); break;
    case PATH_UNEXPLAINED: text_add_string(out, part->activity == ACTIVITY_NONE ? "(idle)" : name); break;
    default: text_add_string(out, name); break;
    }
}

const char *path_part_kind(const struct activities *activities, const struct path_part *part)
{
    if (part->state == PATH_WORK || part->state == PATH_WAIT)
        return span_kind_name(activities->rows[part->activity].kind);
    return path_state_name((enum path_state)part->state);
}

const char *path_part_category(const struct trace *trace, const struct activities *activities,
                               const struct path_part *part)
{
    const char *category = text_of(trace, activities, activities->rows[part->activity].category);
    if (*category || part->activity != ACTIVITY_NONE)
        return category;
    return part->state == PATH_WORK || part->state == PATH_DESCHEDULED ? "cpu" : "";
}
