/* SPDX-License-Identifier: MIT */
/* What a lane shows in each column: span by span where there are few, else from the levels of detail. */
#include "timeline_internal.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "trace/lod.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define EXACT_ROWS 8192       /* more spans than this in the window: level of detail */
#define PICTURES_MAX 512
#define GROUP_LANES_MAX 64    /* a folded process: the mean of that many lanes */

struct painting {
    struct timeline *timeline;
    struct timeline_inside *inside;
    const struct timeline_lane *lane;
    struct lane_picture *picture;
    int64_t begin_ns, end_ns;
    unsigned columns, limit;      /* limit: rows */
    struct open_cursor calls;     /* not drawn yet, where levels of detail are */
    int64_t *best_ns;             /* by cell: overlap of the span that gave the cell its name */
    struct row_slots slots;
};

static double column_ns(const struct painting *painting)
{
    return (double)(painting->end_ns - painting->begin_ns) / painting->columns;
}

void timeline_forget_pictures(struct timeline *timeline)
{
    struct timeline_inside *inside = inside_of(timeline);
    for (size_t i = 0; i < inside->slot_count; i++)
        free(inside->slots[i].picture.cells);
    inside->slot_count = 0;
}

/* --- exact ----------------------------------------------------------------------------------------------------------- */

struct paint {
    int64_t begin_ns, end_ns;
    string_id name, category;
    uint8_t kind;
    bool chosen;
    span_id span;
    bool open;
};

static void paint_cell(struct painting *painting, unsigned row, int64_t column, const struct paint *paint)
{
    size_t at = (size_t)row * painting->columns + (size_t)column;
    struct timeline_cell *cell = &painting->picture->cells[at];
    double width = column_ns(painting);
    double from = (double)painting->begin_ns + (double)column * width, to = from + width;
    double overlap = ((double)paint->end_ns < to ? (double)paint->end_ns : to) - ((double)paint->begin_ns > from ? (double)paint->begin_ns : from);
    overlap = overlap > 0 ? overlap : 0;
    cell->busy += (float)(overlap / width);
    cell->count++;
    if (cell->count > 1 && (int64_t)overlap <= painting->best_ns[at])
        return;
    painting->best_ns[at] = (int64_t)overlap;
    cell->name = paint->name;
    cell->category = paint->category;
    cell->kind = paint->kind;
    cell->chosen = paint->chosen;
    cell->span = paint->span;
    cell->found = timeline_name_found(painting->timeline, paint->name);
    cell->begins = (double)paint->begin_ns >= from;
    cell->open = paint->open;
}

static void paint_span(struct painting *painting, unsigned row, const struct paint *paint)
{
    double width = column_ns(painting);
    int64_t first = (int64_t)(((double)paint->begin_ns - (double)painting->begin_ns) / width);
    int64_t last = (int64_t)(((double)paint->end_ns - (double)painting->begin_ns) / width);
    double last_begin = (double)painting->begin_ns + (double)last * width;
    if (last > first && last_begin >= (double)paint->end_ns)
        last--; /* it ends where that column begins */
    if (first < 0)
        first = 0;
    if (first >= (int64_t)painting->columns)
        first = (int64_t)painting->columns - 1; /* the run's last moment: it has no column of its own */
    if (last >= (int64_t)painting->columns)
        last = (int64_t)painting->columns - 1;
    for (int64_t column = first; column <= last; column++)
        paint_cell(painting, row, column, paint);
    if (row >= painting->picture->depth)
        painting->picture->depth = row + 1;
}

static int paint_exact(void *context, const struct visited_span *span)
{
    struct painting *painting = context;
    const struct span_block *block = span->block;
    struct paint paint = {span->begin_ns, span->end_ns, block->name ? block->name[span->row] : STRING_NONE,
                          block->category ? block->category[span->row] : STRING_NONE, block->kind ? block->kind[span->row] : 0,
                          true, span->id, span->open};
    if (painting->inside->match)
        paint.chosen = filter_match_span(painting->inside->match, block, span->row);
    paint_span(painting, row_slots_take(&painting->slots, span->begin_ns, span->end_ns), &paint);
    return 0;
}

static int draw_exact(struct painting *painting, struct error *err)
{
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) |
                       (painting->inside->match ? filter_span_columns(painting->inside->filter) : 0);
    painting->picture->exact = true;
    return timeline_visit(painting->timeline, (uint32_t)(painting->lane - painting->timeline->lanes), painting->begin_ns,
                          painting->end_ns, columns, paint_exact, painting, err);
}

