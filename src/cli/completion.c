/* SPDX-License-Identifier: MIT */
/* Completion scripts for bash, zsh and fish: made from the commands' tables, so that they never lag behind. */
#include "help.h"

#include "formats/format.h"
#include "system/backends.h"

#include <string.h>

/* Words for a value, separated by `separator`; false if there is no fixed list. */
static bool add_words(const struct option_spec *spec, const char *separator, struct text *out)
{
    const char *gap = "";
    if (spec->choices) {
        for (const char *at = spec->choices; *at; at += strcspn(at, "|"), at += *at == '|') {
            text_add_string(out, gap);
            text_add(out, at, strcspn(at, "|"));
            gap = separator;
        }
        return true;
    }
    if (spec->hint == HINT_BACKENDS) {
        text_addf(out, "auto%s", separator);
        for (const struct backend_info *info = backend_infos; info->name; info++, gap = separator)
            text_addf(out, "%s%s", gap, info->name);
        return true;
    }
    if (spec->hint == HINT_FORMATS) {
        for (size_t i = 0; trace_formats[i]; i++) {
            if (!trace_formats[i]->write)
                continue;
            text_addf(out, "%s%s", gap, trace_formats[i]->name);
            gap = separator;
        }
        return true;
    }
    return false;
}

static bool takes_value(const struct option_spec *spec)
{
    return spec->kind != OPTION_FLAG && spec->kind != OPTION_NEGATABLE;
}

static void command_names(const char *separator, struct text *out)
{
    const char *gap = "";
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        text_addf(out, "%s%s", gap, commands[i]->name);
        gap = separator;
    }
}

/* --- bash ----------------------------------------------------------------------------------------------------------
 */

/* What completes a value or an operand that has no fixed list. */
static const char *bash_action(enum option_hint hint)
{
    switch (hint) {
    case HINT_NONE:
        return "";
    case HINT_PROCESS:
        return " mapfile -t COMPREPLY < <(cd /proc && compgen -G \"$current*\" | grep -x '[0-9]*');";
    case HINT_DIRECTORY:
        return " compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\");";
    case HINT_SESSION:
        return " compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\"; _hprofiler_sessions "
               "\"$current\");";
    default:
        return " compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\");";
    }
}

static void bash_value_cases(const struct command *command, struct text *out)
{
    for (const struct option_spec *spec = command->options; spec->long_name; spec++) {
        if (!takes_value(spec))
            continue;
        text_addf(out, "    %s:--%s", command->name, spec->long_name);
        if (spec->short_name)
            text_addf(out, "|%s:-%c", command->name, spec->short_name);
        text_add_string(out, ")");
        struct text words = TEXT_INIT;
        if (!add_words(spec, " ", &words))
            text_add_string(out, bash_action(spec->hint));
        else if (spec->hint == HINT_BACKENDS) /* a list: what stands before the last comma stays */
            text_addf(out,
                      " [[ $current == *,* ]] && head=${current%%,*},; mapfile -t COMPREPLY < <(compgen -P \"$head\" -W "
                      "'%s' -- \"${current##*,}\");",
                      words.data ? words.data : "");
        else
            text_addf(out, " mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\");", words.data ? words.data : "");
        text_finish(&words);
        text_add_string(out, " return ;;\n");
    }
}

static void bash_options(const struct command *command, struct text *out)
{
    text_addf(out, "    %s) options='", command->name);
    for (const struct option_spec *spec = command->options; spec->long_name; spec++) {
        text_addf(out, "--%s ", spec->long_name);
        if (spec->kind == OPTION_NEGATABLE)
            text_addf(out, "--no-%s ", spec->long_name);
    }
    text_add_string(out, "'");
    if (command->operand_choices) {
        struct text words = TEXT_INIT;
        struct option_spec spec = {.choices = command->operand_choices};
        add_words(&spec, " ", &words);
        text_addf(out, " words='%s'", words.data ? words.data : "");
        text_finish(&words);
    } else if (strcmp(command->name, "help") == 0) {
        text_add_string(out, " words='");
        command_names(" ", out);
        text_add_string(out, "'");
    } else if (command->operand_hint != HINT_NONE) {
        text_addf(out, "; [[ $current != -* ]] && {%s }", bash_action(command->operand_hint));
    }
    text_add_string(out, " ;;\n");
}

