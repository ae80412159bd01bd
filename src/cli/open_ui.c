/* SPDX-License-Identifier: MIT */
/* The terminal UI, where it is built in. */
#include "open_ui.h"

#include <errno.h>

#ifdef HP_HAVE_NCURSESW
#include "tui/keys.h"
#include "tui/tui.h"

static const char *unfit(void)
{
    return tui_unfit();
}

int ui_open(struct trace *trace, const char *path, struct error *err)
{
    return tui_run(trace, path, err);
}

void ui_describe(struct text *out)
{
    text_add_string(out, "Keys of the terminal UI (? shows them, too):\n");
    keys_describe(out);
}
#else
static const char *unfit(void)
{
    return "this build has none: libncurses-dev was missing when it was built";
}

int ui_open(struct trace *trace, const char *path, struct error *err)
{
    (void)trace;
    (void)path;
    return error_set(err, -ENOTSUP, "no terminal UI: %s", unfit());
}

void ui_describe(struct text *out)
{
    text_addf(out, "Terminal UI: %s.\n", unfit());
}
#endif

bool ui_wanted(int asked, const struct log *log)
{
    const char *why = asked == 0 ? NULL : unfit();
    if (asked == 1 && why)
        log_info(log, "no terminal UI here: %s; the summary is printed instead", why);
    return asked != 0 && !why;
}