/* --- level of detail ------------------------------------------------------------------------------------------------- */

static int64_t first_bucket(const struct lod_level *level, int64_t time_ns)
{
    int64_t index = lod_bucket_of(level, time_ns);
    return index < 0 ? 0 : index;
}

static uint64_t count_in_window(const struct lod *lod, int64_t begin_ns, int64_t end_ns)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < lod->level_count; i++) {
        const struct lod_level *level = &lod->levels[i];
        int64_t from = first_bucket(level, begin_ns), to = lod_bucket_of(level, end_ns) + 1;
        if (to - from > 1024 && i + 1 < lod->level_count)
            continue;
        for (int64_t b = from; b < to && b < (int64_t)level->count; b++)
            count += level->buckets[b].count;
        return count;
    }
    return count;
}

/* Calls that have not ended, in their place among bars. */
static void draw_open(struct painting *painting, int64_t before_ns)
{
    timeline_visit_open(painting->timeline, &painting->calls, before_ns, painting->begin_ns, paint_exact, painting);
}

/* Spans of over two columns stand out as bars: the longest that begins in a bucket is known. */
static void draw_bars(struct painting *painting, const struct lod_level *level)
{
    double width = column_ns(painting);
    for (uint32_t b = 0; b < level->count; b++) {
        const struct lod_bucket *bucket = &level->buckets[b];
        int64_t begin_ns = (level->first + b) * level->width_ns;
        if (begin_ns >= painting->end_ns)
            break;
        if (!bucket->count || (double)bucket->longest_ns < 2 * width || begin_ns + level->width_ns + bucket->longest_ns < painting->begin_ns)
            continue;
        const struct name_facts *facts = timeline_name(painting->timeline, bucket->longest_name);
        struct paint paint = {begin_ns, begin_ns + bucket->longest_ns, bucket->longest_name, facts->category, facts->kind, facts->chosen,
                              SPAN_NONE, false};
        draw_open(painting, begin_ns);
        if (painting->slots.limit > 1 && painting->slots.used + 1 >= painting->limit && painting->slots.end_ns[painting->slots.limit - 2] > begin_ns)
            continue;
        paint_span(painting, row_slots_take(&painting->slots, paint.begin_ns, paint.end_ns), &paint);
    }
}

/* A bucket's stretch in columns, and the part of it that lies in each: its time is shared out among them. */
struct stretch {
    double from, to;      /* in columns */
    int64_t first, last;  /* those that are in the picture */
};

static struct stretch stretch_of(const struct painting *painting, const struct lod_level *level, int64_t bucket)
{
    double width = column_ns(painting);
    struct stretch stretch = {.from = ((double)(level->first + bucket) * (double)level->width_ns - (double)painting->begin_ns) / width};
    stretch.to = stretch.from + (double)level->width_ns / width;
    stretch.first = stretch.from < 0 ? 0 : (int64_t)stretch.from;
    stretch.last = stretch.to > painting->columns ? (int64_t)painting->columns - 1 : (int64_t)ceil(stretch.to) - 1;
    return stretch;
}

static double part_in(const struct stretch *stretch, int64_t column)
{
    double from = stretch->from > (double)column ? stretch->from : (double)column;
    double to = stretch->to < (double)column + 1 ? stretch->to : (double)column + 1;
    return to > from ? (to - from) / (stretch->to - stretch->from) : 0;
}

static void name_cell(struct painting *painting, struct timeline_cell *cell, string_id name)
{
    const struct name_facts *facts = timeline_name(painting->timeline, name);
    cell->name = name;
    cell->category = facts->category;
    cell->kind = facts->kind;
    cell->chosen = facts->chosen;
    cell->found = timeline_name_found(painting->timeline, name);
}

/* The row of all others: how much of each column was busy, and with what most. */
static void draw_density(struct painting *painting, const struct lod_level *level, unsigned row)
{
    double width = column_ns(painting);
    struct timeline_cell *cells = &painting->picture->cells[(size_t)row * painting->columns];
    int64_t *best_ns = &painting->best_ns[(size_t)row * painting->columns];
    for (int64_t b = first_bucket(level, painting->begin_ns); b < (int64_t)level->count; b++) {
        const struct lod_bucket *bucket = &level->buckets[b];
        struct stretch stretch = stretch_of(painting, level, b);
        if (stretch.first >= (int64_t)painting->columns)
            break;
        if (!bucket->busy_ns && !bucket->count)
            continue;
        for (int64_t column = stretch.first; column <= stretch.last; column++) {
            double part = part_in(&stretch, column);
            int64_t busy_ns = (int64_t)((double)bucket->busy_ns * part);
            cells[column].busy += (float)((double)bucket->busy_ns * part / width);
            cells[column].count += (uint32_t)ceil(bucket->count * part);
            if (busy_ns > best_ns[column] || !cells[column].name.index) {
                best_ns[column] = busy_ns;
                name_cell(painting, &cells[column], bucket->name);
            }
        }
    }
}

