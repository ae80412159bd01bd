/* SPDX-License-Identifier: MIT */
/* Options: parsing by the typed table. Help stands in options_help.c. */
#include "base/options.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

struct parser {
    const struct option_spec *specs;
    char *values;
    int argc;
    char **argv;
    int next;         /* argument to look at */
    const char *shown; /* the option as it was typed, for messages */
    int shown_length;
    char letter[3];    /* the short option within its argument, as "-o" */
    struct error *err;
};

static int complain(const struct parser *parser, const char *what)
{
    return error_set(parser->err, -EINVAL, "option %.*s %s", parser->shown_length, parser->shown, what);
}

static int store_number(const struct parser *parser, const struct option_spec *spec, const char *text)
{
    uint64_t value = 0;
    int result = spec->kind == OPTION_U64    ? parse_u64(text, &value)
                 : spec->kind == OPTION_SIZE ? parse_size(text, &value)
                                             : parse_duration(text, &value);
    const char *wanted = spec->kind == OPTION_U64    ? "a whole number"
                         : spec->kind == OPTION_SIZE ? "a size such as 4096, 64K or 1.5G"
                                                     : "a time such as 10, 1.5, 250ms or 2m (seconds without a unit)";
    if (result == -EINVAL)
        return error_set(parser->err, -EINVAL, "option %.*s needs %s, not '%s'", parser->shown_length, parser->shown,
                         wanted, text);
    if (result < 0 || value < spec->minimum || (spec->maximum && value > spec->maximum)) {
        const char *unit = spec->kind == OPTION_SIZE ? " bytes" : spec->kind == OPTION_DURATION ? " ns" : "";
        if (result == 0 && value < spec->minimum)
            return error_set(parser->err, -EINVAL, "option %.*s: '%s' is too small: at least %llu%s", parser->shown_length,
                             parser->shown, text, (unsigned long long)spec->minimum, unit);
        unsigned long long limit = spec->maximum ? spec->maximum : UINT64_MAX;
        return error_set(parser->err, -EINVAL, "option %.*s: '%s' is too large: at most %llu%s", parser->shown_length,
                         parser->shown, text, limit, unit);
    }
    memcpy(parser->values + spec->offset, &value, sizeof(value));
    return 0;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *choice = choices; choice; choice = strchr(choice, '|')) {
        choice += *choice == '|';
        if (length && strcspn(choice, "|") == length && !strncmp(choice, text, length))
            return true;
    }
    return false;
}

static int store_value(const struct parser *parser, const struct option_spec *spec, const char *text)
{
    char *field = parser->values + spec->offset;
    switch (spec->kind) {
    case OPTION_CHOICE:
        if (!is_choice(spec->choices, text))
            return error_set(parser->err, -EINVAL, "option %.*s: '%s' is none of %s", parser->shown_length, parser->shown,
                             text, spec->choices);
        memcpy(field, &text, sizeof(text));
        return 0;
    case OPTION_STRING:
        memcpy(field, &text, sizeof(text));
        return 0;
    case OPTION_LIST: {
        struct option_list *list = (struct option_list *)(void *)field;
        if (list->count == sizeof(list->items) / sizeof(list->items[0]))
            return complain(parser, "is given too often: at most 64 times");
        list->items[list->count++] = text;
        return 0;
    }
    case OPTION_DOUBLE: {
        double value;
        if (parse_double(text, &value) < 0)
            return error_set(parser->err, -EINVAL, "option %.*s needs a number, not '%s'", parser->shown_length,
                             parser->shown, text);
        memcpy(field, &value, sizeof(value));
        return 0;
    }
    default:
        return store_number(parser, spec, text);
    }
}

static bool takes_value(const struct option_spec *spec)
{
    return spec->kind != OPTION_FLAG && spec->kind != OPTION_NEGATABLE;
}

static void store_switch(const struct parser *parser, const struct option_spec *spec, bool on)
{
    char *field = parser->values + spec->offset;
    if (spec->kind == OPTION_FLAG) {
        *(bool *)(void *)field = on;
    } else {
        int value = on;
        memcpy(field, &value, sizeof(value));
    }
}

/* The value: behind '=' or in the same argument, else the next argument unless that is "--". */
static int take_value(struct parser *parser, const struct option_spec *spec, const char *attached)
{
    const char *text = attached;
    if (!text && parser->next < parser->argc && strcmp(parser->argv[parser->next], "--"))
        text = parser->argv[parser->next++];
    if (!text)
        return error_set(parser->err, -EINVAL, "option %.*s needs a value: %s", parser->shown_length, parser->shown,
                         spec->value_name ? spec->value_name : spec->choices ? spec->choices : "VALUE");
    return store_value(parser, spec, text);
}

/* Edits that turn one word into the other (insert, delete, replace, swap of neighbours), at most `limit` + 1. */
static unsigned edit_distance(const char *left, size_t left_length, const char *right, unsigned limit)
{
    size_t right_length = strlen(right);
    enum { LONGEST = 40 };
    if (left_length >= LONGEST || right_length >= LONGEST)
        return limit + 1;
    unsigned rows[3][LONGEST + 1];
    for (size_t column = 0; column <= right_length; column++)
        rows[0][column] = (unsigned)column;
    for (size_t row = 1; row <= left_length; row++) {
        unsigned *now = rows[row % 3], *before = rows[(row + 2) % 3], *twice = rows[(row + 1) % 3];
        now[0] = (unsigned)row;
        for (size_t column = 1; column <= right_length; column++) {
            unsigned best = before[column - 1] + (left[row - 1] != right[column - 1]);
            if (before[column] + 1 < best)
                best = before[column] + 1;
            if (now[column - 1] + 1 < best)
                best = now[column - 1] + 1;
            if (row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1] &&
                twice[column - 2] + 1 < best)
                best = twice[column - 2] + 1;
            now[column] = best;
        }
    }
    return rows[left_length % 3][right_length];
}

