/* SPDX-License-Identifier: MIT */
/*
 * `build`: the collectors that need a site's own headers, made again on the site's machine. MPI is the one: the sources of its
 * implementation lie in share/hprofiler/mpi and are given to the site's compiler wrapper.
 */
#include "commands.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ARGUMENTS_MAX 256
#define PREPROCESSED_MAX (16u << 20)

struct build_values {
    struct common_values common;
    const char *mpicc;
    bool user;
};

static const struct option_spec options[] = {
    {.long_name = "mpicc",
     .kind = OPTION_STRING,
     .offset = offsetof(struct build_values, mpicc),
     .value_name = "CC",
     .hint = HINT_FILE,
     .help = "compiler wrapper of the MPI that programs here use [mpicc]"},
    {.long_name = "user",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct build_values, user),
     .help = "put it into ~/.local/lib/hprofiler even if the folder of the other libraries can be written"},
    OPTION_HELP,
    OPTION_END,
};

struct arguments {
    char *words[ARGUMENTS_MAX + 1];
    size_t count;
};

static void arguments_finish(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->words[i]);
}
static void add(struct arguments *arguments, const char *word)
{
    if (arguments->count < ARGUMENTS_MAX && (arguments->words[arguments->count] = strdup(word)))
        arguments->count++;
}

static void add_joined(struct arguments *arguments, const char *left, const char *right)
{
    char word[2 * PATH_MAX];
    if (snprintf(word, sizeof word, "%s%s", left, right) < (int)sizeof word)
        add(arguments, word);
}

/* Runs it, with stdout into `out` if that is not -1. The compiler's messages reach the user as they are. */
static int run(const struct arguments *arguments, int out, struct error *err)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&actions);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int code = posix_spawnp(&pid, arguments->words[0], &actions, NULL, arguments->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        return error_set(err, -code, "cannot run '%s': %s; name the compiler wrapper of your MPI with --mpicc", arguments->words[0], strerror(code));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set_errno(err, -errno, "cannot wait for '%s'", arguments->words[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return error_set(err, -EINVAL, "'%s' failed (see above)", arguments->words[0]);
    return 0;
}

/* Where the sources are: installed, or in a build folder. */
static int find_sources(char *ret_folder, size_t size, struct error *err)
{
    static const char *const places[] = {"../share/hprofiler/mpi", "../src/collect/mpi/kit"};
    char program[PATH_MAX], path[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", program, places[i]);
        if (access(path, R_OK) == 0 && strlen(path) < size) {
            strcpy(ret_folder, path);
            return 0;
        }
    }
    return error_set(err, -ENOENT, "the sources of the MPI collector are not beside %s (share/hprofiler/mpi): was hprofiler installed whole?", program);
}

/* Which family the wrapper's mpi.h is of: "openmpi" or "mpich". */
static int find_family(const char *mpicc, const char *sources, const char **ret_family, struct error *err)
{
    static const struct {
        const char *macro, *family;
    } families[] = {{"#define OPEN_MPI ", "openmpi"}, {"#define MPICH_NUMVERSION ", "mpich"}, {"#define MPICH_VERSION ", "mpich"}};
    CLEANUP(arguments_finish) struct arguments arguments = {.count = 0};
    CLEANUP(freep) char *macros = NULL;
    CLEANUP(fclosep) FILE *file = tmpfile();
    size_t size;
    if (!file)
        return error_set_errno(err, -errno, "cannot make a temporary file");
    add(&arguments, mpicc);
    add(&arguments, "-E");
    add(&arguments, "-dM");
    add_joined(&arguments, sources, "/src/collect/mpi/mpi_api.h");
    int code = run(&arguments, fileno(file), err);
    if (code == 0 && lseek(fileno(file), 0, SEEK_SET) == 0)
        code = file_read_fd(fileno(file), mpicc, PREPROCESSED_MAX, &macros, &size, err);
    if (code < 0)
        return code;
    for (size_t i = 0; macros && i < sizeof families / sizeof families[0]; i++)
        if (strstr(macros, families[i].macro)) {
            *ret_family = families[i].family;
            return 0;
        }
    return error_set(err, -ENOTSUP, "the mpi.h of '%s' is neither Open MPI's nor MPICH's or that of one of its kin", mpicc);
}

static int add_sources(struct arguments *arguments, const char *folder, struct error *err)
{
    char path[PATH_MAX];
    DIR *directory = opendir(folder);
    if (!directory)
        return error_set_errno(err, -errno, "cannot read '%s'", folder);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length > 2 && strcmp(entry->d_name + length - 2, ".c") == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            add(arguments, path);
    }
    closedir(directory);
    return 0;
}

/* Linked against the runtime alone: what it takes of the MPI is looked up in the process, so the wrapper's libraries are left out. */
static int compile(const char *mpicc, const char *sources, const char *runtime, const char *output, struct error *err)
{
    static const char *const flags[] = {"-std=gnu11", "-O2", "-fPIC", "-shared", "-nostartfiles", "-fvisibility=hidden", "-fno-stack-protector",
        "-U_FORTIFY_SOURCE", "-ffreestanding", "-fno-strict-aliasing", "-ftls-model=initial-exec", "-fexceptions", "-fasynchronous-unwind-tables",
        "-fno-plt", "-w", "-D_GNU_SOURCE", "-DHP_VERSION=\"" HP_VERSION "\"", "-Wl,--as-needed", "-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-z,relro",
        "-Wl,-z,noexecstack", "-Wl,-z,undefs", NULL};
    CLEANUP(arguments_finish) struct arguments arguments = {.count = 0};
    char folder[PATH_MAX], directory[PATH_MAX];
    add(&arguments, mpicc);
    for (size_t i = 0; flags[i]; i++)
        add(&arguments, flags[i]);
    snprintf(folder, sizeof folder, "%s/src", sources);
    add_joined(&arguments, "-I", folder);
    snprintf(folder, sizeof folder, "%s/src/collect/mpi", sources);
    add_joined(&arguments, "-I", folder);
    int code = add_sources(&arguments, folder, err);
    if (code < 0)
        return code;
    snprintf(directory, sizeof directory, "%s", runtime);
    *strrchr(directory, '/') = '\0';
    add(&arguments, "-Wl,-rpath,$ORIGIN");
    add_joined(&arguments, "-Wl,-rpath,", directory);
    add(&arguments, runtime);
    add(&arguments, "-o");
    add(&arguments, output);
    return run(&arguments, -1, err);
}

static int make_folders(char *path, struct error *err)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        int code = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
        if (code < 0)
            return error_set_errno(err, code, "cannot make the folder '%s'", path);
        *slash = '/';
    }
    return 0;
}