/* A bar that nothing is inside of would be seen twice. */
static void clear_repeated(struct painting *painting, unsigned row)
{
    for (unsigned column = 0; column < painting->columns && row; column++) {
        struct timeline_cell *cell = &painting->picture->cells[(size_t)row * painting->columns + column];
        for (unsigned above = row; above-- > 0;) {
            const struct timeline_cell *bar = &painting->picture->cells[(size_t)above * painting->columns + column];
            if (!bar->count)
                continue;
            if (string_is(bar->name, cell->name) && cell->count <= 1)
                *cell = (struct timeline_cell){.span = SPAN_NONE};
            break;
        }
    }
}

static void draw_lod(struct painting *painting, const struct lod *lod)
{
    const struct lod_level *level = lod_level_for(lod, (int64_t)column_ns(painting));
    if (!level)
        level = &lod->levels[0];
    painting->slots.limit = painting->limit > 1 ? painting->limit - 1 : 1;
    painting->calls = open_cursor_of(painting->lane);
    if (painting->limit > 1)
        draw_bars(painting, level);
    draw_open(painting, painting->end_ns);
    unsigned row = painting->picture->depth;
    if (row >= painting->limit)
        row = painting->limit - 1;
    draw_density(painting, level, row);
    clear_repeated(painting, row);
    painting->picture->depth = row + 1;
}

static int draw_spans(struct painting *painting, struct error *err)
{
    const struct timeline_lane *lane = painting->lane;
    const struct lod *lod;
    if (lane->spans <= EXACT_ROWS)
        return draw_exact(painting, err);
    int result = trace_lod(painting->timeline->trace, FAMILY_SPANS, lane->track, &lod, err);
    if (result < 0)
        return result;
    bool fine = lod->level_count && !lod_level_for(lod, (int64_t)column_ns(painting));
    uint64_t count = count_in_window(lod, painting->begin_ns, painting->end_ns);
    bool wanted = count <= EXACT_ROWS || (fine && count <= 4 * EXACT_ROWS);
    painting->picture->rough = wanted && painting->timeline->hurry_ns && clock_monotonic_ns() > painting->timeline->hurry_ns;
    if (wanted && !painting->picture->rough)
        return draw_exact(painting, err);
    draw_lod(painting, lod);
    return 0;
}

/* --- CPU, counters --------------------------------------------------------------------------------------------------- */

static int add_samples(struct painting *painting, struct timeline_cell *cells, struct error *err)
{
    const struct lod *lod;
    double width = column_ns(painting);
    if (!painting->lane->samples)
        return 0;
    int result = trace_lod(painting->timeline->trace, FAMILY_SAMPLES, painting->lane->track, &lod, err);
    if (result < 0 || !lod->level_count)
        return result;
    const struct lod_level *level = lod_level_for(lod, (int64_t)width);
    if (!level)
        level = &lod->levels[0];
    for (int64_t b = first_bucket(level, painting->begin_ns); b < (int64_t)level->count; b++) {
        struct stretch stretch = stretch_of(painting, level, b);
        if (stretch.first >= (int64_t)painting->columns)
            break;
        for (int64_t column = stretch.first; column <= stretch.last && level->buckets[b].count; column++) {
            cells[column].busy += (float)((double)level->buckets[b].busy_ns * part_in(&stretch, column) / width);
            cells[column].count += level->buckets[b].count;
        }
    }
    return 0;
}