void completion_bash(struct text *out)
{
    text_add_string(
        out, "# bash completion for hprofiler; made by `hprofiler completion bash`\n"
             "_hprofiler_sessions() {\n"
             "  local session\n"
             "  for session in \"${TMPDIR:-/tmp}\"/hprofiler-*/; do\n"
             "    [[ -d $session && $session == \"$1\"* ]] && printf '%s\\n' \"${session%/}\"\n"
             "  done\n}\n"
             "_hprofiler() {\n"
             "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
             "  local options='' words='' head='' i\n"
             "  COMPREPLY=()\n"
             "  if ((COMP_CWORD == 1)); then\n"
             "    mapfile -t COMPREPLY < <(compgen -W '");
    command_names(" ", out);
    text_add_string(out, " --help --version' -- \"$current\"); return\n  fi\n"
                         "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
                         "    if [[ ${COMP_WORDS[i]} == -- ]]; then # the target's own completion\n"
                         "      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); return; fi\n"
                         "      compopt -o filenames; mapfile -t COMPREPLY < <(compgen -c -f -- \"$current\"); return\n"
                         "    fi\n  done\n"
                         "  case $command:$previous in\n");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            bash_value_cases(commands[i], out);
    text_add_string(out, "  esac\n  case $command in\n");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            bash_options(commands[i], out);
    text_add_string(out, "  esac\n"
                         "  if [[ $current == -* ]]; then\n"
                         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
                         "  elif [[ $words ]]; then\n"
                         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                         "  fi\n}\n"
                         "complete -F _hprofiler hprofiler\n");
}

/* --- zsh -----------------------------------------------------------------------------------------------------------
 */

/* Inside '...[text]:...' of _arguments: quotes end the word, brackets and colons end the text. */
static void zsh_text(const char *text, struct text *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            text_add_string(out, "'\\''");
        else if (strchr("[]:\\", *text))
            text_addf(out, "\\%c", *text);
        else
            text_add_char(out, *text);
    }
}

static void zsh_action(const struct option_spec *spec, struct text *out)
{
    if (!takes_value(spec))
        return;
    text_addf(out, ":%s:", spec->value_name ? spec->value_name : spec->long_name);
    struct text words = TEXT_INIT;
    bool fixed = add_words(spec, " ", &words);
    if (fixed && spec->hint == HINT_BACKENDS) /* the blank keeps _arguments' own words from _values */
        text_addf(out, " _values -s , backend %s", words.data ? words.data : "");
    else if (fixed)
        text_addf(out, "(%s)", words.data ? words.data : "");
    else if (spec->hint == HINT_PROCESS)
        text_add_string(out, "_pids");
    else if (spec->hint == HINT_DIRECTORY)
        text_add_string(out, "_files -/");
    else if (spec->hint != HINT_NONE)
        text_add_string(out, "_files");
    else
        text_add_char(out, ' ');
    text_finish(&words);
}

static void zsh_option(const struct option_spec *spec, struct text *out)
{
    const char *more = spec->kind == OPTION_LIST ? "*" : "";
    text_addf(out, " \\\n      '%s--%s%s[", more, spec->long_name, takes_value(spec) ? "=" : "");
    zsh_text(spec->help ? spec->help : "", out);
    text_add_char(out, ']');
    zsh_action(spec, out);
    text_add_char(out, '\'');
    if (spec->short_name) {
        text_addf(out, " \\\n      '%s-%c%s[", more, spec->short_name, takes_value(spec) ? "+" : "");
        zsh_text(spec->help ? spec->help : "", out);
        text_add_char(out, ']');
        zsh_action(spec, out);
        text_add_char(out, '\'');
    }
    if (spec->kind == OPTION_NEGATABLE) {
        text_addf(out, " \\\n      '--no-%s[not\\: ", spec->long_name);
        zsh_text(spec->help ? spec->help : "", out);
        text_add_string(out, "]'");
    }
}

static void zsh_command(const struct command *command, struct text *out)
{
    text_addf(out, "    (%s) ", command->name);
    if (command->takes_target) /* behind "--" stands a command line of its own */
        text_add_string(out, "local separator=${words[(i)--]}\n"
                             "      if ((separator < CURRENT)); then\n"
                             "        shift $separator words; ((CURRENT -= separator)); _normal; return\n"
                             "      fi\n      ");
    text_add_string(out, "_arguments -S");
    for (const struct option_spec *spec = command->options; spec->long_name; spec++)
        zsh_option(spec, out);
    if (command->operand_choices) {
        struct text words = TEXT_INIT;
        struct option_spec spec = {.choices = command->operand_choices};
        add_words(&spec, " ", &words);
        text_addf(out, " \\\n      '*:word:(%s)'", words.data ? words.data : "");
        text_finish(&words);
    } else if (command->operand_hint == HINT_SESSION)
        text_add_string(out, " \\\n      '*:session:_hprofiler_sessions'");
    else if (command->operand_hint == HINT_DIRECTORY)
        text_add_string(out, " \\\n      '*:directory:_files -/'");
    else if (command->operand_hint != HINT_NONE)
        text_add_string(out, " \\\n      '*:file:_files'");
    else if (strcmp(command->name, "help") == 0) {
        text_add_string(out, " \\\n      '*:command:(");
        command_names(" ", out);
        text_add_string(out, ")'");
    }
    text_add_string(out, " ;;\n");
}