/* Beside the other libraries if that can be written, else where the front looks in the user's home. */
static int choose_output(const struct build_values *values, const char *runtime, const char *family, char *ret_path, size_t size, struct error *err)
{
    char folder[PATH_MAX];
    const char *home = getenv("HOME");
    snprintf(folder, sizeof folder, "%s", runtime);
    *strrchr(folder, '/') = '\0';
    if (!values->user && access(folder, W_OK) == 0) {
        if (snprintf(ret_path, size, "%s/libhprofiler_mpi-%s.so", folder, family) >= (int)size)
            return error_set(err, -ENAMETOOLONG, "'%s' is too long a path", folder);
        return 0;
    }
    if (!home || home[0] != '/')
        return error_set(err, -ENOENT, "'%s' cannot be written and HOME is not set: there is no place for the library", folder);
    if (snprintf(ret_path, size, "%s/.local/lib/hprofiler/libhprofiler_mpi-%s.so", home, family) >= (int)size)
        return error_set(err, -ENAMETOOLONG, "HOME is too long a path");
    return make_folders(ret_path, err);
}

static int build(const void *given, const struct invocation *invocation, struct error *err)
{
    const struct build_values *values = given;
    const char *mpicc = values->mpicc ? values->mpicc : "mpicc", *family = NULL;
    char sources[2 * PATH_MAX], runtime[PATH_MAX], output[PATH_MAX], fresh[PATH_MAX + 16];
    int code = find_sources(sources, sizeof sources, err);
    if (code == 0)
        code = session_library_path(NULL, "runtime", runtime, sizeof runtime, err);
    if (code == 0)
        code = find_family(mpicc, sources, &family, err);
    if (code == 0)
        code = choose_output(values, runtime, family, output, sizeof output, err);
    if (code < 0)
        return code;
    snprintf(fresh, sizeof fresh, "%s.%d", output, (int)getpid());
    code = compile(mpicc, sources, runtime, fresh, err);
    if (code == 0 && rename(fresh, output) < 0) /* whole or not at all: programs may be loading the old one */
        code = error_set_errno(err, -errno, "cannot write '%s'", output);
    if (code < 0) {
        unlink(fresh);
        return code;
    }
    struct text text = TEXT_INIT;
    text_addf(&text, "built %s for %s\n", output, mpicc);
    return output_text(invocation->out, &text, err);
}

const struct command command_build = {
    .name = "build",
    .summary = "build the collector for this machine's own MPI",
    .usage = "[options]",
    .description = "Programs that use Open MPI, MPICH or one of its kin are recorded by a library that was built with that MPI's own mpi.h. Where "
                   "the one that came with hprofiler doesn't fit (another vendor's MPI, an MPI of an older ABI, an installation "
                   "that was made on a machine without MPI) build makes it again with the compiler wrapper of the MPI that programs "
                   "here use.\n\n"
                   "The library goes beside the others, or to ~/.local/lib/hprofiler if that folder cannot be written; one there goes before the "
                   "others.",
    .examples = "hprofiler build --mpicc /opt/site/mpi/bin/mpicc\n    for programs built with that mpicc\n"
                "hprofiler build --mpicc cc\n    on a Cray, whose cc is the compiler wrapper\n",
    .options = options,
    .values_size = sizeof(struct build_values),
    .run = build,
};
