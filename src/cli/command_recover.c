/* SPDX-License-Identifier: MIT */
/* `recover`: a trace from what an interrupted recording left; without an argument, a list of what there is. */
#include "commands.h"
#include "recording.h"

#include "base/file.h"
#include "view/units.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct recover_values {
    struct recording_values recording;
    bool keep;
};

static const struct option_spec options[] = {
    OPTION_OUTPUT,
    OPTION_SUMMARY,
    OPTION_TOP,
    OPTION_FORMAT,
    {.long_name = "keep",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct recover_values, keep),
     .help = "leave the session directory where it is"},
    {.long_name = "session-dir",
     .kind = OPTION_STRING,
     .offset = RECORDING_FIELD(session_parent),
     .value_name = "DIR",
     .hint = HINT_DIRECTORY,
     .help = "where to look for sessions when none is named [$TMPDIR and /tmp]"},
    OPTION_HELP,
    OPTION_END,
};

static void format_start(char *text, size_t size, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm local;
    if (!realtime_ns || !localtime_r(&seconds, &local) || !strftime(text, size, "%Y-%m-%d %H:%M:%S", &local))
        snprintf(text, size, "unknown");
}

static int list_text(const struct session_info *sessions, size_t count, const struct text_look *look, struct text *out)
{
    static const struct table_column columns[] = {{"started", ALIGN_LEFT, SHRINK_DROP, 0},
                                                  {"size", ALIGN_RIGHT, SHRINK_DROP, 0},
                                                  {"state", ALIGN_LEFT, SHRINK_NEVER, 0},
                                                  {"program", ALIGN_LEFT, SHRINK_END, 8},
                                                  {"session", ALIGN_LEFT, SHRINK_NEVER, 0}};
    CLEANUP(table_destroyp) struct table *table = NULL;
    if (table_create(columns, 5, &table) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        char start[32], size[32];
        format_start(start, sizeof start, sessions[i].start_realtime_ns);
        table_row(table);
        table_cell(table, start);
        table_cell(table, format_bytes(size, sizeof size, sessions[i].size_bytes));
        table_cell_styled(table, sessions[i].live ? STYLE_GOOD : STYLE_WARN,
                          sessions[i].live ? "recording" : "interrupted");
        table_cell(table, sessions[i].command);
        table_cell(table, sessions[i].path);
    }
    table_draw(table, look, 0, out);
    for (size_t i = 0; i < count; i++) {
        if (sessions[i].live)
            continue;
        text_add_string(out, "\nTo make a trace of an interrupted one: hprofiler recover ");
        text_add_word(out, sessions[i].path);
        text_add_char(out, '\n');
        break;
    }
    return 0;
}

