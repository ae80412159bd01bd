/* SPDX-License-Identifier: MIT */
/* The program: finds the command, parses its options, and does once what all commands share. */
#include "base/error.h"
#include "base/file.h"
#include "base/shrunk_file.h"
#include "command.h"
#include "help.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A closed descriptor 0, 1 or 2 would be reused by the next file we open, and a message would end in it. The stand-ins
 * are close-on-exec, so that a target finds its descriptors as we did, and fail just as a closed one does.
 */
static void guard_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
            _exit(EXIT_PROFILER_FAILED);
}

static int print_error(const struct command *command, const struct error *err, int status)
{
    output_progress_clear();
    if (command)
        fprintf(stderr, "hprofiler %s: %s\n", command->name, err->text);
    else
        fprintf(stderr, "hprofiler: %s\n", err->text);
    return status;
}

static int usage_status(const struct command *command)
{
    return command->failed_status ? command->failed_status : EXIT_USAGE;
}

/* The program's own options would be taken for ours: shows the whole line as it should be. */
static int separator_is_missing(const struct command *command, int count, char **words, struct error *err)
{
    char line[300] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, " %s", words[i]);
    return error_set(err, -EINVAL, "put -- before the command: hprofiler %s --%s%s", command->name, line,
                     used < sizeof line ? "" : "...");
}

static int check_operands(const struct command *command, const struct invocation *invocation, struct error *err)
{
    int count = invocation->operand_count;
    if (command->takes_target && !invocation->target && count)
        return separator_is_missing(command, count, invocation->operands, err);
    if (command->takes_target && !invocation->target)
        return error_set(err, -EINVAL, "no program is given: hprofiler %s -- PROGRAM [ARGUMENTS]", command->name);
    if (command->takes_target && !invocation->target[0])
        return error_set(err, -EINVAL, "no program is given after \"--\": hprofiler %s -- PROGRAM [ARGUMENTS]",
                         command->name);
    if (invocation->target && !command->takes_target)
        return error_set(err, -EINVAL, "takes no program after \"--\": hprofiler %s %s", command->name,
                         command->usage);
    if (count < command->minimum_operands)
        return error_set(err, -EINVAL, "%s is missing: hprofiler %s %s", command->operand_names[count], command->name,
                         command->usage);
    if (command->maximum_operands >= 0 && count > command->maximum_operands)
        return error_set(err, -EINVAL, "'%s' is one argument too many: hprofiler %s %s",
                         invocation->operands[command->maximum_operands], command->name, command->usage);
    return 0;
}

static enum output_format format_of(const struct common_values *values)
{
    if (values->format && strcmp(values->format, "json") == 0)
        return OUTPUT_JSON;
    return values->format && strcmp(values->format, "csv") == 0 ? OUTPUT_CSV : OUTPUT_TEXT;
}

/* Runs the command and sees to it that what it printed has arrived: a full disk behind stdout is a failure. */
static int run_command(const struct command *command, const struct common_values *values, struct invocation *invocation)
{
    struct error err = ERROR_INIT;
    int failed = command->failed_status ? command->failed_status : EXIT_FAILED;
    struct text text = TEXT_INIT;
    if (file_writer_create_fd(STDOUT_FILENO, "standard output", &invocation->out, &err) < 0)
        return print_error(command, &err, failed);
    int status;
    if (values->help) {
        help_command(command, &invocation->look, &text);
        status = output_text(invocation->out, &text, &err);
    } else {
        status = check_operands(command, invocation, &err);
        if (status == 0 && command->check)
            status = command->check(values, invocation, &err);
        if (status < 0)
            status = print_error(command, &err, usage_status(command));
        else
            status = command->run(values, invocation, &err);
    }
    output_progress_clear();
    if (shrunk_file_pages())
        log_warning(invocation->log, "a file was cut short by somebody while it was read: what lay behind its new end counts as empty");
    if (status < 0)
        status = print_error(command, &err, failed);
    if (file_writer_finish(invocation->out, &err) < 0)
        return print_error(command, &err, status ? status : failed);
    return status;
}

static int separator_index(int argc, char **argv)
{
    int index = 0;
    while (index < argc && strcmp(argv[index], "--") != 0)
        index++;
    return index;
}

static int dispatch(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    int operand, separator;
    CLEANUP(freep) void *values = calloc(1, command->values_size);
    if (!values) {
        error_set(&err, -ENOMEM, "out of memory");
        return print_error(command, &err, usage_status(command));
    }
    if (command->preset)
        command->preset(values);
    if (options_parse(command->options, values, argc, argv, &operand, &separator, &err) < 0) {
        if (command->takes_target && operand < separator)
            separator_is_missing(command, separator_index(argc, argv) - operand, argv + operand, &err);
        return print_error(command, &err, usage_status(command));
    }
    struct invocation invocation = {
        .command = command,
        .operand_count = separator - operand,
        .operands = argv + operand,
        .target = separator < argc ? argv + separator + 1 : NULL,
        .log = output_log(),
        .progress = output_progress(),
        .look = output_look(STDOUT_FILENO),
        .format = format_of(values),
    };
    return run_command(command, values, &invocation);
}

static int unknown_command(const char *name)
{
    struct error err = ERROR_INIT;
    const struct command *near = command_nearest(name);
    if (name[0] == '-')
        error_set(&err, -EINVAL, "unknown option %s before a command: `hprofiler help` lists the commands", name);
    else if (near)
        error_set(&err, -EINVAL, "there is no command '%s': did you mean '%s'?", name, near->name);
    else
        error_set(&err, -EINVAL, "there is no command '%s': `hprofiler help` lists the commands%s", name,
                  access(name, X_OK) == 0 ? "; to profile a program: hprofiler run -- PROGRAM" : "");
    return print_error(NULL, &err, EXIT_USAGE);
}

int main(int argc, char **argv)
{
    guard_standard_descriptors();
    shrunk_files_survive();
    if (argc < 2) {
        struct text text = TEXT_INIT;
        struct text_look look = output_look(STDERR_FILENO);
        help_program(&look, &text);
        fputs(text.data ? text.data : "", stderr);
        text_finish(&text);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    char help[] = "help", version[] = "--version";
    char *help_arguments[] = {help, strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 ? version : NULL, NULL};
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return dispatch(command_find("help"), 1, help_arguments);
    if (help_arguments[1])
        return dispatch(command_find("help"), 2, help_arguments);
    const struct command *command = command_find(name);
    return command ? dispatch(command, argc - 1, argv + 1) : unknown_command(name);
}
