/* SPDX-License-Identifier: MIT */
/* Whether the terminal UI can be opened, and opening it: the one place that knows whether this build has it. */
#ifndef HP_CLI_OPEN_UI_H
#define HP_CLI_OPEN_UI_H

#include "command.h"

struct live_run;
struct trace;

#define OPTION_UI(values, what)                                                                                        \
    {                                                                                                                  \
        .long_name = "ui", .kind = OPTION_NEGATABLE, .offset = offsetof(values, ui),                                   \
        .help = what " [on when input and output are a terminal]"                                                      \
    }

/* asked: 1 --ui, 0 --no-ui, -1 neither: where it fits. When it was asked for and can't be, says why. */
bool ui_wanted(int asked, const struct log *log);
const char *ui_unfit(void); /* NULL: it can be opened */
int ui_open(struct trace *trace, const char *path, struct error *err);
int ui_open_against(struct trace *trace, const char *path, const struct trace *other, const char *other_path, struct error *err); /* other: may be NULL */
int ui_open_live(struct live_run *run, const char *path, struct error *err); /* of a run that goes on */
/* The keys, for help and man page. */
void ui_describe(struct text *out);

#endif
