/* SPDX-License-Identifier: MIT */
/* A table of in-target libraries: a backend that must be preloaded has a line. */
#include "backend_list.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

extern char **environ;

static const struct {
    const char *name, *alias;
} aliases[] = {
    {"cpu", "perf"}, {"opencl", "cl"}, {"openmp", "omp"}, {"rocm", "hip"}, {"likwid", "hwc"},
};

static const struct {
    const char *backend, *library;
    bool automatic; /* part of "auto" */
} preloads[] = {
    {"test", "test", false},
};

static bool list_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        size_t part = strcspn(at, ",");
        if (part == length && memcmp(at, word, length) == 0)
            return true;
        at += part + (at[part] == ',');
    }
    return false;
}

bool backend_list_has(const char *list, const char *name)
{
    if (!list || list_has_word(list, "auto") || list_has_word(list, name))
        return true;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].name, name) == 0 && list_has_word(list, aliases[i].alias))
            return true;
    return false;
}

static int add_library(struct text *preload, const struct record_options *options, const char *name, struct error *err)
{
    char path[4096];
    int r = session_library_path(options->runtime_directory, name, path, sizeof(path), err);
    if (r < 0)
        return r;
    if (preload->length)
        text_add_char(preload, ':');
    text_add_string(preload, path);
    return 0;
}

int backend_environment(const struct session *session, const struct record_options *options, bool timers,
                        char ***ret_environment, struct error *err)
{
    struct text preload = TEXT_INIT;
    int r = timers ? add_library(&preload, options, "runtime", err) : 0;
    for (size_t i = 0; i < sizeof(preloads) / sizeof(preloads[0]) && r == 0; i++) {
        bool wanted = preloads[i].automatic ? backend_list_has(options->backends, preloads[i].backend)
                                            : options->backends && list_has_word(options->backends, preloads[i].backend);
        if (wanted)
            r = add_library(&preload, options, preloads[i].library, err);
    }
    if (r == 0 && preload.failed)
        r = error_set(err, -ENOMEM, "out of memory");
    if (r == 0 && preload.length)
        r = session_environment(session, environ, preload.data, ret_environment, err);
    text_finish(&preload);
    return r;
}
