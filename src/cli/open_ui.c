/* SPDX-License-Identifier: MIT */
/* The terminal UI, where it is built in. */
#include "open_ui.h"

#include <errno.h>
#ifndef HP_HAVE_NCURSESW
#include <unistd.h>
#endif

#ifdef HP_HAVE_NCURSESW
#include "tui/keys.h"
#include "tui/tui.h"

const char *ui_unfit(void)
{
    return tui_unfit();
}

int ui_open(struct trace *trace, const char *path, struct error *err)
{
    return tui_run(trace, path, err);
}

int ui_open_against(struct trace *trace, const char *path, const struct trace *other, const char *other_path, struct error *err)
{
    return tui_run_against(trace, path, other, other_path, err);
}

int ui_open_live(struct live_run *run, const char *path, struct error *err)
{
    return tui_run_live(run, path, err);
}

void ui_describe(struct text *out)
{
    text_add_string(out, "Keys of the terminal UI (? shows them, too):\n");
    keys_describe(out);
}
#else
const char *ui_unfit(void)
{
    return "this build has none: libncurses-dev was missing when it was built";
}

int ui_open(struct trace *trace, const char *path, struct error *err)
{
    (void)trace;
    (void)path;
    return error_set(err, -ENOTSUP, "no terminal UI: %s", ui_unfit());
}

int ui_open_against(struct trace *trace, const char *path, const struct trace *other, const char *other_path, struct error *err)
{
    (void)other;
    (void)other_path;
    return ui_open(trace, path, err);
}

int ui_open_live(struct live_run *run, const char *path, struct error *err)
{
    (void)run;
    (void)path;
    return error_set(err, -ENOTSUP, "no terminal UI: %s", ui_unfit());
}

void ui_describe(struct text *out)
{
    text_addf(out, "Terminal UI: %s.\n", ui_unfit());
}
#endif

/* A terminal UI would have opened here if this build had one: that is said though nobody asked for one. */
static bool is_missed(void)
{
#ifdef HP_HAVE_NCURSESW
    return false;
#else
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
#endif
}

bool ui_wanted(int asked, const struct log *log)
{
    const char *why = asked == 0 ? NULL : ui_unfit();
    if (why && (asked == 1 || (asked < 0 && is_missed())))
        log_info(log, "no terminal UI here: %s; the summary is printed instead", why);
    return asked != 0 && !why;
}