static int add_off_cpu(struct painting *painting, struct timeline_cell *cells, struct error *err)
{
    const struct lod *lod;
    double width = column_ns(painting);
    if (painting->lane->sched.index == ID_NONE)
        return 0;
    int result = trace_lod(painting->timeline->trace, FAMILY_SPANS, painting->lane->sched, &lod, err);
    if (result < 0 || !lod->level_count)
        return result;
    const struct lod_level *level = lod_level_for(lod, (int64_t)width);
    if (!level)
        level = &lod->levels[0];
    for (int64_t b = first_bucket(level, painting->begin_ns); b < (int64_t)level->count; b++) {
        struct stretch stretch = stretch_of(painting, level, b);
        if (stretch.first >= (int64_t)painting->columns)
            break;
        for (int64_t column = stretch.first; column <= stretch.last; column++)
            cells[column].off += (float)((double)level->buckets[b].busy_ns * part_in(&stretch, column) / width);
    }
    return 0;
}

static int draw_cpu(struct painting *painting, struct error *err)
{
    struct lane_picture *picture = painting->picture;
    struct timeline_cell *cells = &picture->cells[(size_t)picture->depth * painting->columns];
    picture->has_cpu = painting->lane->samples || painting->lane->sched.index != ID_NONE;
    if (!picture->has_cpu)
        return 0;
    int result = add_samples(painting, cells, err);
    if (result == 0)
        result = add_off_cpu(painting, cells, err);
    for (unsigned column = 0; column < painting->columns; column++)
        cells[column].chosen = true;
    return result;
}

struct counter_sums {
    double low, high;
    bool known;
};

static void add_value(struct counter_sums *sums, double low, double high)
{
    sums->low = !sums->known || low < sums->low ? low : sums->low;
    sums->high = !sums->known || high > sums->high ? high : sums->high;
    sums->known = true;
}

/* Heights of a counter's columns: a column without a value keeps that of the column before. */
static void scale_counter(struct painting *painting, const struct counter_sums *columns, const struct counter_sums *all, double before)
{
    struct lane_picture *picture = painting->picture;
    double base = all->low > 0 ? 0 : all->low, range = all->high - base;
    double value = before;
    picture->low = all->low;
    picture->high = all->high;
    for (unsigned i = 0; i < painting->columns; i++) {
        struct timeline_cell *cell = &picture->cells[i];
        if (columns[i].known)
            value = columns[i].high;
        cell->chosen = true;
        cell->count = columns[i].known || i > 0;
        cell->busy = (float)(range > 0 ? (value - base) / range : 0);
    }
    picture->last = value;
}

static int draw_counter(struct painting *painting, struct error *err)
{
    const struct lod *lod;
    struct counter_sums all = {0};
    double width = column_ns(painting), before = 0;
    painting->picture->is_counter = true;
    painting->picture->depth = 1;
    CLEANUP(freep) struct counter_sums *columns = calloc(painting->columns + (size_t)1, sizeof *columns);
    int result = columns ? trace_lod(painting->timeline->trace, FAMILY_COUNTERS, painting->lane->track, &lod, err) : -ENOMEM;
    if (result < 0 || !lod->level_count)
        return result;
    const struct lod_level *level = lod_level_for(lod, (int64_t)width);
    if (!level)
        level = &lod->levels[0];
    for (uint32_t b = 0; b < level->count; b++) {
        const struct lod_bucket *bucket = &level->buckets[b];
        int64_t column = (int64_t)((((double)(level->first + b) + 0.5) * (double)level->width_ns - (double)painting->begin_ns) / width);
        if (!bucket->count)
            continue;
        add_value(&all, bucket->minimum, bucket->maximum); /* of the whole run: the scale stays while one pans */
        if (column < 0)
            before = bucket->maximum;
        else if (column < (int64_t)painting->columns)
            add_value(&columns[column], bucket->minimum, bucket->maximum);
    }
    scale_counter(painting, columns, &all, before);
    return 0;
}

/* --- groups ---------------------------------------------------------------------------------------------------------- */

