/* SPDX-License-Identifier: MIT */
/* Two calling context trees side by side. */
#include "flame_difference.h"

#include "base/map.h"
#include "base/text.h"
#include "call_tree.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>

#define STANDARD_ERRORS 2.0

/* --- the same frames ------------------------------------------------------------------------------------------------- */

/* The n-th child of a name: functions of one name may come from several modules. */
static uint64_t child_key(const struct flame_side *side, uint32_t node, uint64_t which)
{
    struct text name = TEXT_INIT;
    context_node_name(side->trace, &side->context->nodes[node], &name);
    uint64_t key = hash_u64(hash_bytes(name.data ? name.data : "", name.length) + which);
    text_finish(&name);
    return key;
}

/* Children of a node by name. -ENOMEM */
static int map_children(const struct flame_side *side, uint32_t node, struct map *children)
{
    const struct context_node *nodes = side->context->nodes;
    uint64_t known;
    map_clear(children);
    for (uint32_t child = nodes[node].first_child; child != ID_NONE; child = nodes[child].next_sibling) {
        uint64_t which = 0;
        while (map_get(children, child_key(side, child, which), &known))
            which++;
        if (map_set(children, child_key(side, child, which), child) < 0)
            return -1;
    }
    return 0;
}

/* Pairs the children of two frames that are the same. */
static int pair_children(const struct flame_side *shown, uint32_t node, const struct flame_side *other, struct frame_difference *differences, struct map *children,
                         struct map *taken)
{
    const struct context_node *nodes = shown->context->nodes;
    uint64_t found, ignored;
    if (map_children(other, differences[node].counterpart, children) < 0)
        return -1;
    map_clear(taken);
    for (uint32_t child = nodes[node].first_child; child != ID_NONE; child = nodes[child].next_sibling) {
        uint64_t which = 0;
        while (map_get(taken, child_key(shown, child, which), &ignored))
            which++;
        uint64_t key = child_key(shown, child, which);
        if (map_set(taken, key, child) < 0)
            return -1;
        if (map_get(children, key, &found))
            differences[child].counterpart = (uint32_t)found;
    }
    return 0;
}

static int pair_all(const struct flame_side *shown, const struct flame_side *other, struct frame_difference *differences)
{
    struct map children, taken;
    int result = 0;
    map_init(&children);
    map_init(&taken);
    for (uint32_t node = 0; node < shown->context->count; node++)
        differences[node].counterpart = ID_NONE;
    if (shown->context->count && other->context->count)
        differences[0].counterpart = 0;
    for (uint32_t node = 0; node < shown->context->count && result == 0; node++) /* parents stand before children */
        if (differences[node].counterpart != ID_NONE)
            result = pair_children(shown, node, other, differences, &children, &taken);
    map_finish(&children);
    map_finish(&taken);
    return result;
}

/* --- how much they differ -------------------------------------------------------------------------------------------- */

static double part_of(const struct calling_context *context, uint32_t node)
{
    double whole = context->count ? (double)context->nodes[0].total_weight : 0;
    return node != ID_NONE && whole > 0 ? (double)context->nodes[node].total_weight / whole : 0;
}

/* Whether two parts of samples differ by more than chance does. */
static bool chance_explains(const struct flame_side *shown, uint32_t node, const struct flame_side *other, uint32_t counterpart)
{
    double here = (double)shown->context->nodes[0].total_count, there = other->context->count ? (double)other->context->nodes[0].total_count : 0;
    double count = (double)shown->context->nodes[node].total_count + (counterpart != ID_NONE ? (double)other->context->nodes[counterpart].total_count : 0);
    if (shown->context->measure != CONTEXT_SAMPLES)
        return false;
    if (here <= 0 || there <= 0)
        return true;
    double part = count / (here + there), error = sqrt(part * (1 - part) * (1 / here + 1 / there));
    return fabs(part_of(shown->context, node) - part_of(other->context, counterpart)) <= STANDARD_ERRORS * error;
}

static int8_t level_of(double before, double now)
{
    static const double steps[] = {0.05, 0.25, 0.6};
    double larger = before > now ? before : now, change = larger > 0 ? fabs(now - before) / larger : 0;
    int8_t level = 0;
    while (level < 3 && change >= steps[level])
        level++;
    return now < before ? (int8_t)-level : level;
}

struct frame_difference *flame_difference_create(const struct flame_side *shown, const struct flame_side *other, bool shown_is_before)
{
    struct frame_difference *differences = calloc(shown->context->count + (size_t)1, sizeof *differences);
    if (!differences || pair_all(shown, other, differences) < 0) {
        free(differences);
        return NULL;
    }
    for (uint32_t node = 0; node < shown->context->count; node++) {
        struct frame_difference *difference = &differences[node];
        double here = part_of(shown->context, node), there = part_of(other->context, difference->counterpart);
        difference->before = shown_is_before ? here : there;
        difference->now = shown_is_before ? there : here;
        int64_t here_weight = shown->context->nodes[node].total_weight;
        int64_t there_weight = difference->counterpart == ID_NONE ? 0 : other->context->nodes[difference->counterpart].total_weight;
        difference->before_weight = shown_is_before ? here_weight : there_weight;
        difference->now_weight = shown_is_before ? there_weight : here_weight;
        difference->absolute = !shown->is_part && !other->is_part;
        if (!chance_explains(shown, node, other, difference->counterpart))
            difference->level = level_of(difference->before, difference->now);
    }
    return differences;
}

/* --- telling --------------------------------------------------------------------------------------------------------- */

enum colour frame_difference_colour(const struct frame_difference *difference)
{
    return (enum colour)((int)COLOUR_SAME + difference->level);
}

const char *frame_difference_sign(const struct frame_difference *difference, bool shown_is_before)
{
    if (difference->counterpart == ID_NONE)
        return shown_is_before ? "--" : "++";
    return difference->level > 0 ? "+" : difference->level < 0 ? "-" : "";
}

static void add_change(const struct frame_difference *difference, enum context_measure measure, struct text *out)
{
    char text[32];
    int64_t change = difference->now_weight - difference->before_weight;
    text_addf(out, "%s%s", change < 0 ? "-" : "+", context_weight_text(text, sizeof text, measure, change < 0 ? -change : change, NULL));
}

void frame_difference_describe_all(const struct frame_difference *difference, enum context_measure measure, bool shown_is_before, struct text *out)
{
    char text[32];
    if (!difference->absolute || difference->counterpart == ID_NONE)
        return;
    text_addf(out, "%s %s: ", shown_is_before ? "now" : "was",
              context_weight_text(text, sizeof text, measure, shown_is_before ? difference->now_weight : difference->before_weight, NULL));
    add_change(difference, measure, out);
}

void frame_difference_describe(const struct frame_difference *difference, enum context_measure measure, bool shown_is_before, struct text *out)
{
    char percent[16];
    double shown = shown_is_before ? difference->now : difference->before;
    if (difference->counterpart == ID_NONE) {
        text_add_string(out, shown_is_before ? "gone now" : "not there before");
        return;
    }
    text_addf(out, "%s %s %%: %+.1f points", shown_is_before ? "now" : "was", format_percent(percent, sizeof percent, shown, 1),
              100 * (difference->now - difference->before));
    if (!difference->level) /* of its part: that of time may well be one */
        text_add_string(out, " (no change)");
    if (difference->absolute) {
        text_add_string(out, ", ");
        add_change(difference, measure, out);
    }
}
