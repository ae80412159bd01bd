/* SPDX-License-Identifier: MIT */
/* The option lines of a help text. */
#include "base/options.h"
#include "base/text.h"

#include <string.h>

#define WIDEST_LEFT_COLUMN 30u
#define NARROWEST_RIGHT_COLUMN 20u
#define INDENT_BELOW 10u /* of help that stands below its option, for want of width */

static void add_left(const struct option_spec *spec, struct text *out)
{
    if (spec->short_name)
        text_addf(out, "  -%c, ", spec->short_name);
    else
        text_add_string(out, "      ");
    text_addf(out, "--%s%s", spec->kind == OPTION_NEGATABLE ? "[no-]" : "", spec->long_name);
    if (spec->value_name)
        text_addf(out, " %s", spec->value_name);
    else if (spec->kind == OPTION_CHOICE && spec->choices)
        text_addf(out, " %s", spec->choices);
}

static unsigned left_width(const struct option_spec *spec)
{
    struct text left = TEXT_INIT;
    add_left(spec, &left);
    unsigned width = (unsigned)left.length;
    text_finish(&left);
    return width;
}

static void add_spaces(struct text *out, unsigned count)
{
    while (count--)
        text_add_char(out, ' ');
}

/* The words of `words` from column `indent` to `width`; the cursor is at `indent`. */
static void add_wrapped(const char *words, unsigned indent, unsigned width, struct text *out)
{
    unsigned column = indent;
    while (*words) {
        unsigned length = (unsigned)strcspn(words, " ");
        if (column > indent && column + 1 + length > width) {
            text_add_char(out, '\n');
            add_spaces(out, indent);
            column = indent;
        } else if (column > indent) {
            text_add_char(out, ' ');
            column++;
        }
        text_add(out, words, length);
        column += length;
        words += length;
        words += strspn(words, " ");
    }
    text_add_char(out, '\n');
}

void options_help(const struct option_spec *specs, unsigned width, struct text *out)
{
    unsigned indent = 0;
    for (const struct option_spec *spec = specs; spec->long_name; spec++) {
        unsigned left = left_width(spec) + 2;
        if (left <= WIDEST_LEFT_COLUMN && left > indent)
            indent = left;
    }
    if (!indent)
        indent = WIDEST_LEFT_COLUMN;
    if (width < indent + NARROWEST_RIGHT_COLUMN)
        indent = INDENT_BELOW;
    for (const struct option_spec *spec = specs; spec->long_name; spec++) {
        unsigned left = left_width(spec);
        add_left(spec, out);
        if (left + 2 > indent) {
            text_add_char(out, '\n');
            left = 0;
        }
        add_spaces(out, indent - left);
        add_wrapped(spec->help ? spec->help : "", indent, width, out);
    }
}
