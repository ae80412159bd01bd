/* SPDX-License-Identifier: MIT */
/*
 * A stream's commands as points. They run one behind the other, and are one lane; of a queue whose commands ran at once each is a lane of its
 * own, as nothing but edges says what came behind what.
 */
#include "base/array.h"
#include "graph_cut.h"

#include <errno.h>

enum { OVERLAP_NS = 1000, FEW = 64 /* one in so many may overlap in a stream that is in order: its tail, its clock */ };

struct command {
    int64_t begin_ns, end_ns;
    uint32_t span, class_of_wait;
    bool holds; /* a graph around its nodes */
};
struct commands {
    struct command *items;
    size_t count, capacity;
};

static int read_block(struct cut_track *track, uint32_t number, struct commands *commands)
{
    const struct trace *trace = track->rules->trace;
    const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                             SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    struct span_block block;
    int code = trace_spans_scan(trace, number, columns, &block, &track->err);
    if (code < 0)
        return code;
    struct command *items = array_reserve(commands->items, &commands->capacity, commands->count + block.info.count, sizeof *items);
    for (uint32_t row = 0; items && row < block.info.count; row++) {
        uint8_t kind = block.kind ? block.kind[row] : SPAN_KIND_UNKNOWN;
        uint32_t span = block.info.first + row;
        track->rules->kind[span] = kind;
        items[commands->count++] = (struct command){
            .begin_ns = block.begin_ns[row],
            .end_ns = trace_span_end(trace, track->track, block.begin_ns[row], block.end_ns[row]),
            .span = span,
            .class_of_wait = cut_class_of_wait(track->rules->first_track + track->track.index, SPAN_KIND_COUNT),
            .holds = kind == SPAN_KIND_GRAPH && trace_span_holds(trace, track->track, kind),
        };
    }
    commands->items = items ? items : commands->items;
    trace_spans_put(trace, &block);
    return items ? 0 : -ENOMEM;
}

static bool runs_in_order(const struct commands *commands)
{
    int64_t last_end_ns = INT64_MIN;
    size_t overlaps = 0, alone = 0;
    for (size_t i = 0; i < commands->count; i++) {
        const struct command *command = &commands->items[i];
        if (command->holds)
            continue;
        alone++;
        overlaps += last_end_ns != INT64_MIN && last_end_ns - command->begin_ns > OVERLAP_NS;
        if (command->end_ns > last_end_ns)
            last_end_ns = command->end_ns;
    }
    return overlaps <= alone / FEW;
}

static int cut_apart(struct cut_track *track, const struct commands *commands)
{
    int code = 0;
    for (size_t i = 0; i < commands->count && code == 0; i++) {
        const struct command *command = &commands->items[i];
        track->rules->begin_point[command->span] = (uint32_t)track->count;
        track->rules->end_point[command->span] = (uint32_t)track->count + 1;
        code = cut_add_point(track, command->begin_ns, INTERVAL_IDLE, ID_NONE, command->class_of_wait);
        if (code == 0)
            code = cut_add_point(track, command->end_ns, command->holds ? INTERVAL_IDLE : INTERVAL_WORK, command->span, command->class_of_wait);
        if (code == 0)
            track->points[track->count - 1].last = true;
    }
    return code;
}

/* Those under way, soonest end last: one, or two at a command's tail, or a graph and its node. */
struct running {
    const struct command **items;
    size_t count, capacity;
};

static int end_until(struct cut_track *track, struct running *running, int64_t until_ns)
{
    while (running->count && running->items[running->count - 1]->end_ns <= until_ns) {
        const struct command *command = running->items[--running->count];
        int code = cut_add_point(track, command->end_ns, INTERVAL_WORK, command->span, command->class_of_wait);
        if (code)
            return code;
        track->rules->end_point[command->span] = (uint32_t)track->count - 1;
    }
    return 0;
}

static int begin_command(struct cut_track *track, struct running *running, const struct command *command)
{
    int code = end_until(track, running, command->begin_ns);
    if (code)
        return code;
    const struct command *around = running->count ? running->items[running->count - 1] : NULL;
    code = cut_add_point(track, command->begin_ns, around ? INTERVAL_WORK : INTERVAL_IDLE, around ? around->span : ID_NONE, command->class_of_wait);
    if (code)
        return code;
    track->rules->begin_point[command->span] = (uint32_t)track->count - 1;
    const struct command **items = array_reserve(running->items, &running->capacity, running->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    running->items = items;
    size_t at = running->count++;
    for (; at > 0 && items[at - 1]->end_ns < command->end_ns; at--)
        items[at] = items[at - 1];
    items[at] = command;
    return 0;
}

static int cut_in_order(struct cut_track *track, const struct commands *commands)
{
    struct running running = {0};
    int code = 0;
    for (size_t i = 0; i < commands->count && code == 0; i++)
        code = begin_command(track, &running, &commands->items[i]);
    if (code == 0)
        code = end_until(track, &running, INT64_MAX);
    free(running.items);
    if (track->count)
        track->points[track->count - 1].last = true;
    return code;
}

int cut_stream(struct cut_track *track)
{
    struct commands commands = {0};
    int code = 0;
    for (uint32_t i = 0; i < track->block_count && code == 0; i++)
        code = read_block(track, track->first_block + i, &commands);
    if (code == 0)
        code = runs_in_order(&commands) ? cut_in_order(track, &commands) : cut_apart(track, &commands);
    free(commands.items);
    return code;
}
