/* SPDX-License-Identifier: MIT */
/*
 * Options: one typed table per command gives parsing, help text, man page and shell completion.
 * Forms: -o VALUE, -oVALUE, --output VALUE, --output=VALUE, --ui / --no-ui (OPTION_FLAG). `--` ends the options.
 */
#ifndef HP_BASE_OPTIONS_H
#define HP_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct text;

enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_NEGATABLE,/* int: -1 unset (preset by the caller), 0 by --no-X, 1 by --X */
    OPTION_STRING,   /* const char *, points into argv */
    OPTION_LIST,     /* struct option_list: repeats add up */
    OPTION_U64,      /* uint64_t */
    OPTION_DOUBLE,   /* double */
    OPTION_SIZE,     /* uint64_t bytes, parse_size */
    OPTION_DURATION, /* uint64_t ns, parse_duration */
    OPTION_CHOICE,   /* const char *, one of `choices` (separated by '|'), in argv or the table */
};

struct option_list {
    const char *items[64];
    size_t count;
};

/* What completion may offer for the value. */
enum option_hint {
    HINT_NONE, HINT_FILE, HINT_DIRECTORY, HINT_TRACE, HINT_BACKENDS, HINT_FORMATS, HINT_PROCESS, HINT_SESSION
};

struct option_spec {
    char short_name;           /* 0 = none */
    const char *long_name;
    enum option_kind kind;
    size_t offset;             /* of the field in the command's options struct */
    const char *value_name;    /* shown in help: "FILE" */
    const char *choices;       /* OPTION_CHOICE: "text|csv|json", all there are; others: what completion offers */
    enum option_hint hint;
    const char *help;          /* one sentence, no full stop; the default in brackets at its end */
    uint64_t minimum, maximum; /* OPTION_U64/SIZE/DURATION: inclusive; maximum 0 = no limit */
};
#define OPTION_END {0}

/*
 * Parses argv[1..]; fills fields of `values`; *ret_separator is the index of "--" or argc. Options and operands may mix
 * before "--": operands are moved behind options in order (argv is permuted; strings are not copied), so that they are
 * argv[*ret_operand .. *ret_separator); with none both are equal. -EINVAL with a text that names the option and a near
 * match for a mistyped one; then the operands seen so far are argv[*ret_operand .. *ret_separator), and the option that
 * is wrong, or what is left of it, follows.
 */
int options_parse(const struct option_spec *specs, void *values, int argc, char **argv, int *ret_operand,
                  int *ret_separator, struct error *err);
/* The option lines of a help text, wrapped to `width` columns. */
void options_help(const struct option_spec *specs, unsigned width, struct text *out);

#endif