void completion_zsh(struct text *out)
{
    text_add_string(out, "#compdef hprofiler\n# zsh completion for hprofiler; made by `hprofiler completion zsh`\n"
                         "_hprofiler_sessions() {\n"
                         "  local -a sessions=(${TMPDIR:-/tmp}/hprofiler-*(N/))\n"
                         "  compadd -f -a sessions\n  _files -/\n}\n"
                         "_hprofiler() {\n  local -a subcommands=(\n");
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        text_addf(out, "    '%s:", commands[i]->name);
        zsh_text(commands[i]->summary, out);
        text_add_string(out, "'\n");
    }
    text_add_string(out, "  )\n"
                         "  if ((CURRENT == 2)); then\n    _describe command subcommands\n    _arguments --help "
                         "--version\n    return\n  fi\n"
                         "  local subcommand=$words[2]\n  shift words\n  ((CURRENT--))\n  case $subcommand in\n");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            zsh_command(commands[i], out);
    text_add_string(
        out, "  esac\n}\n"
             "if [[ $funcstack[1] == _hprofiler ]]; then _hprofiler \"$@\"; else compdef _hprofiler hprofiler; fi\n");
}

/* --- fish ----------------------------------------------------------------------------------------------------------
 */

static void fish_text(const char *text, struct text *out)
{
    text_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            text_add_char(out, '\\');
        text_add_char(out, *text);
    }
    text_add_char(out, '\'');
}

static void fish_option(const struct command *command, const struct option_spec *spec, bool negated, struct text *out)
{
    text_addf(out, "complete -c hprofiler -n '__fish_seen_subcommand_from %s' -l %s%s", command->name,
              negated ? "no-" : "", spec->long_name);
    if (spec->short_name && !negated)
        text_addf(out, " -s %c", spec->short_name);
    if (takes_value(spec)) {
        struct text words = TEXT_INIT;
        bool fixed = add_words(spec, " ", &words);
        if (fixed && spec->hint == HINT_BACKENDS)
            text_addf(out, " -x -a '(__hprofiler_list %s)'", words.data ? words.data : "");
        else if (fixed)
            text_addf(out, " -x -a '%s'", words.data ? words.data : "");
        else if (spec->hint == HINT_PROCESS)
            text_add_string(out, " -x -a '(__fish_complete_pids)'");
        else if (spec->hint == HINT_DIRECTORY)
            text_add_string(out, " -x -a '(__fish_complete_directories)'");
        else
            text_add_string(out, spec->hint == HINT_NONE ? " -x" : " -r");
        text_finish(&words);
    }
    text_add_string(out, " -d ");
    if (negated) {
        struct text help = TEXT_INIT;
        text_addf(&help, "not: %s", spec->help ? spec->help : "");
        fish_text(help.data ? help.data : "", out);
        text_finish(&help);
    } else {
        fish_text(spec->help ? spec->help : "", out);
    }
    text_add_char(out, '\n');
}

static const char fish_functions[] =
    "# the words of a list behind what stands before its last comma\n"
    "function __hprofiler_list\n"
    "    set -l head (commandline -ct | string replace -r '^(--[a-z-]+=|-[a-z])' '' | string match -r '.*,')\n"
    "    for word in $argv\n        echo \"$head$word\"\n    end\nend\n"
    "function __hprofiler_sessions\n"
    "    set -l parent /tmp\n"
    "    set -q TMPDIR; and set parent $TMPDIR\n"
    "    for session in $parent/hprofiler-*/\n        echo $session\n    end\nend\n"
    "# behind -- stands a command line of its own\n"
    "function __hprofiler_has_target\n    contains -- -- (commandline -opc)\nend\n"
    "function __hprofiler_target\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1..(contains -i -- -- $words)]\n"
    "    complete -C (string join -- ' ' (string escape -- $words) (commandline -ct))\n"
    "end\n";

void completion_fish(struct text *out)
{
    text_add_string(out, "# fish completion for hprofiler; made by `hprofiler completion fish`\n");
    text_add_string(out, fish_functions);
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        if (command->hidden)
            continue;
        text_addf(out, "complete -c hprofiler -f -n __fish_use_subcommand -a %s -d ", command->name);
        fish_text(command->summary, out);
        text_add_char(out, '\n');
        for (const struct option_spec *spec = command->options; spec->long_name; spec++) {
            fish_option(command, spec, false, out);
            if (spec->kind == OPTION_NEGATABLE)
                fish_option(command, spec, true, out);
        }
        if (command->operand_choices) {
            struct text words = TEXT_INIT;
            struct option_spec spec = {.choices = command->operand_choices};
            add_words(&spec, " ", &words);
            text_addf(out, "complete -c hprofiler -f -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name,
                      words.data ? words.data : "");
            text_finish(&words);
        }
        if (command->operand_hint == HINT_SESSION)
            text_addf(out,
                      "complete -c hprofiler -f -n '__fish_seen_subcommand_from %s' -a '(__hprofiler_sessions) "
                      "(__fish_complete_directories)'\n",
                      command->name);
        if (command->takes_target)
            text_addf(out,
                      "complete -c hprofiler -x -n '__fish_seen_subcommand_from %s; and __hprofiler_has_target' -a "
                      "'(__hprofiler_target)'\n",
                      command->name);
    }
    text_add_string(out, "complete -c hprofiler -f -n '__fish_seen_subcommand_from help' -a '");
    command_names(" ", out);
    text_add_string(out, "'\n");
}
