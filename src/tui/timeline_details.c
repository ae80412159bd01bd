/* SPDX-License-Identifier: MIT */
/* What is known of the selected span, below the lanes. */
#include "tab_timeline.h"

#include "view/display_name.h"
#include "view/units.h"

#include <inttypes.h>
#include <string.h>

#define STACK_FRAMES_MAX 12

int timeline_details_rows(const struct app *app, const struct timeline_tab *tab, int rows)
{
    (void)app;
    if (tab->details_hidden || tab->span.index == ID_NONE || rows < 14)
        return 0;
    return rows >= 40 ? 11 : 7;
}

static const char *lane_name(const struct timeline_tab *tab, uint32_t lane)
{
    return lane < tab->timeline->lane_count ? tab->timeline->lanes[lane].name : "?";
}

static const char *process_name(const struct timeline_tab *tab, uint32_t lane)
{
    uint32_t parent = lane < tab->timeline->lane_count ? tab->timeline->lanes[lane].parent : LANE_NONE_INDEX;
    return lane_name(tab, parent);
}

static void add_field(struct app *app, struct text *out, const struct payload_field *field, union payload_value value)
{
    char text[32];
    text_addf(out, "%s ", field->name);
    if (field->type == PAYLOAD_TYPE_STRING) {
        const char *string = trace_text(app->trace, value.string);
        text_add_line(out, string, strlen(string));
    } else if (field->type == PAYLOAD_TYPE_DOUBLE) {
        text_addf(out, "%.6g %s", value.number, field->unit);
    } else if (strcmp(field->unit, "ns") == 0) {
        text_add_string(out, format_duration(text, sizeof text, value.i64));
    } else if (strcmp(field->unit, "By") == 0) {
        text_add_string(out, format_bytes(text, sizeof text, value.u64));
    } else if (field->type == PAYLOAD_TYPE_I64) {
        text_addf(out, "%" PRId64 "%s%s", value.i64, *field->unit ? " " : "", field->unit);
    } else if (value.u64 > UINT64_C(0xffffffffff)) {
        text_addf(out, "0x%" PRIx64, value.u64);
    } else {
        text_addf(out, "%s%s%s", format_count(text, sizeof text, value.u64), *field->unit ? " " : "", field->unit);
    }
}

static void add_payload(struct app *app, const struct payload *payload, struct text *out)
{
    size_t count;
    if (payload->kind == PAYLOAD_NONE || payload->kind == PAYLOAD_JSON)
        return;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    for (size_t i = 0; i < count; i++) {
        if (!(payload->present >> i & 1))
            continue;
        if (out->length)
            text_add_string(out, "   ");
        add_field(app, out, &fields[i], payload->fields[i]);
    }
}

static void add_stack(struct app *app, stack_id stack, struct text *out)
{
    uint32_t stack_count, frame_count;
    const struct stack_node *stacks = trace_stacks(app->trace, &stack_count);
    const struct trace_frame *frames = trace_frames(app->trace, &frame_count);
    for (int i = 0; stack.index < stack_count && i < STACK_FRAMES_MAX; i++, stack = stacks[stack.index].parent) {
        struct text name = TEXT_INIT;
        uint32_t frame = stacks[stack.index].frame.index;
        if (frame < frame_count)
            text_add_display_name(&name, trace_text(app->trace, frames[frame].function));
        text_add_string(out, i ? " < " : "called by ");
        if (name.data)
            text_add_line(out, name.data, name.length);
        text_finish(&name);
    }
}

