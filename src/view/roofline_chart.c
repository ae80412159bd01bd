/* SPDX-License-Identifier: MIT */
/* Places on a roofline. */
#include "roofline_chart.h"

#include <math.h>
#include <stdio.h>

#define SMALLEST_WINDOW 0.02 /* decades */
#define LARGEST_WINDOW 40.0

bool roofline_is_placed(const struct roofline_point *point)
{
    return isfinite(point->intensity) && isfinite(point->performance) && point->intensity > 0 && point->performance > 0;
}

static bool is_known(const struct roofline_roof *roof)
{
    return isfinite(roof->value) && roof->value > 0;
}

static const struct roofline_roof *highest(const struct roofline_chart *chart, bool is_bandwidth)
{
    const struct roofline_roof *best = NULL;
    for (size_t i = 0; i < chart->roof_count; i++)
        if (chart->roofs[i].is_bandwidth == is_bandwidth && is_known(&chart->roofs[i]) && (!best || chart->roofs[i].value > best->value))
            best = &chart->roofs[i];
    return best;
}

static double roof_at(const struct roofline_roof *roof, double intensity)
{
    return roof->is_bandwidth ? roof->value * intensity : roof->value;
}

/* --- the window ------------------------------------------------------------------------------------------------------ */

static void include(struct roofline_window *window, bool *any, double x, double y)
{
    window->left = *any ? fmin(window->left, x) : x;
    window->right = *any ? fmax(window->right, x) : x;
    window->bottom = *any ? fmin(window->bottom, y) : y;
    window->top = *any ? fmax(window->top, y) : y;
    *any = true;
}

struct roofline_window roofline_fit(const struct roofline_chart *chart)
{
    struct roofline_window window = {-1, 1, 9, 12};
    const struct roofline_roof *slope = highest(chart, true), *peak = highest(chart, false);
    bool any = false;
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct roofline_point *point = &chart->points[i];
        if (!roofline_is_placed(point))
            continue;
        include(&window, &any, log10(point->intensity), log10(point->performance));
        double attainable = roofline_attainable(chart, point->intensity, NULL);
        if (attainable > 0)
            include(&window, &any, log10(point->intensity), log10(attainable));
    }
    if (slope && peak) /* where the one ends and the other begins */
        include(&window, &any, log10(peak->value / slope->value), log10(peak->value));
    double margin = fmax(0.35, (window.right - window.left) * 0.08);
    if (window.right - window.left < 1.5)
        margin = 1;
    window.left -= margin;
    window.right += margin;
    window.top += 0.4;
    window.bottom -= window.top - window.bottom < 1.5 ? 1 : 0.4;
    return window;
}

static void zoom_axis(double *low, double *high, double factor, double around)
{
    double width = (*high - *low) * factor;
    if (width < SMALLEST_WINDOW || width > LARGEST_WINDOW)
        return;
    *low = around - (around - *low) * factor;
    *high = *low + width;
}

void roofline_zoom(struct roofline_window *window, double factor, double x, double y)
{
    zoom_axis(&window->left, &window->right, factor, x);
    zoom_axis(&window->bottom, &window->top, factor, y);
}

static void pan_axis(double *low, double *high, double part)
{
    double shift = (*high - *low) * part;
    if (fabs(*low + shift) > LARGEST_WINDOW || fabs(*high + shift) > LARGEST_WINDOW)
        return;
    *low += shift;
    *high += shift;
}

void roofline_pan(struct roofline_window *window, double right, double up)
{
    pan_axis(&window->left, &window->right, right);
    pan_axis(&window->bottom, &window->top, up);
}

/* --- roofs ----------------------------------------------------------------------------------------------------------- */

double roofline_attainable(const struct roofline_chart *chart, double intensity, const struct roofline_roof **ret_roof)
{
    const struct roofline_roof *slope = highest(chart, true), *peak = highest(chart, false);
    const struct roofline_roof *binds = !slope || (peak && peak->value < roof_at(slope, intensity)) ? peak : slope;
    if (ret_roof)
        *ret_roof = binds;
    return binds ? roof_at(binds, intensity) : NAN;
}

struct roofline_headroom roofline_headroom(const struct roofline_chart *chart, const struct roofline_point *point)
{
    struct roofline_headroom headroom = {0};
    headroom.attainable = roofline_attainable(chart, point->intensity, &headroom.roof);
    headroom.factor = headroom.attainable / point->performance;
    headroom.next_factor = NAN;
    for (size_t i = 0; i < chart->roof_count; i++) {
        const struct roofline_roof *roof = &chart->roofs[i];
        double factor = roof_at(roof, point->intensity) / point->performance;
        if (is_known(roof) && factor > 1 && (!headroom.next || factor < headroom.next_factor)) {
            headroom.next = roof;
            headroom.next_factor = factor;
        }
    }
    return headroom;
}

/* One edge of the window: `towards` of the line crosses it at part `room` of the way. False: nothing is left. */
static bool clip_edge(double towards, double room, double *from, double *to)
{
    if (towards == 0)
        return room >= 0;
    double part = room / towards;
    if (towards < 0)
        *from = fmax(*from, part);
    else
        *to = fmin(*to, part);
    return *from <= *to;
}

