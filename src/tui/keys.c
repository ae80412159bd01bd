/* SPDX-License-Identifier: MIT */
/* Keys and what they do. */
#include "keys.h"

#include "terminal.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

const struct key_binding key_bindings[] = {
#define KEY(action, names, places, help) {ACTION_##action, names, KEYS_##places, help},
#include "keys.def"
#undef KEY
};
const size_t key_binding_count = sizeof key_bindings / sizeof *key_bindings;

static const struct {
    const char *name;
    uint32_t key;
} key_names[] = {
    {"Left", KEY_CODE_LEFT}, {"Right", KEY_CODE_RIGHT}, {"Up", KEY_CODE_UP}, {"Down", KEY_CODE_DOWN}, {"PageUp", KEY_CODE_PAGE_UP},
    {"PageDown", KEY_CODE_PAGE_DOWN}, {"Home", KEY_CODE_HOME}, {"End", KEY_CODE_END}, {"Backspace", KEY_CODE_BACKSPACE},
    {"Shift-Tab", KEY_CODE_BACK_TAB}, {"Tab", '\t'}, {"Enter", '\n'}, {"Space", ' '}, {"Esc", 0x1b}, {"F1", KEY_CODE_F1},
};

static uint32_t key_of_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof key_names / sizeof *key_names; i++)
        if (strlen(key_names[i].name) == length && memcmp(key_names[i].name, name, length) == 0)
            return key_names[i].key;
    if (length == 6 && memcmp(name, "Ctrl-", 5) == 0)
        return (uint32_t)(name[5] - '@');
    return (uint32_t)(unsigned char)name[0];
}

/* The key's number among the binding's names; -1: not one of them. */
static int number_of_key(const struct key_binding *binding, uint32_t key)
{
    int number = 0;
    for (const char *at = binding->names; *at; number++) {
        size_t length = strcspn(at, " ");
        if (key_of_name(at, length) == key)
            return number;
        at += length + (at[length] == ' ');
    }
    return -1;
}

enum action key_action(uint32_t key, unsigned place, int *ret_number)
{
    for (size_t i = 0; i < key_binding_count; i++) {
        *ret_number = number_of_key(&key_bindings[i], key);
        if ((key_bindings[i].places & place) && *ret_number >= 0)
            return key_bindings[i].action;
    }
    return ACTION_NONE;
}

bool key_holds(const struct key_binding *binding, unsigned place, char *names, size_t size)
{
    size_t used = 0;
    if (!(binding->places & place))
        return false;
    for (const char *at = binding->names; *at;) {
        size_t length = strcspn(at, " ");
        bool first = true;
        for (const struct key_binding *other = key_bindings; other < binding && first; other++)
            first = !(other->places & place) || number_of_key(other, key_of_name(at, length)) < 0;
        if (first && used + length + 2 <= size)
            used += (size_t)snprintf(names + used, size - used, "%s%.*s", used ? " " : "", (int)length, at);
        at += length + (at[length] == ' ');
    }
    return used > 0;
}

const char *key_place_name(unsigned places)
{
    switch (places) {
    case KEYS_TIMELINE:
        return "Timeline";
    case KEYS_FLAME:
        return "Flame Graph";
    case KEYS_TREE:
        return "Call Tree";
    case KEYS_LISTS:
        return "lists";
    case KEYS_LIVE:
        return "live run";
    case KEYS_PATH:
        return "Critical Path";
    default:
        return "everywhere";
    }
}

void keys_describe(struct text *out)
{
    for (size_t i = 0; i < key_binding_count; i++)
        if (key_bindings[i].places != KEYS_ROOFLINE) /* not of this UI: the viewer shows its own */
            text_addf(out, "  %-17s %-13s %s\n", key_bindings[i].names, key_place_name(key_bindings[i].places), key_bindings[i].help);
}
