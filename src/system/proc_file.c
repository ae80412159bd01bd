/* SPDX-License-Identifier: MIT */
/* Small reads from /proc and /sys below a root. */
#include "proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool join(const char *root, const char *path, char *ret_full, size_t size)
{
    int length = snprintf(ret_full, size, "%s%s", root ? root : "", path);
    return length >= 0 && (size_t)length < size;
}

bool proc_read_text(const char *root, const char *path, char *ret_text, size_t size)
{
    char full[PATH_MAX];
    size_t used = 0;
    ret_text[0] = '\0';
    int fd = join(root, path, full, sizeof full) ? open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return false;
    while (used < size - 1) {
        ssize_t got = read(fd, ret_text + used, size - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    close(fd);
    if (used && ret_text[used - 1] == '\n')
        used--;
    ret_text[used] = '\0';
    return used > 0;
}

struct setting proc_read_number(const char *root, const char *path)
{
    char text[64];
    char *end;
    struct setting setting = {0};
    if (!proc_read_text(root, path, text, sizeof text))
        return setting;
    errno = 0;
    setting.value = strtol(text, &end, 10);
    setting.known = end != text && !errno;
    return setting;
}

bool proc_exists(const char *root, const char *path)
{
    char full[PATH_MAX];
    return join(root, path, full, sizeof full) && access(full, F_OK) == 0;
}

/* Takes a pair of quotes off and copies what is left. */
static void copy_value(const char *value, size_t length, char *ret_value, size_t size)
{
    if (length >= 2 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0]) {
        value++;
        length -= 2;
    }
    if (length >= size)
        length = size - 1;
    memcpy(ret_value, value, length);
    ret_value[length] = '\0';
}

bool proc_find_value(const char *text, const char *key, char *ret_value, size_t size)
{
    size_t key_length = strlen(key);
    ret_value[0] = '\0';
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, key_length) != 0)
            continue;
        const char *value = line + key_length;
        size_t gap = strspn(value, " \t:=");
        if (!gap)
            continue;
        value += gap;
        copy_value(value, strcspn(value, "\n"), ret_value, size);
        return true;
    }
    return false;
}

bool proc_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool starts = at == text || strchr(" \t\n", at[-1]);
        bool ends = !at[length] || strchr(" \t\n", at[length]);
        if (starts && ends)
            return true;
    }
    return false;
}
