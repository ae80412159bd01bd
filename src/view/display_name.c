/* SPDX-License-Identifier: MIT */
/* Names of functions as people want to read them: C++ without what the standard library fills in by itself. */
#include "display_name.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST_NAME = 16384 }; /* of compilers; a hostile file's may be any length, and lists are looked through often */

struct word {
    const char *long_form, *short_form;
};

static const struct word words[] = {
    {"std::__cxx11::basic_string<char>", "std::string"},
    {"std::basic_string<char>", "std::string"},
    {"std::basic_string_view<char>", "std::string_view"},
    {"std::basic_ostream<char>", "std::ostream"},
    {"std::basic_istream<char>", "std::istream"},
    {"std::__cxx11::", "std::"},
};

/* `settles`: nobody writes this one out, so that a list which holds it was filled in by the library. */
static const struct default_argument {
    const char *start;
    bool settles;
} defaults[] = {
    {"std::allocator<", true}, {"std::char_traits<", true}, {"std::default_delete<", true},
    {"std::less<", false},     {"std::hash<", false},       {"std::equal_to<", false},
};

static size_t prefix(const char *text, const char *start)
{
    size_t length = strlen(start);
    return strncmp(text, start, length) == 0 ? length : 0;
}

/* `operator<`, `operator->`, `operator()` and the like: their signs are no brackets. */
static size_t operator_length(const char *name, const char *at)
{
    size_t length = prefix(at, "operator");
    bool inside_word = at > name && (at[-1] == '_' || isalnum((unsigned char)at[-1]));
    return !length || inside_word ? 0 : length + strspn(at + length, "<>=-!&|+*/%^~,") + (prefix(at + length, "()") ? 2 : 0);
}

/* Behind the bracket that closes the list which `at` is in; NULL: none does. */
static const char *behind_list(const char *at)
{
    for (size_t depth = 1; *at; at++) {
        if (*at == '<' || *at == '(')
            depth++;
        else if ((*at == '>' || *at == ')') && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* At ", ..." in a list of template arguments: the end of the arguments that are all defaults, up to the list's closing
 * bracket; NULL: they are not. */
static const char *skip_defaults(const char *at)
{
    bool settled = false;
    while (prefix(at, ", ")) {
        size_t kind = 0, length = 0, count = sizeof defaults / sizeof *defaults;
        while (kind < count && !(length = prefix(at + 2, defaults[kind].start)))
            kind++;
        at = kind < count ? behind_list(at + 2 + length) : NULL;
        if (!at)
            return NULL;
        settled |= defaults[kind].settles;
    }
    at += *at == ' ';
    return settled && *at == '>' ? at : NULL;
}

/* Copies without default arguments. Which bracket is the innermost open one tells template arguments from a function's. */
static void drop_defaults(struct text *out, const char *name)
{
    char open[64]; /* deeper ones are copied as they are */
    size_t depth = 0;
    for (const char *at = name; *at;) {
        size_t copied = operator_length(name, at);
        const char *behind = !copied && *at == ',' && depth && depth <= sizeof open && open[depth - 1] == '<' ? skip_defaults(at) : NULL;
        if (behind) {
            if (out->length && out->data[out->length - 1] == '>')
                text_add_char(out, ' ');
            at = behind;
            continue;
        }
        if (!copied && (*at == '<' || *at == '(')) {
            if (depth < sizeof open)
                open[depth] = *at;
            depth++;
        } else if (!copied && (*at == '>' || *at == ')') && depth) {
            depth--;
        }
        copied = copied ? copied : 1;
        text_add(out, at, copied);
        at += copied;
    }
}

void text_add_display_name(struct text *out, const char *name)
{
    struct text plain = TEXT_INIT;
    if (strlen(name) > LONGEST_NAME || !strstr(name, "std::")) {
        text_add_string(out, name);
        return;
    }
    drop_defaults(&plain, name);
    for (const char *at = plain.data ? plain.data : name; *at;) {
        size_t word = 0, length = 0, count = sizeof words / sizeof *words;
        while (word < count && !(length = prefix(at, words[word].long_form)))
            word++;
        if (word < count)
            text_add_string(out, words[word].short_form);
        else if (*at != ' ' || at[1] != '>' || !out->length || out->data[out->length - 1] == '>')
            text_add_char(out, *at); /* a blank before a bracket was there for the bracket that is gone */
        at += word < count ? length : 1;
    }
    out->failed |= plain.failed;
    text_finish(&plain);
}
