/* SPDX-License-Identifier: MIT */
/* `doctor`: what can't be measured on this machine, why, and who can change it. */
#include "commands.h"

#include "base/file.h"
#include "system/restrictions.h"
#include "view/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct doctor_values {
    struct common_values common;
    const char *session_parent;
};

static const struct option_spec options[] = {
    {.long_name = "session-dir",
     .kind = OPTION_STRING,
     .offset = offsetof(struct doctor_values, session_parent),
     .value_name = "DIR",
     .hint = HINT_DIRECTORY,
     .help = "judge this place for session directories [$TMPDIR, else /tmp]"},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

static void print_json(const struct machine *machine, const struct restriction_list *list, struct text *out)
{
    const struct host *host = &machine->host;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_open(&json, "host", '{');
    json_string(&json, "name", host->name);
    json_string(&json, "distribution", host->distribution);
    json_string(&json, "kernel", host->kernel);
    json_string(&json, "architecture", host->architecture);
    json_string(&json, "cpu_model", host->cpu_model);
    json_u64(&json, "cpus_online", host->cpus_online);
    json_u64(&json, "cpus_usable", host->cpus_usable);
    json_u64(&json, "memory_bytes", host->memory_bytes);
    json_string(&json, "hypervisor", host->hypervisor);
    json_string(&json, "container", host->container);
    json_close(&json, '}');
    json_open(&json, "checks", '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct restriction *item = &list->items[i];
        json_open(&json, NULL, '{');
        json_text(&json, "check", item->id);
        json_text(&json, "state", restriction_state_name(item->state));
        json_string(&json, "found", item->found);
        json_string(&json, "cost", item->cost);
        json_string(&json, "who", item->who);
        json_string(&json, "remedy", item->remedy);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void print_csv(const struct restriction_list *list, struct text *out)
{
    struct csv csv = {.out = out};
    text_add_string(out, "check,state,found,cost,who,remedy\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct restriction *item = &list->items[i];
        csv_text(&csv, item->id);
        csv_text(&csv, restriction_state_name(item->state));
        csv_text(&csv, item->found);
        csv_text(&csv, item->cost);
        csv_text(&csv, item->who);
        csv_text(&csv, item->remedy);
        csv_end(&csv);
    }
}

static void print_host(const struct machine *machine, const struct text_look *look, struct text *out)
{
    const struct host *host = &machine->host;
    const struct topology *topology = &machine->topology;
    char memory[32], title[640];
    snprintf(title, sizeof title, "%s: %s, Linux %s, %s", host->name,
             host->distribution[0] ? host->distribution : "unknown distribution", host->kernel, host->architecture);
    text_add_styled(out, look, STYLE_BOLD, title);
    text_addf(out, "\n%s, %u of %u CPUs usable", host->cpu_model[0] ? host->cpu_model : "unknown processor",
              host->cpus_usable, host->cpus_online);
    if (topology->cores)
        text_addf(out, " (%u package%s, %u core%s, %u thread%s)", topology->packages,
                  topology->packages == 1 ? "" : "s", topology->cores, topology->cores == 1 ? "" : "s",
                  topology->threads, topology->threads == 1 ? "" : "s");
    text_addf(out, ", %s", format_bytes(memory, sizeof memory, host->memory_bytes));
    if (host->hypervisor[0])
        text_addf(out, "; virtual machine (%s)", host->hypervisor);
    if (host->container[0])
        text_addf(out, "; container (%s)", host->container);
    text_add_string(out, "\n");
}

static void print_field(const char *name, const char *value, const struct text_look *look, struct text *out)
{
    if (!*value)
        return;
    text_add_string(out, "      ");
    text_add_styled(out, look, STYLE_DIM, name);
    for (size_t length = strlen(name); length < 8; length++)
        text_add_char(out, ' ');
    text_add_wrapped(out, look, 14, 14, value);
}

/* A remedy is a command: it is never wrapped, so that it can be copied. */
static void print_remedy(const char *remedy, const struct text_look *look, struct text *out)
{
    const char *name = "how";
    while (*remedy) {
        size_t length = strcspn(remedy, "\n");
        text_add_string(out, "      ");
        text_add_styled(out, look, STYLE_DIM, name);
        text_addf(out, "%*s%.*s\n", (int)(8 - strlen(name)), "", (int)length, remedy);
        name = "";
        remedy += length + (remedy[length] == '\n');
    }
}

static void print_limits(const struct restriction_list *list, const struct text_look *look, struct text *out)
{
    static const enum restriction_state order[] = {RESTRICTION_BLOCKED, RESTRICTION_LIMITED, RESTRICTION_UNKNOWN};
    static const enum text_style styles[] = {STYLE_BAD, STYLE_WARN, STYLE_WARN};
    for (size_t pass = 0; pass < sizeof order / sizeof *order; pass++) {
        for (size_t i = 0; i < list->count; i++) {
            const struct restriction *item = &list->items[i];
            if (item->state != order[pass])
                continue;
            text_add_string(out, "\n");
            text_add_styled(out, look, styles[pass], restriction_state_name(item->state));
            text_addf(out, "%*s", (int)(9 - strlen(restriction_state_name(item->state))), "");
            text_add_styled(out, look, STYLE_BOLD, item->title);
            text_add_string(out, ": ");
            text_add_wrapped(out, look, 11 + (unsigned)strlen(item->title), 14, item->found);
            print_field("costs", item->cost, look, out);
            print_field("who", item->who, look, out);
            print_remedy(item->remedy, look, out);
        }
    }
}

static void print_fine(const struct restriction_list *list, const struct text_look *look, struct text *out)
{
    unsigned widest = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == RESTRICTION_OK && strlen(list->items[i].title) > widest)
            widest = (unsigned)strlen(list->items[i].title);
    text_add_string(out, "\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct restriction *item = &list->items[i];
        if (item->state != RESTRICTION_OK)
            continue;
        text_add_styled(out, look, STYLE_GOOD, "ok");
        text_addf(out, "%7s%s%*s", "", item->title, (int)(widest - strlen(item->title)) + 2, "");
        text_add_wrapped(out, look, 9 + widest + 2, 9 + widest + 2, item->found);
    }
}

static void print_verdict(const struct machine *machine, const struct text_look *look, struct text *out)
{
    const struct sampling_probe *probe = &machine->probe;
    const char *verdict = probe->cycles.works      ? "CPU sampling works here, by hardware cycles."
                          : probe->cpu_clock.works ? "CPU sampling works here, by the kernel's cpu-clock."
                          : probe->timers.works && machine->runtime_library
                              ? "The kernel refuses to sample; timers in the target do it, with less to see."
                              : "CPU sampling does not work here: see what is blocked above.";
    text_add_string(out, "\n");
    text_add_wrapped(out, look, 0, 0, verdict);
}

static int run_doctor(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct doctor_values *doctor = values;
    struct restriction_list list;
    struct text text = TEXT_INIT;
    CLEANUP(freep) struct machine *machine = malloc(sizeof *machine);
    if (!machine)
        return error_set(err, -ENOMEM, "out of memory");
    machine_read("", doctor->session_parent, machine);
    int result = restrictions_judge(machine, &list);
    if (result < 0)
        return error_set_errno(err, result, "cannot judge this machine");
    if (invocation->format == OUTPUT_JSON) {
        print_json(machine, &list, &text);
    } else if (invocation->format == OUTPUT_CSV) {
        print_csv(&list, &text);
    } else {
        print_host(machine, &invocation->look, &text);
        print_limits(&list, &invocation->look, &text);
        print_fine(&list, &invocation->look, &text);
        print_verdict(machine, &invocation->look, &text);
    }
    restriction_list_finish(&list);
    return output_text(invocation->out, &text, err);
}

static const char *const no_operands[] = {NULL};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "say what can't be measured on this machine, why, and who can change it",
    .usage = "[options]",
    .description =
        "Tries each way of sampling for a few milliseconds, reads the settings and limits that bound a profiler, and "
        "says for "
        "each restriction what it costs, who can lift it and by which command. What is fine is listed last.\n\n"
        "States: ok (no restriction), limited (something is not measured), blocked (a way of measuring is closed), "
        "unknown "
        "(it could not be read). The exit status is 0 whatever was found.",
    .examples = "hprofiler doctor\n    all checks of this machine\n"
                "hprofiler doctor --format json | jq '.checks[] | select(.state != \"ok\")'\n    what is limited, for "
                "a program\n",
    .options = options,
    .values_size = sizeof(struct doctor_values),
    .operand_names = no_operands,
    .run = run_doctor,
};
