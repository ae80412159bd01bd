/* SPDX-License-Identifier: MIT */
/* The System tab: what was recorded, where, how, what was lost; and the machine, if it is this one. */
#include "list_view.h"
#include "live_view.h"

#include "system/machine.h"
#include "system/restrictions.h"
#include "view/host_facts.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct grid_column columns[] = {{.title = "", .width = 26, .csv = "key"}, {.title = "", .width = 40, .csv = "value"}};

struct system_tab {
    struct list_view list;
    struct machine *machine; /* NULL: the trace is of another */
};

static void add(struct grid *grid, const char *key, const char *value, enum grid_style style)
{
    struct grid_row *row = *value ? grid_add(grid, grid->row_count + 1, style) : NULL;
    if (!row)
        return;
    row->sentence = *value != '/'; /* of a path both ends matter */
    grid_set(grid, 0, 0, key);
    grid_set(grid, 1, 0, value);
}

static void add_count(struct grid *grid, const char *key, uint64_t count)
{
    char text[32];
    if (count)
        add(grid, key, format_count(text, sizeof text, count), GRID_PLAIN);
}

/* --- the recording --------------------------------------------------------------------------------------------------- */

/* What only programs read: names of clocks and communicators. */
static bool is_internal(const char *key)
{
    static const char *const starts[] = {"mpi.comm.", "clock_domain", "start_monotonic_"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(key, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* By the wall clock of here. */
static const char *date_text(char *text, size_t size, long long realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || !strftime(text, size, "%Y-%m-%d %H:%M:%S %Z", &parts))
        text[0] = '\0';
    return text;
}

/* Numbers of nanoseconds are times. */
static void add_metadata(struct app *app, struct grid *grid, bool internal)
{
    char text[64];
    for (uint32_t i = 0; i < trace_metadata_count(app->trace); i++) {
        const char *key, *value;
        trace_metadata_at(app->trace, i, &key, &value);
        if (host_facts_have_key(key) || is_internal(key) != internal)
            continue; /* shown as the machine's */
        size_t length = strlen(key);
        char *end;
        long long number = strtoll(value, &end, 10);
        bool is_time = length > 3 && strcmp(key + length - 3, "_ns") == 0 && *value && !*end;
        bool is_date = is_time && length > 12 && strcmp(key + length - 12, "_realtime_ns") == 0;
        add(grid, strcmp(key, "start_realtime_ns") == 0 ? "started" : key, is_date ? date_text(text, sizeof text, number) : is_time && !internal ? format_duration(text, sizeof text, number) : value, GRID_PLAIN);
    }
}

static void add_contents(struct app *app, struct grid *grid)
{
    char text[32];
    uint32_t count;
    grid_heading(grid, "Trace", "what is in it");
    add(grid, "file", app->path, GRID_PLAIN);
    add(grid, "time", format_duration(text, sizeof text, app->last_ns - app->first_ns), GRID_PLAIN);
    if (live_view_incomplete(app))
        add(grid, "incomplete", live_view_incomplete(app), app->live ? GRID_PLAIN : GRID_WARN);
    trace_nodes(app->trace, &count);
    add_count(grid, "machines", count);
    trace_processes(app->trace, &count);
    add_count(grid, "processes", count);
    trace_tracks(app->trace, &count);
    add_count(grid, "lanes", count);
    add_count(grid, "spans", trace_row_count(app->trace, FAMILY_SPANS));
    add_count(grid, "samples", trace_row_count(app->trace, FAMILY_SAMPLES));
    add_count(grid, "counter values", trace_row_count(app->trace, FAMILY_COUNTERS));
    add_count(grid, "instants", trace_row_count(app->trace, FAMILY_INSTANTS));
    add_count(grid, "links", trace_row_count(app->trace, FAMILY_LINKS));
}

static void add_ledger(struct app *app, struct grid *grid)
{
    uint32_t count;
    const struct ledger_entry *ledger = trace_ledger(app->trace, &count);
    if (count)
        grid_heading(grid, "Kept and lost", "by source: all that was seen, and what is missing");
    for (uint32_t i = 0; i < count; i++) {
        char seen[32], lost[32], text[512];
        const char *reason = trace_text(app->trace, ledger[i].reason);
        snprintf(text, sizeof text, "%s seen, %s lost%s%.300s", format_count(seen, sizeof seen, ledger[i].seen),
                 format_count(lost, sizeof lost, ledger[i].lost), *reason ? ": " : "", reason);
        add(grid, trace_text(app->trace, ledger[i].source), text, ledger[i].lost ? GRID_WARN : GRID_PLAIN);
    }
}

static void add_processes(struct app *app, struct grid *grid)
{
    uint32_t count, nodes_count;
    const struct trace_process *processes = trace_processes(app->trace, &count);
    const struct trace_node *nodes = trace_nodes(app->trace, &nodes_count);
    grid_heading(grid, "Processes", "");
    for (uint32_t i = 0; i < count && i < 2000; i++) {
        char key[64], value[900], status[48] = "", rank[24] = "";
        const char *node = nodes_count > 1 && processes[i].node.index < nodes_count ? trace_text(app->trace, nodes[processes[i].node.index].name) : "";
        if (processes[i].exit_status >= 0)
            snprintf(status, sizeof status, ", exit status %d", wait_exit_status(processes[i].exit_status));
        if (processes[i].rank >= 0)
            snprintf(rank, sizeof rank, " rank %d", processes[i].rank);
        snprintf(key, sizeof key, "%d%s", processes[i].pid, rank);
        snprintf(value, sizeof value, "%.300s%s%s%.60s%s%.300s", trace_text(app->trace, processes[i].command), status, *node ? " on " : "", node,
                 processes[i].reason.index ? ": " : "", trace_text(app->trace, processes[i].reason));
        add(grid, key, value, processes[i].reason.index ? GRID_WARN : GRID_PLAIN);
    }
}

/* --- the machine ----------------------------------------------------------------------------------------------------- */

/* The boot id stands in every node's clock domain: recorded here, since the machine was started last? */
static bool is_this_machine(struct app *app)
{
    char boot[64];
    const char *domain = trace_metadata(app->trace, "clock_domain");
    return domain && proc_read_text("", "/proc/sys/kernel/random/boot_id", boot, sizeof boot) && *boot && strncmp(domain, boot, strlen(boot)) == 0;
}

static void add_host(const struct machine *machine, struct grid *grid)
{
    char text[256], number[32];
    const struct host *host = &machine->host;
    const struct topology *topology = &machine->topology;
    grid_heading(grid, "Machine", "this one: the trace was recorded here");
    add(grid, "name", host->name, GRID_PLAIN);
    add(grid, "system", host->distribution, GRID_PLAIN);
    add(grid, "kernel", host->kernel, GRID_PLAIN);
    add(grid, "processor", host->cpu_model, GRID_PLAIN);
    add(grid, "runs in", *host->container ? host->container : host->hypervisor, GRID_PLAIN);
    snprintf(text, sizeof text, "%u packages, %u cores, %u threads, %u NUMA nodes; %u usable", topology->packages, topology->cores, topology->threads,
             topology->numa_nodes, host->cpus_usable);
    add(grid, "processors", topology->threads ? text : "", GRID_PLAIN);
    for (unsigned i = 0; i < topology->cache_count; i++) {
        char key[32];
        snprintf(key, sizeof key, "L%u cache%s", topology->caches[i].level, topology->caches[i].kind == 'd' ? ", data" : topology->caches[i].kind == 'i' ? ", code" : "");
        snprintf(text, sizeof text, "%u x %s", topology->caches[i].instances, format_bytes(number, sizeof number, topology->caches[i].size_bytes));
        add(grid, key, text, GRID_PLAIN);
    }
    add(grid, "memory", host->memory_bytes ? format_bytes(number, sizeof number, host->memory_bytes) : "", GRID_PLAIN);
    add(grid, "clock", host->clocksource, GRID_PLAIN);
}

static void add_restrictions(const struct machine *machine, struct grid *grid)
{
    struct restriction_list list;
    if (restrictions_judge(machine, &list) < 0)
        return;
    grid_heading(grid, "What can be measured here", "as `hprofiler doctor` says it, with what to do");
    for (size_t i = 0; i < list.count; i++) {
        const struct restriction *item = &list.items[i];
        enum grid_style style = item->state == RESTRICTION_OK ? GRID_GOOD : item->state == RESTRICTION_LIMITED ? GRID_WARN : item->state == RESTRICTION_BLOCKED ? GRID_BAD : GRID_DIM;
        char text[1024];
        snprintf(text, sizeof text, "%s: %s", restriction_state_name(item->state), item->found);
        add(grid, item->title, text, style);
    }
    restriction_list_finish(&list);
}

static void add_machine(struct app *app, struct system_tab *tab)
{
    struct grid *grid = &tab->list.grid;
    bool known = host_facts_known(app->trace);
    if (is_this_machine(app) && (tab->machine = calloc(1, sizeof *tab->machine)))
        machine_read("", NULL, tab->machine);
    if (known) {
        grid_heading(grid, "Machine", tab->machine ? "as it was when this was recorded: the one you are on" : "as it was when this was recorded");
        host_facts_fill(app->trace, grid);
    } else if (tab->machine) {
        add_host(tab->machine, grid);
    } else {
        grid_heading(grid, "Machine", "unknown: the trace does not describe it, and it is not this one, or was started anew since");
    }
    host_facts_fill_devices(app->trace, grid);
    if (tab->machine)
        add_restrictions(tab->machine, grid);
}

/* --- the tab --------------------------------------------------------------------------------------------------------- */

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct system_tab *tab = calloc(1, sizeof *tab);
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    grid_init(&tab->list.grid, columns, 2);
    add_contents(app, &tab->list.grid);
    add_machine(app, tab);
    grid_heading(&tab->list.grid, "Recording", "as the recorder noted it");
    add_metadata(app, &tab->list.grid, false);
    add_ledger(app, &tab->list.grid);
    add_processes(app, &tab->list.grid);
    grid_heading(&tab->list.grid, "Other metadata", "what programs know clocks and communicators by");
    add_metadata(app, &tab->list.grid, true);
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct system_tab *tab = state;
    grid_finish(&tab->list.grid);
    free(tab->machine);
    free(tab);
}

static void draw(struct app *app, void *state, struct area area)
{
    struct system_tab *tab = state;
    list_draw(&tab->list, app, area);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct system_tab *tab = state;
    return action != ACTION_SORT && action != ACTION_REVERSE && list_act(&tab->list, app, action);
}

static void mouse(struct app *app, void *state, const struct input *input)
{
    struct system_tab *tab = state;
    (void)app;
    list_mouse(&tab->list, input);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct system_tab *tab = state;
    (void)changes; /* what holds for the whole run has no window */
    grid_search(&tab->list.grid, app_pattern(app));
}

const struct tab tab_system = {
    .title = "System", .short_title = "System", .place = KEYS_TEXTS, .next = {-1}, .create = create, .destroy = destroy, .draw = draw, .act = act, .mouse = mouse,
    .changed = changed, .copy = list_copy, .csv = list_csv, .is_list = true,
};