static void list_json(const struct session_info *sessions, size_t count, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_open(&json, "sessions", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&json, NULL, '{');
        json_text(&json, "path", sessions[i].path);
        json_string(&json, "command", sessions[i].command);
        json_i64(&json, "start_realtime_ns", sessions[i].start_realtime_ns);
        json_u64(&json, "size_bytes", sessions[i].size_bytes);
        json_bool(&json, "live", sessions[i].live);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void list_csv(const struct session_info *sessions, size_t count, struct text *out)
{
    struct csv csv = {.out = out};
    text_add_string(out, "path,command,start_realtime_ns,size_bytes,live\n");
    for (size_t i = 0; i < count; i++) {
        csv_text(&csv, sessions[i].path);
        csv_text(&csv, sessions[i].command);
        csv_i64(&csv, sessions[i].start_realtime_ns);
        csv_u64(&csv, sessions[i].size_bytes);
        csv_text(&csv, sessions[i].live ? "true" : "false");
        csv_end(&csv);
    }
}

static int list(const char *parent, const struct invocation *invocation, struct error *err)
{
    CLEANUP(freep) struct session_info *sessions = NULL;
    size_t count = 0;
    struct text text = TEXT_INIT;
    int result = session_list(parent, &sessions, &count, err);
    if (result < 0)
        return result;
    if (invocation->format == OUTPUT_JSON)
        list_json(sessions, count, &text);
    else if (invocation->format == OUTPUT_CSV)
        list_csv(sessions, count, &text);
    else if (!count)
        text_add_string(&text, "No sessions were left: there is nothing to recover.\n");
    else
        text.failed |= list_text(sessions, count, &invocation->look, &text) < 0;
    return output_text(invocation->out, &text, err);
}

static int check_session(const char *directory, struct error *err)
{
    char header[PATH_MAX];
    struct stat info;
    if (stat(directory, &info) < 0)
        return error_set_errno(err, -errno, "cannot open session '%s'", directory);
    if (!S_ISDIR(info.st_mode))
        return error_set(err, -ENOTDIR, "'%s' is not a session directory: `hprofiler summary` opens a trace", directory);
    if (snprintf(header, sizeof header, "%s/session", directory) < (int)sizeof header && stat(header, &info) < 0 &&
        errno == ENOENT)
        return error_set(err, -EINVAL, "'%s' is not a session directory (its header is missing)", directory);
    return 0;
}

/* A session whose recorder still runs would be taken from under it. */
static int check_live(const char *directory, struct error *err)
{
    char full[PATH_MAX], parent[PATH_MAX + 4];
    CLEANUP(freep) struct session_info *sessions = NULL;
    struct error ignored = ERROR_INIT;
    size_t count = 0;
    if (!realpath(directory, full))
        return error_set_errno(err, -errno, "cannot open session '%s'", directory);
    snprintf(parent, sizeof parent, "%s/..", full);
    if (session_list(parent, &sessions, &count, &ignored) < 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        char other[PATH_MAX];
        if (sessions[i].live && realpath(sessions[i].path, other) && strcmp(full, other) == 0)
            return error_set(err, -EBUSY, "session '%s' is still being recorded: end its program first", directory);
    }
    return 0;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)invocation;
    return recording_check(values, err);
}

static int recover(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct recover_values *recover_values = values;
    const struct recording_values *recording = &recover_values->recording;
    struct output_file file;
    if (!invocation->operand_count)
        return list(recording->session_parent, invocation, err);
    const char *directory = invocation->operands[0];
    int code = check_session(directory, err);
    if (code == 0)
        code = check_live(directory, err);
    if (code == 0 && recording->output)
        code = output_file_prepare(recording->output, "", &file, err);
    if (code < 0)
        return code;
    struct finish_options finish = {.session_directory = directory,
                                    .file = recording->output ? &file : NULL,
                                    .keep_session = recover_values->keep,
                                    .recovering = true,
                                    .summary = recording->summary == 1,
                                    .top = recording->top};
    return recording_finish(&finish, invocation, err);
}

static const char *const operands[] = {"SESSION_DIR", NULL};

const struct command command_recover = {
    .name = "recover",
    .summary = "make a trace from what an interrupted recording left",
    .usage = "[options] [SESSION_DIR]",
    .description = "When hprofiler or the machine was stopped in the middle of a recording, the session directory "
                   "stays. recover makes the "
                   "trace of it, writes it, removes the session and prints the summary. What a watched program (run --live) wrote "
                   "to its terminal goes into a file beside the trace, named as it with .terminal. Without SESSION_DIR it lists "
                   "the sessions that "
                   "are there, those being recorded too.\n\n"
                   "What was damaged is left out, and counted in the trace's ledger.",
    .examples = "hprofiler recover\n    what is there?\n"
                "hprofiler recover /tmp/hprofiler-Ab12Cd -o saved.hpt\n    make a trace of it\n",
    .options = options,
    .values_size = sizeof(struct recover_values),
    .preset = recording_preset,
    .maximum_operands = 1,
    .operand_names = operands,
    .operand_hint = HINT_SESSION,
    .check = check,
    .run = recover,
};
