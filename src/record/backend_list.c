/* SPDX-License-Identifier: MIT */
/* What each backend needs in the target's environment, as a table; docs/commands.md lists the variables for people. */
#include "backend_list.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "system/backends.h"
#include "system/library_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum variable { PRELOAD, OPENMP_TOOL, OPENCL_LAYER, CUDA_INJECTION, NVTX_INJECTION, NCCL_PLUGIN, VARIABLES };

/* A list is appended to. What holds one value only and is set already stays as it is, and the user is told. */
static const struct {
    const char *name;
    char separator; /* 0: one value */
} variables[VARIABLES] = {
    [PRELOAD] = {"LD_PRELOAD", ':'},
    [OPENMP_TOOL] = {"OMP_TOOL_LIBRARIES", ':'},
    [OPENCL_LAYER] = {"OPENCL_LAYERS", ':'},
    [CUDA_INJECTION] = {"CUDA_INJECTION64_PATH", 0},
    [NVTX_INJECTION] = {"NVTX_INJECTION64_PATH", 0},
    [NCCL_PLUGIN] = {"NCCL_PROFILER_PLUGIN", 0},
};

#define IN(variable) (1u << (variable))
static const struct {
    const char *backend, *library;
    uint32_t variables; /* that name the library, as bits */
    bool automatic;     /* part of "auto" where the library is there */
} collectors[] = {
    {"openmp", "ompt", IN(PRELOAD) | IN(OPENMP_TOOL), true},
    {"mpi", "mpi", IN(PRELOAD), true},
    {"opencl", "opencl", IN(PRELOAD) | IN(OPENCL_LAYER), true},
    {"cuda", "cuda", IN(CUDA_INJECTION) | IN(NVTX_INJECTION), true},
    {"nccl", "nccl", IN(PRELOAD) | IN(NCCL_PLUGIN), true},
    {"test", "test", IN(PRELOAD), false},
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

static bool list_names(const char *list, const char *name)
{
    const struct backend_info *info = backend_find(name);
    return list && (list_has_word(list, name) || (info && *info->alias && list_has_word(list, info->alias)));
}

bool backend_list_has(const char *list, const char *name)
{
    return !list || list_has_word(list, "auto") || list_names(list, name);
}

/* Whether a program is made for another machine than we are: then our libraries can't be loaded into it, and its loader
 * would complain of each. Scripts and what can't be read are not. */
static bool is_foreign(const char *program)
{
    char path[4096];
    Elf64_Ehdr own, header;
    if (!strchr(program, '/'))
        program = program_find(program, path, sizeof(path)) ? path : "";
    CLEANUP(closep) int fd = open(program, O_RDONLY | O_CLOEXEC), self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool read_both = fd >= 0 && self >= 0 && pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
                     pread(self, &own, sizeof(own), 0) == sizeof(own) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    return read_both && (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_machine != own.e_machine);
}

/* What is to be put into the environment. */
struct additions {
    const struct record_options *options;
    const char *obstacle; /* why no library of ours can be in the target; NULL = none */
    bool hindered;        /* by it */
    struct text values[VARIABLES];
};

static void add_value(struct additions *additions, enum variable variable, const char *path)
{
    const char *present = getenv(variables[variable].name);
    if (!variables[variable].separator && present && *present) {
        log_warning(additions->options->log, "%s is set already and stays as it is: %s does not come in by it",
                    variables[variable].name, strrchr(path, '/') + 1);
        return;
    }
    struct text *value = &additions->values[variable];
    if (value->length)
        text_add_char(value, variables[variable].separator);
    text_add_string(value, path);
}

/* The runtime comes first: as a mere dependency of a collector it would lie behind the C library. */
static int add_runtime(struct additions *additions, struct error *err)
{
    char path[4096];
    if (additions->values[PRELOAD].length)
        return 0;
    int r = session_library_path(additions->options->runtime_directory, "runtime", path, sizeof(path), err);
    if (r == 0)
        add_value(additions, PRELOAD, path);
    return r;
}

static int add_collector(struct additions *additions, size_t index, struct error *err)
{
    char path[4096];
    const struct record_options *options = additions->options;
    bool named = list_names(options->backends, collectors[index].backend);
    if (!named && !(collectors[index].automatic && backend_list_has(options->backends, collectors[index].backend)))
        return 0;
    int r = session_library_path(options->runtime_directory, collectors[index].library, path, sizeof(path), named ? err : NULL);
    if (r < 0)
        return named ? r : 0;
    if (!additions->obstacle && !named && strpbrk(path, " :\t\n"))
        additions->obstacle = "hprofiler's libraries lie in a folder with a blank or colon in its name";
    if (additions->obstacle) {
        additions->hindered = true;
        return 0;
    }
    r = add_runtime(additions, err);
    for (int variable = 0; variable < VARIABLES && r == 0; variable++)
        if (collectors[index].variables & IN(variable))
            add_value(additions, (enum variable)variable, path);
    return r;
}

/* Another runtime in the place of GCC's for OpenMP: before all that the program itself is linked with, behind us. */
static int add_openmp_runtime(struct additions *additions, struct error *err)
{
    const char *path = additions->options->openmp_runtime;
    if (!path)
        return 0;
    if (strpbrk(path, " :\t\n"))
        return error_set(err, -EINVAL, "%s: a library with a blank or colon in its name cannot be preloaded", path);
    if (access(path, R_OK) < 0)
        return error_set_errno(err, -errno, "%s: no runtime for OpenMP", path);
    int r = add_runtime(additions, err);
    if (r == 0)
        add_value(additions, PRELOAD, path);
    return r;
}

static char *joined(const char *entry, enum variable variable, const struct text *value)
{
    struct text out = TEXT_INIT;
    const char *present = entry ? strchr(entry, '=') + 1 : "";
    text_addf(&out, "%s=%s", variables[variable].name, present);
    if (*present)
        text_add_char(&out, variables[variable].separator);
    text_add_string(&out, value->data);
    char *text = out.failed ? NULL : strdup(out.data);
    text_finish(&out);
    return text;
}

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* All but LD_PRELOAD, which the session adds itself. `owned`: texts that are ours to free. */
static char **changed_environment(const struct additions *additions, char *owned[VARIABLES])
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + VARIABLES + 1, sizeof *copy);
    if (!copy)
        return NULL;
    memcpy(copy, environ, count * sizeof *copy);
    for (int variable = PRELOAD + 1; variable < VARIABLES; variable++) {
        size_t at = 0;
        if (!additions->values[variable].length)
            continue;
        while (at < count && !is_variable(copy[at], variables[variable].name))
            at++;
        owned[variable] = joined(copy[at], (enum variable)variable, &additions->values[variable]);
        if (!owned[variable]) {
            free(copy);
            return NULL;
        }
        copy[at] = owned[variable];
        count += at == count;
    }
    return copy;
}

