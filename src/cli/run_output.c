/* SPDX-License-Identifier: MIT */
/* Names of traces: placeholders, and what keeps the ranks of a launcher apart. */
#include "run_output.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* What stands for the letter behind a %, added to the name. */
static int add_placeholder(struct text *name, char letter, const struct launcher_rank *launcher, struct error *err)
{
    struct utsname host;
    if (letter == '%') {
        text_add_char(name, '%');
    } else if (letter == 'p') {
        text_addf(name, "%d", (int)getpid());
    } else if (letter == 'h') {
        text_add_string(name, uname(&host) == 0 ? host.nodename : "unknown");
    } else if (letter != 'r') {
        return error_set(err, -EINVAL, "-o: '%%%c' stands for nothing: there are %%r (rank), %%h (host), %%p (our pid) and %%%%", letter);
    } else if (launcher) {
        text_addf(name, "%" PRId32, launcher->rank);
    } else {
        return error_set(err, -EINVAL, "-o: %%r stands for the rank, and no launcher told one: "
                                       "the order is mpirun ... hprofiler run ... -- COMMAND");
    }
    return 0;
}

static int replace(const char *output, const struct launcher_rank *launcher, struct text *name, bool *ret_has_rank, struct error *err)
{
    *ret_has_rank = false;
    for (const char *at = output; *at; at++) {
        if (*at != '%') {
            text_add_char(name, *at);
            continue;
        }
        at++;
        *ret_has_rank |= *at == 'r';
        if (!*at)
            return error_set(err, -EINVAL, "-o: the %% at the end stands for nothing; %%%% stands for itself");
        int result = add_placeholder(name, *at, launcher, err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Where the ending begins that picks the format, the longest that fits; ".hprofiler.json" is one, as the default has it. */
static size_t ending_of(const char *path)
{
    static const char whole[] = ".hprofiler.json";
    size_t length = strlen(path), longest = 0;
    for (size_t i = 0; trace_formats[i]; i++) {
        const char *extension = trace_formats[i]->extension;
        size_t size = extension ? strlen(extension) : 0;
        if (size > longest && length > size && strcmp(path + length - size, extension) == 0)
            longest = size;
    }
    if (length >= sizeof whole && strcmp(path + length - (sizeof whole - 1), whole) == 0)
        longest = sizeof whole - 1;
    return length - longest;
}

static void insert_rank(const char *path, int32_t rank, struct text *out)
{
    size_t ending = ending_of(path);
    text_add(out, path, ending);
    text_addf(out, ".rank%" PRId32 "%s", rank, path + ending);
}

int run_output_prepare(const char *output, const char *program, const struct launcher_rank *launcher, struct output_file *ret_file,
                       struct error *err)
{
    struct text name = TEXT_INIT, apart = TEXT_INIT;
    bool has_rank = false;
    int result = 0;
    if (output)
        result = replace(output, launcher, &name, &has_rank, err);
    else
        text_addf(&name, "%s.hprofiler.json", program);
    bool several = launcher && launcher->size != 1;
    if (result == 0 && several && !has_rank && name.data)
        insert_rank(name.data, launcher->rank, &apart);
    if (result == 0 && (name.failed || apart.failed))
        result = error_set(err, -ENOMEM, "out of memory");
    if (result == 0)
        result = output_file_prepare(apart.data ? apart.data : name.data ? name.data : "", "", ret_file, err);
    ret_file->named = output != NULL;
    text_finish(&name);
    text_finish(&apart);
    return result;
}