static void add_link(struct app *app, const struct timeline_tab *tab, const struct span_link *link, struct text *out)
{
    struct span_facts other;
    struct error err = ERROR_INIT;
    char text[32];
    if (timeline_span(tab->timeline, link->other, &other, &err) < 0)
        return;
    int64_t lag_ns = link->outgoing ? other.span.begin_ns - tab->facts.span.begin_ns : tab->facts.span.begin_ns - other.span.begin_ns;
    const char *name = trace_text(app->trace, other.span.name);
    text_addf(out, "%s %s (%s) ", link->outgoing ? "to" : "from", link_kind_name(link->kind), confidence_name(link->confidence));
    text_add_line(out, name, strnlen(name, 200));
    text_addf(out, ", %s in %s, begins %s %s", lane_name(tab, other.lane), process_name(tab, other.lane), format_duration(text, sizeof text, lag_ns < 0 ? -lag_ns : lag_ns),
              (lag_ns < 0) == link->outgoing ? "before" : "after");
}

static void add_head(struct app *app, const struct timeline_tab *tab, struct text *out)
{
    char begin[32], length[32];
    const struct span_facts *facts = &tab->facts;
    const char *category = trace_text(app->trace, facts->span.category);
    text_add_line(out, category, strnlen(category, 60));
    text_addf(out, "%s%s   takes %s%s   begins at %s   %s in %s", *category ? " " : "", span_kind_name(facts->span.kind),
              format_duration(length, sizeof length, facts->end_ns - facts->span.begin_ns), facts->open ? " so far: it has not ended" : facts->unfinished ? " at least: it had not ended" : "",
              format_duration(begin, sizeof begin, facts->span.begin_ns), lane_name(tab, facts->lane), process_name(tab, facts->lane));
    if (tab->marked)
        text_addf(out, "   from the mark %s", format_duration(begin, sizeof begin, facts->span.begin_ns - tab->mark_ns));
}

void timeline_add_details(struct app *app, const struct timeline_tab *tab, struct text *out)
{
    const char *name = trace_text(app->trace, tab->facts.span.name);
    struct text payload = TEXT_INIT;
    text_add_line(out, *name ? name : "(no name)", *name ? strlen(name) : 9);
    text_add_char(out, '\n');
    add_head(app, tab, out);
    text_add_char(out, '\n');
    add_payload(app, &tab->facts.payload, &payload);
    if (payload.length)
        text_addf(out, "%s\n", payload.data);
    text_finish(&payload);
    if (tab->facts.span.stack.index != ID_NONE) {
        add_stack(app, tab->facts.span.stack, out);
        text_add_char(out, '\n');
    }
    for (int i = 0; i < tab->link_count && i < LINKS_MAX; i++) {
        add_link(app, tab, &tab->links[i], out);
        text_add_char(out, '\n');
    }
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

void timeline_draw_details(struct app *app, struct timeline_tab *tab)
{
    struct canvas *canvas = &app->canvas;
    struct area area = tab->details;
    struct text text = TEXT_INIT;
    if (!area.rows)
        return;
    for (int x = 0; x < area.columns; x++)
        canvas_glyph(canvas, area.y, x, look_of(COLOUR_FAINT), 0x2500);
    timeline_add_details(app, tab, &text);
    int y = area.y + 1, left = text.failed || !text.data ? 0 : count_lines(text.data);
    for (char *line = text.data; left > 0 && y < area.y + area.rows; left--, y++) {
        char *end = strchr(line, '\n');
        *end = '\0';
        bool first = line == text.data, more = y + 1 == area.y + area.rows && left > 1;
        enum colour colour = palette_for_span(tab->facts.span.kind, tab->facts.span.category, tab->facts.span.name);
        if (first)
            canvas_glyph(canvas, y, 1, look_of(span_kind_waits(tab->facts.span.kind) ? COLOUR_WAIT_TEXT : colour), 0x2588);
        if (more)
            canvas_textf(canvas, y, 3, area.columns - 4, look_of(COLOUR_DIM), "and %d more: copy (y) takes all of it", left);
        else
            canvas_text(canvas, y, 3, area.columns - 4, first ? look_bold(COLOUR_DEFAULT) : look_of(COLOUR_DEFAULT), line);
        line = end + 1;
    }
    text_finish(&text);
}
