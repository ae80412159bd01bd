/* SPDX-License-Identifier: MIT */
/* Causes and effects of all messages and collectives between clocks. What lies on one clock can't contradict itself. */
#include "node_merge_internal.h"

#include "base/array.h"

#include <errno.h>

static int add_event(const struct node_merging *merging, struct merge_events *events, const struct exchange_end *end, bool effect)
{
    int64_t time_ns = effect ? end->complete_ns : end->begin_ns;
    if (time_ns == EXCHANGE_UNKNOWN_NS)
        return 0;
    struct causal_event *items = array_reserve(events->items, &events->capacity, events->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    events->items = items;
    const struct merge_source *source = &merging->sources[end->trace];
    items[events->count++] = (struct causal_event){merge_aligned_time(merging, source, time_ns), source->domain, events->exchange_count, effect};
    return 0;
}

static int add_messages(const struct node_merging *merging, struct merge_events *events)
{
    const struct exchanges *exchanges = merging->exchanges;
    int code = 0;
    for (size_t i = 0; i < exchanges->message_count && code == 0; i++) {
        const struct exchange_message *message = &exchanges->messages[i];
        if (merging->sources[message->send.trace].domain == merging->sources[message->receive.trace].domain)
            continue;
        code = add_event(merging, events, &message->send, false);
        if (code == 0)
            code = add_event(merging, events, &message->receive, true);
        events->exchange_count++;
    }
    return code;
}

static bool is_between_clocks(const struct node_merging *merging, const struct exchange_group *group)
{
    const struct exchange_member *members = &merging->exchanges->members[group->first_member];
    for (uint32_t i = 1; i < group->member_count; i++)
        if (merging->sources[members[i].end.trace].domain != merging->sources[members[0].end.trace].domain)
            return true;
    return false;
}

static int add_group(const struct node_merging *merging, struct merge_events *events, const struct exchange_group *group)
{
    int code = 0;
    for (uint32_t i = 0; i < group->member_count && code == 0; i++) {
        const struct exchange_member *member = &merging->exchanges->members[group->first_member + i];
        bool root = member->rank == group->root;
        if (group->shape == EXCHANGE_ALL || root == (group->shape == EXCHANGE_FROM_ROOT))
            code = add_event(merging, events, &member->end, false);
        if (code == 0 && (group->shape == EXCHANGE_ALL || root == (group->shape == EXCHANGE_TO_ROOT)))
            code = add_event(merging, events, &member->end, true);
    }
    events->exchange_count++;
    return code;
}

int node_merge_collect_events(const struct node_merging *merging, struct merge_events *ret_events)
{
    const struct exchanges *exchanges = merging->exchanges;
    int code = add_messages(merging, ret_events);
    for (size_t i = 0; i < exchanges->group_count && code == 0; i++)
        if (exchanges->groups[i].shape != EXCHANGE_NO_ORDER && is_between_clocks(merging, &exchanges->groups[i]))
            code = add_group(merging, ret_events, &exchanges->groups[i]);
    return code;
}