/* A folded process: the mean of what its lanes show. */
static int draw_group(struct painting *painting, struct error *err)
{
    struct timeline *timeline = painting->timeline;
    uint32_t self = (uint32_t)(painting->lane - timeline->lanes), added = 0;
    struct timeline_cell *cells = painting->picture->cells;
    painting->picture->depth = 1;
    for (uint32_t i = self + 1; i <= self + painting->lane->children && added < GROUP_LANES_MAX; i++) {
        const struct lane_picture *part;
        if (timeline->lanes[i].kind != LANE_THREAD && timeline->lanes[i].kind != LANE_STREAM)
            continue;
        int result = timeline_picture(timeline, i, painting->begin_ns, painting->end_ns, painting->columns, 1, &part, err);
        if (result < 0)
            return result;
        added++;
        unsigned row = timeline->lanes[i].spans || timeline->lanes[i].calls ? 0 : part->depth;
        for (unsigned column = 0; column < painting->columns; column++) {
            const struct timeline_cell *from = &part->cells[(size_t)row * part->columns + column];
            struct timeline_cell *to = &cells[column];
            if (from->count && (!to->count || from->busy > to->off)) {
                float busy = to->busy;
                uint32_t count = to->count;
                *to = *from;
                to->off = from->busy; /* the busiest lane names the column */
                to->busy = busy;
                to->count = count;
                to->span = SPAN_NONE;
            }
            to->busy += from->busy > 1 ? 1 : from->busy;
            to->count += from->count;
        }
    }
    for (unsigned column = 0; column < painting->columns && added; column++) {
        cells[column].busy /= (float)added;
        cells[column].off = 0;
    }
    return 0;
}

/* --- pictures -------------------------------------------------------------------------------------------------------- */

static int draw(struct painting *painting, struct error *err)
{
    size_t cells = (size_t)(painting->limit + 1) * painting->columns;
    struct lane_picture *picture = painting->picture;
    picture->columns = painting->columns;
    picture->cells = calloc(cells, sizeof *picture->cells);
    CLEANUP(freep) int64_t *best_ns = calloc(cells, sizeof *best_ns);
    painting->best_ns = best_ns;
    painting->slots.limit = painting->limit;
    if (!picture->cells || !best_ns)
        return error_set(err, -ENOMEM, "out of memory for a timeline");
    for (size_t i = 0; i < cells; i++)
        picture->cells[i].span = SPAN_NONE;
    if (painting->lane->kind == LANE_COUNTER)
        return draw_counter(painting, err);
    if (painting->lane->kind == LANE_NODE || painting->lane->kind == LANE_PROCESS)
        return painting->lane->open ? 0 : draw_group(painting, err);
    int result = painting->lane->spans || painting->lane->calls ? draw_spans(painting, err) : 0;
    return result < 0 ? result : draw_cpu(painting, err);
}

static struct picture_slot *find_slot(struct timeline_inside *inside, uint32_t lane, unsigned depth)
{
    for (size_t i = 0; i < inside->slot_count; i++)
        if (inside->slots[i].lane == (lane | (uint32_t)(depth == 1) << 31))
            return &inside->slots[i];
    return NULL;
}

int timeline_picture(struct timeline *timeline, uint32_t lane, int64_t begin_ns, int64_t end_ns, unsigned columns, unsigned depth,
                     const struct lane_picture **ret_picture, struct error *err)
{
    struct timeline_inside *inside = inside_of(timeline);
    bool same = begin_ns == inside->begin_ns && end_ns == inside->end_ns && columns == inside->columns;
    if (!same || (depth > 1 && depth != inside->depth) || inside->slot_count > PICTURES_MAX)
        timeline_forget_pictures(timeline);
    inside->begin_ns = begin_ns;
    inside->end_ns = end_ns;
    inside->columns = columns;
    inside->depth = depth > 1 ? depth : inside->depth;
    struct picture_slot *slot = find_slot(inside, lane, depth);
    if (slot && slot->picture.rough && clock_monotonic_ns() <= timeline->hurry_ns) {
        free(slot->picture.cells);
        *slot = inside->slots[--inside->slot_count];
        slot = NULL;
    }
    if (slot) {
        *ret_picture = &slot->picture;
        return 0;
    }
    struct lane_picture picture = {0};
    struct painting painting = {.timeline = timeline, .inside = inside, .lane = &timeline->lanes[lane], .picture = &picture,
                                .begin_ns = begin_ns, .end_ns = end_ns > begin_ns ? end_ns : begin_ns + 1, .columns = columns,
                                .limit = depth < TIMELINE_DEPTH_MAX ? depth : TIMELINE_DEPTH_MAX};
    int result = columns && depth ? draw(&painting, err) : -EINVAL;
    struct picture_slot *slots = result < 0 ? NULL : array_reserve(inside->slots, &inside->slot_capacity, inside->slot_count + 1, sizeof *slots);
    if (!slots) {
        free(picture.cells);
        return result < 0 ? result : error_set(err, -ENOMEM, "out of memory for a timeline");
    }
    inside->slots = slots;
    slots[inside->slot_count] = (struct picture_slot){lane | (uint32_t)(depth == 1) << 31, picture};
    *ret_picture = &slots[inside->slot_count++].picture;
    return 0;
}
