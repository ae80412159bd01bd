/* SPDX-License-Identifier: MIT */
/* `help`, `completion`, and the hidden `man`. */
#include "commands.h"
#include "help.h"

#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- help ----------------------------------------------------------------------------------------------------------
 */

struct help_values {
    struct common_values common;
    bool version;
};

static const struct option_spec help_options[] = {
    {.long_name = "version",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct help_values, version),
     .help = "print the version"},
    OPTION_HELP,
    OPTION_END,
};

static int no_such_command(const char *name, struct error *err)
{
    const struct command *near = command_nearest(name);
    return error_set(err, -EINVAL, "there is no command '%s'%s%s%s", name,
                     near ? ": did you mean '" : ": `hprofiler help` lists them", near ? near->name : "",
                     near ? "'?" : "");
}

static int check_help(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)values;
    if (!invocation->operand_count || command_find(invocation->operands[0]))
        return 0;
    return no_such_command(invocation->operands[0], err);
}

static int run_help(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct help_values *help = values;
    struct text text = TEXT_INIT;
    if (help->version) {
        text_addf(&text, "hprofiler %s\n", HP_VERSION);
    } else if (!invocation->operand_count) {
        help_program(&invocation->look, &text);
    } else {
        help_command(command_find(invocation->operands[0]), &invocation->look, &text);
    }
    return output_text(invocation->out, &text, err);
}

static const char *const command_operand[] = {"COMMAND", NULL};

const struct command command_help = {
    .name = "help",
    .summary = "explain the program, or one command",
    .usage = "[COMMAND]",
    .description =
        "Prints the list of commands, exit statuses, environment variables and files; or all about one command.",
    .options = help_options,
    .values_size = sizeof(struct help_values),
    .maximum_operands = 1,
    .operand_names = command_operand,
    .check = check_help,
    .run = run_help,
};

/* --- completion ----------------------------------------------------------------------------------------------------
 */

static const struct option_spec only_help[] = {OPTION_HELP, OPTION_END};

typedef void (*completion_writer)(struct text *out);

static completion_writer writer_for(const char *shell)
{
    static const struct {
        const char *shell;
        completion_writer write;
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shell, shells[i].shell) == 0)
            return shells[i].write;
    return NULL;
}

static int check_completion(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)values;
    const char *shell = invocation->operands[0];
    return writer_for(shell) ? 0
                             : error_set(err, -EINVAL, "no completion for '%s': there are bash, zsh and fish", shell);
}

static int run_completion(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)values;
    struct text text = TEXT_INIT;
    writer_for(invocation->operands[0])(&text);
    return output_text(invocation->out, &text, err);
}

static const char *const shell_operand[] = {"SHELL", NULL};

const struct command command_completion = {
    .name = "completion",
    .summary = "print the completion script for bash, zsh or fish",
    .usage = "bash|zsh|fish",
    .description =
        "Prints a script that completes commands, options and their values. `cmake --install` puts the scripts where "
        "the shells look for them; this command is for a program that was not installed.",
    .examples = "eval \"$(hprofiler completion bash)\"\n    complete in this shell\n"
                "hprofiler completion fish > ~/.config/fish/completions/hprofiler.fish\n    complete in every fish\n",
    .options = only_help,
    .values_size = sizeof(struct common_values),
    .minimum_operands = 1,
    .maximum_operands = 1,
    .operand_names = shell_operand,
    .operand_choices = "bash|zsh|fish",
    .check = check_completion,
    .run = run_completion,
};

/* --- man: for the build --------------------------------------------------------------------------------------------
 */

static int write_page(const char *directory, const char *name, struct text *page, struct error *err)
{
    char path[PATH_MAX];
    struct file_writer *file = NULL;
    snprintf(path, sizeof path, "%s/%s.1", directory, name);
    int result = page->failed ? error_set(err, -ENOMEM, "out of memory") : file_writer_create(path, &file, err);
    if (result == 0) {
        file_write(file, page->data, page->length);
        result = file_writer_finish(file, err);
    }
    text_finish(page);
    return result;
}

/* One page to stdout, or all into a directory. */
static int run_man(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)values;
    struct text page = TEXT_INIT;
    const char *what = invocation->operands[0];
    const struct command *command = command_find(what);
    if (command || strcmp(what, "hprofiler") == 0) {
        if (command)
            man_command(command, &page);
        else
            man_program(&page);
        return output_text(invocation->out, &page, err);
    }
    man_program(&page);
    int result = write_page(what, "hprofiler", &page, err);
    for (size_t i = 0; commands[i] && result == 0; i++) {
        char name[64];
        if (commands[i]->hidden)
            continue;
        man_command(commands[i], &page);
        snprintf(name, sizeof name, "hprofiler-%s", commands[i]->name);
        result = write_page(what, name, &page, err);
    }
    return result;
}

static const char *const man_operand[] = {"COMMAND|DIRECTORY", NULL};

const struct command command_man = {
    .name = "man",
    .summary = "write man pages in roff",
    .usage = "COMMAND|hprofiler|DIRECTORY",
    .description = "Writes the man page of a command (or of hprofiler itself) to stdout, or all of them into a "
                   "directory. For the build.",
    .options = only_help,
    .values_size = sizeof(struct common_values),
    .minimum_operands = 1,
    .maximum_operands = 1,
    .operand_names = man_operand,
    .hidden = true,
    .run = run_man,
};