static int make_environment(const struct session *session, const struct additions *additions, char ***ret_environment,
                            struct error *err)
{
    char *owned[VARIABLES] = {NULL};
    char **environment = changed_environment(additions, owned);
    int r = environment ? session_environment(session, environment, additions->values[PRELOAD].data, ret_environment, err)
                        : error_set(err, -ENOMEM, "out of memory");
    for (int variable = 0; variable < VARIABLES; variable++)
        free(owned[variable]);
    free(environment);
    return r;
}

int backend_environment(const struct session *session, const struct record_options *options, const char *program, bool timers,
                        char ***ret_environment, struct error *err)
{
    struct additions additions = {.options = options};
    if (is_foreign(program))
        additions.obstacle = "the program is of another kind of machine (such as a 32-bit one) than hprofiler";
    int r = timers ? add_runtime(&additions, err) : 0;
    bool failed = false;
    for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]) && r == 0; i++)
        r = add_collector(&additions, i, err);
    if (r == 0)
        r = add_openmp_runtime(&additions, err);
    if (additions.hindered)
        log_warning(options->log, "%s: its calls are not traced", additions.obstacle);
    for (int variable = 0; variable < VARIABLES; variable++)
        failed |= additions.values[variable].failed;
    if (r == 0 && failed)
        r = error_set(err, -ENOMEM, "out of memory");
    if (r == 0 && additions.values[PRELOAD].length)
        r = make_environment(session, &additions, ret_environment, err);
    for (int variable = 0; variable < VARIABLES; variable++)
        text_finish(&additions.values[variable]);
    return r;
}
