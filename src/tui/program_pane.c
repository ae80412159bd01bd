/* SPDX-License-Identifier: MIT */
/* The terminal of the program that is recorded. */
#include "program_pane.h"

#include "program_screen.h"
#include "terminal.h"

#include "base/error.h"
#include "view/live_run.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX 65536   /* at once, so that keys are heard in between */
#define UNSENT_MAX 65536 /* of a program that does not read: what is typed beyond is lost, as on any terminal */
#define PART_ROWS_MIN 4

int program_pane_open(struct program_pane *pane, const struct live_run *run, struct error *err)
{
    bool exists = run->terminal >= 0;
    *pane = (struct program_pane){.run = run, .terminal = run->terminal, .exists = exists, .size = exists ? PANE_PART : PANE_HIDDEN};
    return exists ? program_screen_create(24, 80, &pane->screen, err) : 0; /* until it is drawn */
}

void program_pane_close(struct program_pane *pane)
{
    program_screen_destroy(pane->screen);
    pane->screen = NULL;
    text_finish(&pane->unsent);
}

/* --- the program ----------------------------------------------------------------------------------------------------- */

static void send_waiting(struct program_pane *pane)
{
    if (!pane->unsent.length || pane->terminal < 0)
        return;
    ssize_t sent = send(pane->terminal, pane->unsent.data, pane->unsent.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        pane->unsent.length -= (size_t)sent;
        memmove(pane->unsent.data, pane->unsent.data + sent, pane->unsent.length);
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        text_clear(&pane->unsent); /* nobody is there to read it */
    }
    if (pane->unsent.length > UNSENT_MAX)
        pane->unsent.length = UNSENT_MAX;
}

bool program_pane_listen(struct program_pane *pane)
{
    char bytes[8192];
    bool changed = false;
    for (size_t total = 0; pane->terminal >= 0 && total < READ_MAX;) {
        ssize_t taken = read(pane->terminal, bytes, sizeof bytes);
        if (taken == 0 || (taken < 0 && errno != EAGAIN && errno != EINTR))
            pane->terminal = -1;
        if (taken <= 0)
            break;
        size_t above = program_screen_history(pane->screen);
        program_screen_write(pane->screen, bytes, (size_t)taken, &pane->unsent);
        if (pane->scrolled) /* what the user looks at stays where it is */
            pane->scrolled += program_screen_history(pane->screen) - above;
        total += (size_t)taken;
        changed = true;
    }
    send_waiting(pane);
    return changed && pane->size != PANE_HIDDEN;
}

static void fit(struct program_pane *pane, struct area area)
{
    if (pane->area.rows != area.rows || pane->area.columns != area.columns) {
        program_screen_resize(pane->screen, area.rows, area.columns);
        if (pane->run->resize)
            pane->run->resize(pane->run->source, area.columns, area.rows);
    }
    pane->area = area;
}

/* --- drawing --------------------------------------------------------------------------------------------------------- */

static void draw_title(const struct program_pane *pane, struct canvas *canvas, struct area area)
{
    char text[64];
    const char *keys = pane->typing ? "" : "Ctrl-] types into it   V larger   v hides it";
    struct look look = {COLOUR_DIM, COLOUR_BAND, 0}, name = {pane->typing ? COLOUR_ACCENT : COLOUR_DEFAULT, COLOUR_BAND, CELL_BOLD};
    canvas_fill(canvas, (struct area){area.y, area.x, 1, area.columns}, look);
    if (pane->typing)
        keys = "the keyboard is the program's: Ctrl-] takes it back";
    else if (pane->size == PANE_WHOLE)
        keys = "Ctrl-] types into it   V smaller   v hides it";
    int room = area.columns - 2, length = (int)strlen(keys);
    if (pane->scrolled) {
        snprintf(text, sizeof text, "%zu lines back   End: the newest", pane->scrolled);
        keys = text;
        length = (int)strlen(text);
    }
    if (room > length + 12)
        canvas_name(canvas, area.y, area.x + 1, room - length - 2, name, pane->run->command);
    canvas_text_right(canvas, area.y, area.x + area.columns - 1, room, pane->typing ? name : look, keys);
}

