/* SPDX-License-Identifier: MIT */
/* `backends`: each backend with what this machine and this build have for it. */
#include "commands.h"

#include "base/file.h"
#include "system/backends.h"

#include <errno.h>
#include <string.h>

static const struct option_spec options[] = {OPTION_FORMAT, OPTION_HELP, OPTION_END};

static void print_json(const struct backend_list *list, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_open(&json, "backends", '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct backend_status *status = &list->items[i];
        json_open(&json, NULL, '{');
        json_text(&json, "name", status->info->name);
        json_string(&json, "alias", status->info->alias);
        json_bool(&json, "available", status->available);
        json_bool(&json, "built", status->built);
        json_string(&json, "version", status->version);
        json_string(&json, "path", status->where);
        json_string(&json, "reason", status->reason);
        json_string(&json, "remedy", status->remedy);
        json_text(&json, "traces", status->info->traces);
        json_open(&json, "others", '[');
        for (size_t other = 0; other < status->other_count; other++) {
            json_open(&json, NULL, '{');
            json_text(&json, "version", status->others[other].version);
            json_string(&json, "path", status->others[other].where);
            json_close(&json, '}');
        }
        json_close(&json, ']');
        json_open(&json, "ways", '[');
        for (size_t way = 0; way < status->way_count; way++) {
            json_open(&json, NULL, '{');
            json_text(&json, "name", status->ways[way].name);
            json_bool(&json, "works", status->ways[way].works);
            json_string(&json, "reason", status->ways[way].reason);
            json_close(&json, '}');
        }
        json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void print_csv(const struct backend_list *list, struct text *out)
{
    struct csv csv = {.out = out};
    text_add_string(out, "name,alias,available,built,version,path,reason,remedy\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct backend_status *status = &list->items[i];
        csv_text(&csv, status->info->name);
        csv_text(&csv, status->info->alias);
        csv_text(&csv, status->available ? "true" : "false");
        csv_text(&csv, status->built ? "true" : "false");
        csv_text(&csv, status->version);
        csv_text(&csv, status->where);
        csv_text(&csv, status->reason);
        csv_text(&csv, status->remedy);
        csv_end(&csv);
    }
}

static void print_one(const struct backend_status *status, const struct text_look *look, struct text *out)
{
    text_add_styled(out, look, status->available ? STYLE_GOOD : STYLE_DIM, status->available ? "yes" : "no ");
    text_add_string(out, "  ");
    text_add_styled(out, look, STYLE_BOLD, status->info->name);
    if (*status->info->alias)
        text_addf(out, " (%s)", status->info->alias);
    size_t used = strlen(status->info->name) + (*status->info->alias ? strlen(status->info->alias) + 3 : 0);
    text_addf(out, "%*s  %s\n", (int)(used < 14 ? 14 - used : 0), "", status->info->traces);
    if (*status->version) {
        text_addf(out, "     %-9s %s", "found", status->version);
        text_addf(out, *status->where ? ", %s\n" : "%s\n", status->where);
    } else {
        text_addf(out, "     %-9s %s\n", "found", "no runtime of its kind");
    }
    for (size_t i = 0; i < status->other_count; i++)
        text_addf(out, "     %-9s %s, %s\n", "also", status->others[i].version, status->others[i].where);
    for (size_t i = 0; i < status->way_count; i++) {
        const struct backend_way *way = &status->ways[i];
        text_addf(out, "     %-9s %s%s%s\n", way->name, way->works ? "works" : "does not work",
                  *way->reason ? ": " : "", way->reason);
    }
    if (*status->reason) {
        text_addf(out, "     %-9s ", "why not");
        text_add_wrapped(out, look, 15, 15, status->reason);
    }
    if (*status->remedy) {
        text_addf(out, "     %-9s ", "to do");
        text_add_wrapped(out, look, 15, 15, status->remedy);
    }
}

static int run_backends(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)values;
    struct backend_list list;
    struct text text = TEXT_INIT;
    int result = backends_detect_here(&list, err);
    if (result < 0)
        return result;
    if (invocation->format == OUTPUT_JSON)
        print_json(&list, &text);
    else if (invocation->format == OUTPUT_CSV)
        print_csv(&list, &text);
    else
        for (size_t i = 0; i < list.count; i++)
            print_one(&list.items[i], &invocation->look, &text);
    backend_list_finish(&list);
    return output_text(invocation->out, &text, err);
}

static const char *const no_operands[] = {NULL};

const struct command command_backends = {
    .name = "backends",
    .summary = "list every backend: available or not, the version found, why not, what to do",
    .usage = "[options]",
    .description =
        "Looks for what each backend needs: its collector in this build, and the runtime that it traces on this "
        "machine. "
        "Ways of CPU sampling are really tried; foreign libraries are opened in a child process of their own.",
    .examples = "hprofiler backends\n    what could be traced here\n",
    .options = options,
    .values_size = sizeof(struct common_values),
    .operand_names = no_operands,
    .run = run_backends,
};