static int unknown_long(const struct parser *parser, const char *name, size_t length)
{
    const struct option_spec *nearest = NULL;
    bool negated = length > 3 && !strncmp(name, "no-", 3);
    bool nearest_negated = false;
    unsigned nearest_distance = length < 5 ? 2 : 3; /* a suggestion must be nearer than this */
    for (const struct option_spec *spec = parser->specs; spec->long_name; spec++) {
        unsigned distance = edit_distance(name, length, spec->long_name, nearest_distance);
        if (distance < nearest_distance) {
            nearest_distance = distance;
            nearest = spec;
            nearest_negated = false;
        }
        if (!negated || spec->kind != OPTION_NEGATABLE)
            continue;
        distance = edit_distance(name + 3, length - 3, spec->long_name, nearest_distance);
        if (distance < nearest_distance) {
            nearest_distance = distance;
            nearest = spec;
            nearest_negated = true;
        }
    }
    if (nearest)
        return error_set(parser->err, -EINVAL, "unknown option --%.*s: did you mean --%s%s?", (int)length, name,
                         nearest_negated ? "no-" : "", nearest->long_name);
    return error_set(parser->err, -EINVAL, "unknown option --%.*s: --help lists all", (int)length, name);
}

static int parse_long(struct parser *parser, const char *argument)
{
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const char *attached = name[length] ? name + length + 1 : NULL;
    parser->shown = argument;
    parser->shown_length = (int)length + 2;
    for (const struct option_spec *spec = parser->specs; spec->long_name; spec++) {
        bool same = strlen(spec->long_name) == length && !strncmp(spec->long_name, name, length);
        bool negated = !same && spec->kind == OPTION_NEGATABLE && length > 3 && !strncmp(name, "no-", 3) &&
                       strlen(spec->long_name) == length - 3 && !strncmp(spec->long_name, name + 3, length - 3);
        if (!same && !negated)
            continue;
        if (takes_value(spec))
            return take_value(parser, spec, attached);
        if (attached)
            return complain(parser, "takes no value");
        store_switch(parser, spec, same);
        return 0;
    }
    return unknown_long(parser, name, length);
}

/* Of a letter that other tools have for it. */
static int unknown_short(struct parser *parser, char letter)
{
    for (const struct option_spec *spec = parser->specs; spec->long_name && letter == 'g'; spec++)
        if (strcmp(spec->long_name, "perf-callgraph") == 0)
            return error_set(parser->err, -EINVAL, "unknown option -g: for callers give --perf-callgraph fp, or dwarf");
    return error_set(parser->err, -EINVAL, "unknown option -%c: --help lists all", letter);
}

/* One argument of short options: switches may be joined ("-vq"), the first with a value takes the rest. */
static int parse_short(struct parser *parser, const char *argument)
{
    parser->letter[0] = '-';
    parser->shown = parser->letter;
    parser->shown_length = 2;
    for (const char *letter = argument + 1; *letter; letter++) {
        parser->letter[1] = *letter;
        const struct option_spec *spec = parser->specs;
        while (spec->long_name && spec->short_name != *letter)
            spec++;
        if (!spec->long_name)
            return unknown_short(parser, *letter);
        if (takes_value(spec))
            return take_value(parser, spec, letter[1] ? letter + 1 : NULL);
        store_switch(parser, spec, true);
    }
    return 0;
}

/* argv[first..last) moves in front of argv[to], to < first. */
static void move_to(char **argv, int to, int first, int last, char **spare)
{
    size_t moved = (size_t)(last - first), shifted = (size_t)(first - to);
    memcpy(spare, argv + first, moved * sizeof(*argv));
    memmove(argv + to + moved, argv + to, shifted * sizeof(*argv));
    memcpy(argv + to, spare, moved * sizeof(*argv));
}

int options_parse(const struct option_spec *specs, void *values, int argc, char **argv, int *ret_operand,
                  int *ret_separator, struct error *err)
{
    struct parser parser = {.specs = specs, .values = values, .argc = argc, .argv = argv, .next = 1, .err = err};
    char *spare[2]; /* an option with its value */
    int operand = 1; /* options parsed so far end here, operands seen so far follow */
    while (parser.next < argc && strcmp(argv[parser.next], "--")) {
        int first = parser.next++;
        const char *argument = argv[first];
        if (argument[0] != '-' || !argument[1])
            continue; /* "-" is an operand: standard input or output */
        int result = argument[1] == '-' ? parse_long(&parser, argument) : parse_short(&parser, argument);
        if (result < 0) {
            *ret_operand = operand;
            *ret_separator = first;
            return result;
        }
        if (first > operand)
            move_to(argv, operand, first, parser.next, spare);
        operand += parser.next - first;
    }
    *ret_operand = operand;
    *ret_separator = parser.next;
    return 0;
}
