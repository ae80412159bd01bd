/* SPDX-License-Identifier: MIT */
/* Drawings: texts are cut to their room, and what comes out is a picture that others can read. */
#include "unit.h"

#include "base/error.h"
#include "chart/drawing.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static struct error err;

static void test_texts_are_as_wide_as_their_letters(void **state)
{
    (void)state;
    assert_true(fabs(drawing_text_width("il", 10, false) - 5.56) < 1e-9);
    assert_true(drawing_text_width("il", 10, true) > 5.56);
    assert_true(drawing_text_width("\xe6\x97\xa5", 10, false) > 10); /* wide */
}

static const char *shown(struct drawing *drawing)
{
    static char text[256];
    const struct drawing_mark *mark = &drawing->marks[drawing->count - 1];
    snprintf(text, sizeof text, "%.*s", (int)mark->count, drawing->words.data + mark->first);
    return text;
}

static void test_texts_are_cut_to_their_room(void **state)
{
    CLEANUP(drawing_finish) struct drawing drawing;
    struct lettering ten = {.size = 10};
    (void)state;
    drawing_init(&drawing, THEME_LIGHT);
    assert_true(drawing_text(&drawing, 0, 0, 0, ten, "cudaStreamSynchronize") > 100);
    assert_string_equal(shown(&drawing), "cudaStreamSynchronize");
    assert_true(drawing_text(&drawing, 0, 0, 60, ten, "cudaStreamSynchronize") <= 60);
    assert_string_equal(shown(&drawing), "cudaStre\xe2\x80\xa6");
    assert_true(drawing_name(&drawing, 0, 0, 95, ten, "solver::left_hand_side::solve") <= 95);
    assert_non_null(strstr(shown(&drawing), "solve"));
    assert_non_null(strstr(shown(&drawing), "\xe2\x80\xa6"));
    assert_string_equal(shown(&drawing) + strlen(shown(&drawing)) - 5, "solve");
    size_t before = drawing.count;
    assert_true(drawing_text(&drawing, 0, 0, 5, ten, "cudaStreamSynchronize") <= 0);
    assert_int_equal(drawing.count, before);
    assert_true(drawing_text(&drawing, 0, 0, 0, ten, "a\x1b[31m\xff") > 0);
    assert_string_equal(shown(&drawing), "a?[31m\xef\xbf\xbd");
}

static void draw_some(struct drawing *drawing)
{
    drawing_init(drawing, THEME_DARK);
    drawing->title = "<a> & \"b\"";
    drawing->width = 120;
    drawing->height = 40;
    drawing_rect(drawing, 10, 10, 20.5, 10, COLOUR_ACCENT);
    drawing_tip(drawing, "x < y");
    drawing_hatch(drawing, 40, 10, 20, 20, COLOUR_WAIT_TEXT);
    drawing_line(drawing, 0, 0, 120, 40, COLOUR_BAD, 1);
    drawing_circle(drawing, 80, 20, 5, COLOUR_GOOD);
    drawing_rect(drawing, 0, 0, 0, 10, COLOUR_BAD); /* nothing */
    drawing_text(drawing, 10, 30, 0, (struct lettering){.size = 10}, "a<b>&c");
}

static void test_an_svg(void **state)
{
    CLEANUP(drawing_finish) struct drawing drawing;
    struct text svg = TEXT_INIT;
    (void)state;
    draw_some(&drawing);
    drawing_add_svg(&drawing, &svg);
    assert_false(svg.failed);
    assert_non_null(strstr(svg.data, "<title>&lt;a&gt; &amp; &quot;b&quot;</title>"));
    assert_non_null(strstr(svg.data, "<rect x=\"10\" y=\"10\" width=\"20.5\" height=\"10\" fill=\"#6ebef0\"><title>x &lt; y</title></rect>"));
    assert_non_null(strstr(svg.data, ">a&lt;b&gt;&amp;c</text>"));
    assert_non_null(strstr(svg.data, "fill=\"url(#hatch"));
    text_finish(&svg);
}

static void test_pixels_and_png(void **state)
{
    CLEANUP(drawing_finish) struct drawing drawing;
    CLEANUP(pixels_finish) struct pixels pixels = {0};
    struct text png = TEXT_INIT, again = TEXT_INIT;
    (void)state;
    draw_some(&drawing);
    if (drawing_pixels_unfit()) {
        assert_int_equal(drawing_add_png(&drawing, 2, &png, &err), -ENOTSUP);
        assert_non_null(strstr(err.text, "cairo"));
        print_message("without cairo: only its refusal was looked at\n");
        return;
    }
    assert_int_equal(drawing_to_pixels(&drawing, 2, &pixels, &err), 0);
    assert_int_equal(pixels.width, 240);
    assert_int_equal(pixels.height, 80);
    const uint32_t *row = (const uint32_t *)(const void *)(pixels.data + (size_t)30 * pixels.stride);
    assert_int_equal(row[230], 0xff14171c); /* the ground, far from all marks */
    assert_int_equal(row[40], 0xff6ebef0);  /* inside the box: 110, 190, 240 */
    assert_int_equal(drawing_add_png(&drawing, 1, &png, &err), 0);
    assert_memory_equal(png.data, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x78\0\0\0\x28", 24);
    assert_int_equal(drawing_add_png(&drawing, 1, &again, &err), 0);
    assert_int_equal(png.length, again.length);
    assert_memory_equal(png.data, again.data, png.length);
    text_finish(&png);
    text_finish(&again);
}

/* Any program may have such a name. */
static void test_what_is_no_character_is_no_hindrance(void **state)
{
    CLEANUP(drawing_finish) struct drawing drawing;
    struct text png = TEXT_INIT;
    (void)state;
    draw_some(&drawing);
    drawing_text(&drawing, 0, 20, 0, (struct lettering){.size = 10}, "\xef\xbf\xbf \xef\xbf\xbe \xef\xb7\x90 \xf0\x9f\xbf\xbf \xed\xa0\x80 \xff\x01\x7f \xc2\x85");
    if (!drawing_pixels_unfit())
        assert_int_equal(drawing_add_png(&drawing, 1, &png, &err), 0);
    text_finish(&png);
}

static void test_a_picture_too_large_is_made_smaller(void **state)
{
    CLEANUP(drawing_finish) struct drawing drawing;
    CLEANUP(pixels_finish) struct pixels pixels = {0};
    (void)state;
    drawing_init(&drawing, THEME_LIGHT);
    drawing.width = 10;
    drawing.height = 100000;
    if (!drawing_pixels_unfit()) {
        assert_int_equal(drawing_to_pixels(&drawing, 2, &pixels, &err), 0);
        assert_true(pixels.height <= 16384 && pixels.width >= 1);
    }
    drawing.height = 0;
    drawing.width = 0;
    assert_true(drawing_to_pixels(&drawing, 2, &pixels, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_as_wide_as_their_letters), cmocka_unit_test(test_texts_are_cut_to_their_room),
        cmocka_unit_test(test_an_svg),                             cmocka_unit_test(test_pixels_and_png), cmocka_unit_test(test_what_is_no_character_is_no_hindrance),
        cmocka_unit_test(test_a_picture_too_large_is_made_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
