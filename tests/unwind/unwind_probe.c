/* SPDX-License-Identifier: MIT */
/*
 * Unwinds what a debugger has stopped, for comparison with the debugger's own backtrace. Requests on stdin, one a line:
 *   PID STACK_ADDRESS VALID REGISTER... STACK_HEX      (17 registers in DWARF order, all numbers in hex)
 * Answers on stdout: "RUN_ADDRESS FUNCTION" per frame, then "end REASON".
 */
#include "base/error.h"
#include "base/string_table.h"
#include "symbol/symbolizer.h"
#include "symbol/unwind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 512
#define X86_REGISTERS 17

struct probe {
    struct module_table *table;
    struct unwinder *unwinder;
    struct symbolizer *symbolizer;
    struct string_table *strings;
};

static int hex_value(char digit)
{
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

static bool request_parse(char *line, int *pid, struct unwind_sample *sample, uint8_t *stack)
{
    char *at = line;
    *pid = (int)strtol(at, &at, 16);
    sample->stack_address = strtoull(at, &at, 16);
    sample->registers.valid = strtoull(at, &at, 16);
    for (int i = 0; i < X86_REGISTERS; i++)
        sample->registers.values[i] = strtoull(at, &at, 16);
    at += *at == ' ';
    size_t length = strcspn(at, "\n");
    for (size_t i = 0; i + 1 < length; i += 2)
        stack[sample->stack_size++] = (uint8_t)(hex_value(at[i]) << 4 | hex_value(at[i + 1]));
    sample->stack = stack;
    return *pid > 0;
}

static int answer(struct probe *probe, char *line, uint8_t *stack)
{
    int pid;
    struct unwind_sample sample = {.registers.arch = UNWIND_X86_64};
    struct error err = ERROR_INIT;
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    if (!request_parse(line, &pid, &sample, stack))
        return -1;
    if (address_map_create(probe->table, pid, &map) < 0 || address_map_load(map, &err) < 0) {
        fprintf(stderr, "unwind_probe: %s\n", err.text);
        return -1;
    }
    struct unwind_frame frames[FRAMES];
    enum unwind_end end;
    size_t count = unwind(probe->unwinder, map, &sample, frames, FRAMES, &end);
    for (size_t i = 0; i < count; i++) {
        struct symbol_frame names[64];
        size_t named = symbolizer_resolve(probe->symbolizer, frames[i].module, frames[i].address, pid, 0, names, 64);
        printf("%" PRIx64 " %s\n", frames[i].run_address, string_table_text(probe->strings, names[named - 1].function));
    }
    printf("end %s\n", unwind_end_name(end));
    fflush(stdout);
    return 0;
}

int main(void)
{
    struct probe probe = {0};
    struct error err = ERROR_INIT;
    if (module_table_create(&probe.table) < 0 || unwinder_create(&probe.unwinder) < 0 ||
        string_table_create(&probe.strings) < 0)
        return 1;
    const struct symbolizer_options options = {.strings = probe.strings, .no_debuginfod = true};
    if (symbolizer_create(&options, &probe.symbolizer, &err) < 0)
        return 1;
    char *line = NULL;
    size_t capacity = 0;
    int rc = 0;
    for (ssize_t length; rc == 0 && (length = getline(&line, &capacity, stdin)) > 0;) {
        uint8_t *stack = malloc((size_t)length);
        rc = stack ? answer(&probe, line, stack) : -1;
        free(stack);
    }
    free(line);
    symbolizer_destroy(probe.symbolizer);
    string_table_destroy(probe.strings);
    unwinder_destroy(probe.unwinder);
    module_table_destroy(probe.table);
    return rc < 0;
}
