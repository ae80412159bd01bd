/* SPDX-License-Identifier: MIT */
/*
 * Laying out a flame graph. Edges are rounded from the exact place of each frame, so that no error adds up: a frame and all
 * below it begin and end in the same columns however deep they are.
 */
#include "flame.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void flame_finish(struct flame *flame)
{
    free(flame->boxes);
    *flame = (struct flame){0};
}

static int add_box(struct flame *flame, const struct flame_box *box)
{
    struct flame_box *last = flame->count ? &flame->boxes[flame->count - 1] : NULL;
    if (box->node == ID_NONE && last && last->node == ID_NONE && last->row == box->row && last->column + last->width >= box->column) {
        if (box->column + box->width > last->column + last->width)
            last->width = box->column + box->width - last->column;
        return 0;
    }
    if (box->node == ID_NONE && last && last->row == box->row && last->column + last->width > box->column)
        return 0; /* the column has a frame that can be told */
    struct flame_box *boxes = array_reserve(flame->boxes, &flame->capacity, flame->count + 1, sizeof *boxes);
    if (!boxes)
        return -ENOMEM;
    flame->boxes = boxes;
    boxes[flame->count++] = *box;
    return 0;
}

/* --- order ----------------------------------------------------------------------------------------------------------- */

struct sibling {
    const char *name;
    uint32_t node;
};

static int compare_siblings(const void *left, const void *right)
{
    const struct sibling *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

int flame_order_by_name(const struct trace *trace, struct calling_context *context)
{
    struct sibling *siblings = NULL;
    size_t capacity = 0;
    for (uint32_t node = 0; node < context->count; node++) {
        size_t count = 0;
        for (uint32_t child = context->nodes[node].first_child; child != ID_NONE; child = context->nodes[child].next_sibling) {
            struct sibling *more = array_reserve(siblings, &capacity, count + 1, sizeof *more);
            if (!more) {
                free(siblings);
                return -ENOMEM;
            }
            siblings = more;
            siblings[count++] = (struct sibling){trace_text(trace, context->nodes[child].function), child};
        }
        if (count > 1)
            qsort(siblings, count, sizeof *siblings, compare_siblings);
        uint32_t *link = &context->nodes[node].first_child;
        for (size_t i = 0; i < count; i++, link = &context->nodes[siblings[i - 1].node].next_sibling)
            *link = siblings[i].node;
        *link = ID_NONE;
    }
    free(siblings);
    return 0;
}

uint32_t flame_widest_child(const struct calling_context *context, uint32_t node)
{
    uint32_t widest = context->nodes[node].first_child;
    for (uint32_t child = widest; child != ID_NONE; child = context->nodes[child].next_sibling)
        if (context->nodes[child].total_weight > context->nodes[widest].total_weight)
            widest = child;
    return widest;
}

/* --- columns --------------------------------------------------------------------------------------------------------- */

/* The next row: children of the row before, each at its exact place within its parent. */
struct place {
    uint32_t node;
    double begin, end; /* columns */
};

static int lay_out_children(struct flame *flame, const struct calling_context *context, const struct place *parent, uint32_t row,
                            struct place **next, size_t *count, size_t *capacity)
{
    const struct context_node *nodes = context->nodes;
    double at = parent->begin, scale = (parent->end - parent->begin) / (double)nodes[parent->node].total_weight;
    for (uint32_t child = nodes[parent->node].first_child; child != ID_NONE; child = nodes[child].next_sibling) {
        double end = at + (double)nodes[child].total_weight * scale;
        unsigned first = (unsigned)lround(at), last = (unsigned)lround(end);
        struct flame_box box = {last > first ? child : ID_NONE, row, last > first ? first : (unsigned)at, last > first ? last - first : 1};
        if (nodes[child].total_weight <= 0)
            continue;
        if (add_box(flame, &box) < 0)
            return -ENOMEM;
        if (last > first) {
            struct place *places = array_reserve(*next, capacity, *count + 1, sizeof *places);
            if (!places)
                return -ENOMEM;
            *next = places;
            places[(*count)++] = (struct place){child, at, end};
        }
        at = end;
    }
    return 0;
}

int flame_lay_out(struct flame *flame, const struct calling_context *context, uint32_t root, unsigned columns, unsigned rows)
{
    size_t count[2] = {0, 0}, capacity[2] = {0, 0};
    struct place *places[2] = {NULL, NULL};
    int result = 0, turn = 0;
    flame->count = 0;
    flame->rows = 0;
    if (root >= context->count || context->nodes[root].total_weight <= 0 || !columns)
        return 0;
    struct flame_box box = {root, 0, 0, columns};
    places[0] = array_reserve(NULL, &capacity[0], 1, sizeof *places[0]);
    if (!places[0] || add_box(flame, &box) < 0)
        result = -ENOMEM;
    else
        places[0][count[0]++] = (struct place){root, 0, columns};
    for (uint32_t row = 1; result == 0 && row < rows && count[turn]; row++, turn = !turn) {
        count[!turn] = 0;
        flame->rows = row;
        for (size_t i = 0; i < count[turn] && result == 0; i++)
            result = lay_out_children(flame, context, &places[turn][i], row, &places[!turn], &count[!turn], &capacity[!turn]);
    }
    free(places[0]);
    free(places[1]);
    return result;
}

const struct flame_box *flame_at(const struct flame *flame, uint32_t row, unsigned column)
{
    for (size_t i = 0; i < flame->count; i++) {
        const struct flame_box *box = &flame->boxes[i];
        if (box->row == row && column >= box->column && column < box->column + box->width)
            return box;
    }
    return NULL;
}

const struct flame_box *flame_box_of(const struct flame *flame, uint32_t node)
{
    for (size_t i = 0; i < flame->count; i++)
        if (flame->boxes[i].node == node)
            return &flame->boxes[i];
    return NULL;
}
