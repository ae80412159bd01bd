/* SPDX-License-Identifier: MIT */
/* From the program that was started to the one of the launcher's MPI. */
#include "parallel_program.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The words of this process' command line, as they were. */
static char **own_words(char **ret_data)
{
    size_t size, count = 0;
    struct error ignored = ERROR_INIT;
    if (file_read("/proc/self/cmdline", (size_t)1 << 24, ret_data, &size, &ignored) < 0)
        return NULL;
    for (size_t i = 0; i < size; i++)
        count += (*ret_data)[i] == '\0';
    char **words = calloc(count + 1, sizeof *words), *at = *ret_data;
    for (size_t i = 0; words && i < count; i++, at += strlen(at) + 1)
        words[i] = at;
    return words;
}

static void become(const char *family)
{
    static const char *const places[] = {"", "../libexec/hprofiler/"};
    char self[4096], program[4300];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CLEANUP(freep) char *data = NULL;
    CLEANUP(freep) char **words = length > 0 ? own_words(&data) : NULL;
    if (!words)
        return;
    self[length] = '\0';
    char *name = strrchr(self, '/');
    for (size_t i = 0; name && i < sizeof places / sizeof *places; i++) {
        snprintf(program, sizeof program, "%.*s/%shprofiler_parallel-%s", (int)(name - self), self, places[i], family);
        if (access(program, X_OK) == 0)
            execv(program, words);
    }
}

/* Launchers that start programs of any MPI: whichever is there. */
static void become_one_of(const struct launcher_rank *launched)
{
    if (strcmp(launched->name, "Open MPI") == 0)
        become("openmpi");
    else if (strcmp(launched->name, "PMIx") == 0 || strcmp(launched->name, "Slurm") == 0)
        become("openmpi");
    if (strcmp(launched->name, "Open MPI") != 0)
        become("mpich");
}

const struct rank_group *parallel_join(const struct launcher_rank *launched, const char **ret_why, struct error *err)
{
    const struct rank_group *group = rank_group_join(err);
    if (group && group->count > 1)
        return group;
    *ret_why = "of a program for another MPI";
    if (group || err->code)
        return NULL;
    become_one_of(launched);
    *ret_why = "of a program that was built without the launcher's MPI";
    return NULL;
}
