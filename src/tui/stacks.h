/* SPDX-License-Identifier: MIT */
/* What the two tabs of call stacks share. */
#ifndef HP_TUI_STACKS_H
#define HP_TUI_STACKS_H

#include "app.h"

#include "view/call_tree.h"

static inline struct context_options stacks_options(const struct app *app, bool bottom_up)
{
    return (struct context_options){.measure = app->measure, .bottom_up = bottom_up, .where = app->filter, .has_window = !app_window_is_all(app),
                                    .window_begin_ns = app->begin_ns, .window_end_ns = app->end_ns};
}

/* What is counted unless the user chose: CPU samples, where there are none the calls that have stacks. */
void stacks_default_measure(struct app *app);
void stacks_next_measure(struct app *app); /* for both tabs */
/* Draws why there is nothing to see. */
/* What the tree does not have: "; no stacks were recorded ...", "; 245 of 733 calls have a stack ..."; nothing when all is there. */
void stacks_add_lack(const struct trace *trace, const struct calling_context *context, struct text *out);
void stacks_draw_missing(struct app *app, const struct calling_context *context, struct area area);
bool stacks_subject(const struct calling_context *context, uint32_t node, struct subject *ret_subject);
/* The node that a subject of any kind stands for here; ID_NONE. */
uint32_t stacks_locate(struct app *app, const struct calling_context *context, bool bottom_up, const struct subject *subject);
/* Likewise; where it isn't among what is counted, what it is among is counted from now on. */
struct stacks_place {
    enum tab_number tab;
    const struct calling_context *(*context_of)(const void *state); /* asked again once another one was made */
    const void *state;
    bool bottom_up;
};
uint32_t stacks_go_to(struct app *app, const struct stacks_place *place, const struct subject *subject);
/* The names of the frames that lead to a node; and the node they lead to in another tree, as far as it has them. */
void stacks_remember_path(const struct trace *trace, const struct calling_context *context, uint32_t node, struct text *out);
uint32_t stacks_recall_path(const struct trace *trace, const struct calling_context *context, struct memory *memory);

#endif
