/* SPDX-License-Identifier: MIT */
/* Images on terminals: chafa knows which terminal can what, and writes Sixel. */
#include "terminal_image.h"

#include "base/error.h"

#include <errno.h>

const char *terminal_image_removal(enum image_protocol protocol)
{
    return protocol == IMAGE_KITTY ? "\033_Ga=d\033\\" : "";
}

#if defined HP_HAVE_CHAFA && defined HP_HAVE_CAIRO

#include <chafa.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KITTY_CHUNK 3072 /* bytes of the PNG: 4096 digits, as many as one sequence may have */

static const ChafaTermSeq begins[] = {
    [IMAGE_KITTY] = CHAFA_TERM_SEQ_BEGIN_KITTY_IMMEDIATE_IMAGE_V1,
    [IMAGE_SIXEL] = CHAFA_TERM_SEQ_BEGIN_SIXELS,
    [IMAGE_ITERM2] = CHAFA_TERM_SEQ_BEGIN_ITERM2_IMAGE,
};

static ChafaTermInfo *detect(void)
{
    return chafa_term_db_detect(chafa_term_db_get_default(), environ);
}

enum image_protocol terminal_image_protocol(void)
{
    const char *term = getenv("TERM"), *tmux = getenv("TMUX");
    enum image_protocol found = IMAGE_NONE;
    if (!term || (tmux && *tmux) || strncmp(term, "tmux", 4) == 0 || strncmp(term, "screen", 6) == 0)
        return IMAGE_NONE;
    ChafaTermInfo *info = detect();
    for (int i = IMAGE_KITTY; i <= IMAGE_ITERM2 && found == IMAGE_NONE; i++)
        if (chafa_term_info_have_seq(info, begins[i]))
            found = (enum image_protocol)i;
    chafa_term_info_unref(info);
    return found;
}

/* --- Kitty and iTerm2: a PNG, a fiftieth of the pixels that chafa would write ------------------------------------------ */

static void add_base64(struct text *out, const char *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        const unsigned char *at = (const unsigned char *)data + i;
        unsigned value = (unsigned)at[0] << 16 | (i + 1 < length ? (unsigned)at[1] << 8 : 0) | (i + 2 < length ? at[2] : 0);
        char four[4] = {digits[value >> 18], digits[value >> 12 & 63], i + 1 < length ? digits[value >> 6 & 63] : '=', i + 2 < length ? digits[value & 63] : '='};
        text_add(out, four, sizeof four);
    }
}

static void add_kitty(struct text *out, const struct text *png, const struct image_place *place)
{
    text_addf(out, "\033_Ga=T,f=100,q=2,C=1,c=%u,r=%u,", place->columns, place->rows);
    for (size_t at = 0; at < png->length; at += KITTY_CHUNK) {
        size_t length = png->length - at < KITTY_CHUNK ? png->length - at : KITTY_CHUNK;
        text_addf(out, "%sm=%d;", at ? "\033_G" : "", at + length < png->length);
        add_base64(out, png->data + at, length);
        text_add_string(out, "\033\\");
    }
}

static void add_iterm2(struct text *out, const struct text *png, const struct image_place *place)
{
    text_addf(out, "\033]1337;File=inline=1;size=%zu;width=%u;height=%u;preserveAspectRatio=0;doNotMoveCursor=1:", png->length, place->columns, place->rows);
    add_base64(out, png->data, png->length);
    text_add_char(out, '\a');
}

static int add_png(const struct drawing *drawing, double scale, enum image_protocol protocol, const struct image_place *place, struct text *out, struct error *err)
{
    struct text png = TEXT_INIT;
    int result = drawing_add_png(drawing, scale, &png, err);
    if (result == 0 && protocol == IMAGE_KITTY)
        add_kitty(out, &png, place);
    else if (result == 0)
        add_iterm2(out, &png, place);
    text_finish(&png);
    return result;
}

/* --- Sixel ------------------------------------------------------------------------------------------------------------ */

static int add_sixel(const struct drawing *drawing, double scale, const struct image_place *place, struct text *out, struct error *err)
{
    CLEANUP(pixels_finish) struct pixels pixels = {0};
    int result = drawing_to_pixels(drawing, scale, &pixels, err);
    if (result < 0)
        return result;
    ChafaTermInfo *info = detect();
    ChafaCanvasConfig *config = chafa_canvas_config_new();
    chafa_canvas_config_set_geometry(config, (gint)place->columns, (gint)place->rows);
    chafa_canvas_config_set_cell_geometry(config, (gint)place->cell_width, (gint)place->cell_height);
    chafa_canvas_config_set_canvas_mode(config, CHAFA_CANVAS_MODE_TRUECOLOR);
    chafa_canvas_config_set_pixel_mode(config, CHAFA_PIXEL_MODE_SIXELS);
    ChafaCanvas *canvas = chafa_canvas_new(config);
    chafa_canvas_draw_all_pixels(canvas, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? CHAFA_PIXEL_ARGB8_UNASSOCIATED : CHAFA_PIXEL_BGRA8_UNASSOCIATED, pixels.data,
                                 (gint)pixels.width, (gint)pixels.height, (gint)pixels.stride);
    GString *printed = chafa_canvas_print(canvas, info);
    text_add(out, printed->str, printed->len);
    g_string_free(printed, TRUE);
    chafa_canvas_unref(canvas);
    chafa_canvas_config_unref(config);
    chafa_term_info_unref(info);
    return 0;
}

int terminal_image_add(const struct drawing *drawing, double scale, enum image_protocol protocol, const struct image_place *place, struct text *out, struct error *err)
{
    int result = protocol == IMAGE_SIXEL ? add_sixel(drawing, scale, place, out, err) : protocol == IMAGE_NONE ? error_set(err, -ENOTSUP, "this terminal shows no images")
                                                                                         : add_png(drawing, scale, protocol, place, out, err);
    return result == 0 && out->failed ? error_set(err, -ENOMEM, "out of memory for an image") : result;
}

#else

enum image_protocol terminal_image_protocol(void)
{
    return IMAGE_NONE;
}

int terminal_image_add(const struct drawing *drawing, double scale, enum image_protocol protocol, const struct image_place *place, struct text *out, struct error *err)
{
    (void)drawing;
    (void)scale;
    (void)protocol;
    (void)place;
    (void)out;
    return error_set(err, -ENOTSUP, "this hprofiler was built without chafa (libchafa-dev) or cairo (libcairo2-dev): no images on terminals");
}

#endif
