/* SPDX-License-Identifier: MIT */
/* Two calling context trees side by side. */
#include "flame_difference.h"

#include "base/text.h"
#include "call_tree.h"
#include "frame_pairs.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>

#define STANDARD_ERRORS 2.0

/* --- how much they differ -------------------------------------------------------------------------------------------- */

/* What all frames that are the same have together. */
struct amount {
    int64_t weight;
    uint64_t count;
};

static double part_of(const struct calling_context *context, struct amount amount)
{
    double whole = context->count ? (double)context->nodes[0].total_weight : 0;
    return whole > 0 ? (double)amount.weight / whole : 0;
}

/* Whether two parts of samples differ by more than chance does. */
static bool chance_explains(const struct calling_context *shown, struct amount shown_amount, const struct calling_context *other, struct amount other_amount)
{
    double here = (double)shown->nodes[0].total_count, there = other->count ? (double)other->nodes[0].total_count : 0;
    if (shown->measure != CONTEXT_SAMPLES)
        return false;
    if (here <= 0 || there <= 0)
        return true;
    double part = ((double)shown_amount.count + (double)other_amount.count) / (here + there), error = sqrt(part * (1 - part) * (1 / here + 1 / there));
    return fabs(part_of(shown, shown_amount) - part_of(other, other_amount)) <= STANDARD_ERRORS * error;
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

static struct frame_difference difference_of(const struct flame_side *shown, uint32_t node, const struct flame_side *other, const struct frame_pair *pair,
                                             bool shown_is_before)
{
    const struct context_node *facts = &shown->context->nodes[node];
    struct amount here = pair ? (struct amount){pair->weight[0], pair->count[0]} : (struct amount){facts->total_weight, facts->total_count};
    struct amount there = pair ? (struct amount){pair->weight[1], pair->count[1]} : (struct amount){0, 0};
    double here_part = part_of(shown->context, here), there_part = part_of(other->context, there);
    struct frame_difference difference = {
        .before = shown_is_before ? here_part : there_part, .now = shown_is_before ? there_part : here_part,
        .before_weight = shown_is_before ? here.weight : there.weight, .now_weight = shown_is_before ? there.weight : here.weight,
        .absolute = !shown->is_part && !other->is_part, .only_here = !pair,
    };
    if (!chance_explains(shown->context, here, other->context, there))
        difference.level = level_of(difference.before, difference.now);
    return difference;
}

struct frame_difference *flame_difference_create(const struct flame_side *shown, const struct flame_side *other, bool shown_is_before)
{
    struct frame_difference *differences = calloc(shown->context->count + (size_t)1, sizeof *differences);
    struct frame_pairs pairs;
    int result = frame_pairs_make(&pairs, shown, other);
    for (uint32_t node = 0; differences && result == 0 && node < shown->context->count; node++) {
        uint32_t pair = pairs.pair_of[node];
        differences[node] = difference_of(shown, node, other, pair == ID_NONE ? NULL : &pairs.pairs[pair], shown_is_before);
    }
    frame_pairs_finish(&pairs);
    if (result < 0)
        free(TAKE_PTR(differences));
    return differences;
}

/* --- telling --------------------------------------------------------------------------------------------------------- */

enum colour frame_difference_colour(const struct frame_difference *difference)
{
    return (enum colour)((int)COLOUR_SAME + difference->level);
}

const char *frame_difference_sign(const struct frame_difference *difference, bool shown_is_before)
{
    if (difference->only_here)
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
    if (!difference->absolute || difference->only_here)
        return;
    text_addf(out, "%s %s: ", shown_is_before ? "now" : "was",
              context_weight_text(text, sizeof text, measure, shown_is_before ? difference->now_weight : difference->before_weight, NULL));
    add_change(difference, measure, out);
}

void frame_difference_describe(const struct frame_difference *difference, enum context_measure measure, bool shown_is_before, struct text *out)
{
    char percent[16];
    double shown = shown_is_before ? difference->now : difference->before;
    if (difference->only_here) {
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