bool roofline_clip(struct roofline_line *line, const struct roofline_window *window)
{
    double x = line->to_x - line->from_x, y = line->to_y - line->from_y, from = 0, to = 1;
    struct roofline_line all = *line;
    if (!clip_edge(-x, all.from_x - window->left, &from, &to) || !clip_edge(x, window->right - all.from_x, &from, &to) ||
        !clip_edge(-y, all.from_y - window->bottom, &from, &to) || !clip_edge(y, window->top - all.from_y, &from, &to))
        return false;
    *line = (struct roofline_line){all.from_x + from * x, all.from_y + from * y, all.from_x + to * x, all.from_y + to * y};
    return true;
}

bool roofline_roof_line(const struct roofline_chart *chart, const struct roofline_roof *roof, const struct roofline_window *window, struct roofline_line *ret_line)
{
    const struct roofline_roof *other = highest(chart, !roof->is_bandwidth);
    if (!is_known(roof))
        return false;
    double value = log10(roof->value), from = window->left, to = window->right;
    if (other && roof->is_bandwidth)
        to = fmin(to, log10(other->value) - value);
    else if (other)
        from = fmax(from, value - log10(other->value));
    *ret_line = (struct roofline_line){from, roof->is_bandwidth ? from + value : value, to, roof->is_bandwidth ? to + value : value};
    return from < to && roofline_clip(ret_line, window);
}

/* --- points ---------------------------------------------------------------------------------------------------------- */

long roofline_nearest(const struct roofline_chart *chart, const struct roofline_window *window, double x, double y, double reach)
{
    long best = -1;
    double best_distance = reach;
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct roofline_point *point = &chart->points[i];
        if (!roofline_is_placed(point))
            continue;
        double right = (log10(point->intensity) - window->left) / (window->right - window->left) - x;
        double up = (log10(point->performance) - window->bottom) / (window->top - window->bottom) - y, distance = hypot(right, up);
        if (distance <= best_distance) {
            best = (long)i;
            best_distance = distance;
        }
    }
    return best;
}

/* Heavier first; of equal ones the earlier. */
static bool stands_before(const struct roofline_chart *chart, long left, long right)
{
    double first = chart->points[left].weight, second = chart->points[right].weight;
    return first > second || (!(first < second) && left < right);
}

/* The end of the order that `forward` begins with. */
static long first_of(const struct roofline_chart *chart, bool forward)
{
    long best = -1;
    for (long i = 0; i < (long)chart->point_count; i++)
        if (roofline_is_placed(&chart->points[i]) && (best < 0 || stands_before(chart, i, best) == forward))
            best = i;
    return best;
}

long roofline_next(const struct roofline_chart *chart, long from, bool forward)
{
    long best = -1;
    if (from < 0)
        return first_of(chart, forward);
    for (long i = 0; i < (long)chart->point_count; i++) {
        if (i == from || !roofline_is_placed(&chart->points[i]) || stands_before(chart, from, i) != forward)
            continue;
        if (best < 0 || stands_before(chart, i, best) == forward)
            best = i;
    }
    return best < 0 ? first_of(chart, forward) : best;
}

/* --- axes ------------------------------------------------------------------------------------------------------------ */

static size_t add_tick(struct roofline_tick *ticks, size_t count, size_t capacity, double value, bool labelled)
{
    if (count < capacity)
        ticks[count++] = (struct roofline_tick){log10(value), value, labelled};
    return count;
}

/* Decades, every so many with a label; the numbers between where each has one. */
static size_t decade_ticks(double low, double high, unsigned labels, struct roofline_tick *ticks, size_t capacity)
{
    int first = (int)floor(low), last = (int)ceil(high), step = 1;
    size_t count = 0;
    while ((high - low) / step > labels)
        step++;
    for (int decade = first; decade <= last; decade++) {
        for (int digit = 1; digit <= (step == 1 ? 9 : 1); digit++) {
            double at = decade + log10(digit);
            if (at < low - 1e-9 || at > high + 1e-9)
                continue;
            bool few = step == 1 && labels >= (high - low) * 3 && (digit == 2 || digit == 5);
            count = add_tick(ticks, count, capacity, digit * pow(10, decade), (digit == 1 && decade % step == 0) || few);
        }
    }
    return count;
}

/* Within a decade or so: round steps. */
static size_t linear_ticks(double low, double high, unsigned labels, struct roofline_tick *ticks, size_t capacity)
{
    double from = pow(10, low), to = pow(10, high), rough = (to - from) / labels, power = pow(10, floor(log10(rough)));
    double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
    double first = ceil(from / step - 1e-9);
    size_t count = 0;
    for (unsigned i = 0; (first + i) * step <= to * (1 + 1e-9) && count < capacity; i++)
        if (first + i > 0)
            count = add_tick(ticks, count, capacity, (first + i) * step, true);
    return count;
}

size_t roofline_ticks(double low, double high, unsigned labels, struct roofline_tick *ticks, size_t capacity)
{
    if (!(low < high) || !labels)
        return 0;
    return high - low >= 1 ? decade_ticks(low, high, labels, ticks, capacity) : linear_ticks(low, high, labels, ticks, capacity);
}

char *roofline_number(char *text, size_t size, double value)
{
    static const char prefixes[] = "kMGTPE";
    int prefix = -1;
    while (value >= 999.95 && prefix + 1 < (int)sizeof prefixes - 1) {
        value /= 1000;
        prefix++;
    }
    if (prefix < 0)
        snprintf(text, size, "%.4g", value);
    else
        snprintf(text, size, "%.4g %c", value, prefixes[prefix]);
    return text;
}
