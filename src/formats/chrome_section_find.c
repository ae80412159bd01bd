/* SPDX-License-Identifier: MIT */
/* Finding the "hprofiler" section of a file of ours. */
#include "chrome_section.h"

/* The last number of the file says where its section begins; checked, as somebody may have changed the file. */
static bool find_by_offset(const struct chrome_import *import, struct json_view *ret_section)
{
    static const char key[] = "\n\"hprofiler\":";
    const char *end = import->data + import->size, *at = end;
    while (at > import->data && (at[-1] == '}' || at[-1] == '\n'))
        at--;
    const char *digits = at;
    while (digits > import->data && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    struct json_view number = {.data = digits, .length = (uint32_t)(at - digits)};
    uint64_t offset;
    if (at - digits > 20 || !json_view_u64(&number, &offset) || offset < sizeof(key) || offset >= import->size)
        return false;
    const char *section = import->data + offset;
    if (*section != '{' || memcmp(section - (sizeof(key) - 1), key, sizeof(key) - 1) != 0)
        return false;
    struct json json;
    json_init(&json, section, (size_t)(end - section));
    return json_skip(&json, ret_section);
}

/* Over the whole file: for one that was written anew by somebody else, or has something behind its end. */
static bool find_by_scan(const struct chrome_import *import, struct json_view *ret_section)
{
    struct json json;
    struct json_view key;
    json_init(&json, import->data, import->size);
    for (bool more = json_object(&json, &key); more; more = json_object_next(&json, &key)) {
        const char *from = json.at;
        if (!json_skip(&json, NULL))
            return false;
        if (!json_view_is(&key, "hprofiler"))
            continue;
        struct json again;
        json_init(&again, from, (size_t)(json.at - from));
        return json_peek(&again) == '{' && json_skip(&again, ret_section);
    }
    return false;
}

bool section_find(const struct chrome_import *import, struct json_view *ret_section, bool *ret_unchanged)
{
    *ret_unchanged = find_by_offset(import, ret_section);
    return *ret_unchanged || find_by_scan(import, ret_section);
}