static void draw_row(struct program_pane *pane, struct canvas *canvas, int y, int row)
{
    int columns;
    const struct cell *cells = program_screen_row(pane->screen, row, &columns);
    for (int x = 0; x < columns && x < pane->area.columns; x++) {
        bool cut = x + 1 == pane->area.columns && x + 1 < columns && !cells[x + 1].glyph; /* half of a wide one */
        canvas_glyph(canvas, y, pane->area.x + x, cells[x].look, cut ? ' ' : cells[x].glyph);
    }
}

struct area program_pane_place(struct program_pane *pane, struct area all)
{
    int rows = pane->size == PANE_WHOLE ? all.rows : pane->size == PANE_PART ? all.rows * 2 / 5 : 0;
    pane->shown = pane->exists && all.rows >= 2 + PART_ROWS_MIN && rows;
    if (!pane->shown)
        return all;
    if (rows < PART_ROWS_MIN)
        rows = PART_ROWS_MIN;
    fit(pane, (struct area){all.y + all.rows - rows + 1, all.x, rows - 1, all.columns});
    return (struct area){all.y, all.x, all.rows - rows, all.columns};
}

void program_pane_draw(struct program_pane *pane, struct canvas *canvas)
{
    if (!pane->shown)
        return;
    size_t history = program_screen_history(pane->screen);
    if (pane->scrolled > history)
        pane->scrolled = history;
    canvas_fill(canvas, pane->area, (struct look){0});
    for (int y = 0; y < pane->area.rows; y++)
        draw_row(pane, canvas, pane->area.y + y, y - (int)pane->scrolled);
    draw_title(pane, canvas, (struct area){pane->area.y - 1, pane->area.x, 1, pane->area.columns});
}

bool program_pane_cursor(const struct program_pane *pane, int *ret_y, int *ret_x)
{
    if (!pane->typing || !pane->shown || pane->scrolled || !program_screen_cursor(pane->screen, ret_y, ret_x))
        return false;
    *ret_y += pane->area.y;
    *ret_x += pane->area.x;
    return true;
}

/* --- keys ------------------------------------------------------------------------------------------------------------ */

void program_pane_key(struct program_pane *pane, uint32_t key)
{
    pane->scrolled = 0;
    program_screen_key(pane->screen, key, &pane->unsent);
    send_waiting(pane);
}

static void scroll(struct program_pane *pane, long by)
{
    size_t history = program_screen_history(pane->screen);
    if (by < 0 && (size_t)-by > pane->scrolled)
        pane->scrolled = 0;
    else
        pane->scrolled += (size_t)by;
    if (pane->scrolled > history)
        pane->scrolled = history;
}

bool program_pane_act(struct program_pane *pane, enum action action)
{
    long page = pane->area.rows > 1 ? pane->area.rows - 1 : 1, all = (long)program_screen_history(pane->screen);
    switch (action) {
    case ACTION_UP: case ACTION_DOWN:
        scroll(pane, action == ACTION_UP ? 1 : -1);
        return true;
    case ACTION_PAGE_UP: case ACTION_PAGE_DOWN:
        scroll(pane, action == ACTION_PAGE_UP ? page : -page);
        return true;
    case ACTION_FIRST: case ACTION_LAST:
        scroll(pane, action == ACTION_FIRST ? all : -all);
        return true;
    default:
        return false;
    }
}

bool program_pane_mouse(struct program_pane *pane, const struct input *input)
{
    if (!pane->shown || input->y < pane->area.y - 1 || input->y >= pane->area.y + pane->area.rows)
        return false;
    if (input->mouse == MOUSE_WHEEL_UP || input->mouse == MOUSE_WHEEL_DOWN)
        scroll(pane, input->mouse == MOUSE_WHEEL_UP ? 3 : -3);
    return true;
}
