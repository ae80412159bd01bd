/* SPDX-License-Identifier: MIT */
/*
 * symbol_probe FILE [DEBUG_DIRECTORIES]: reads addresses of the file (hex, one a line) and prints its frames as
 * addr2line -f -i -a does: the address, then per frame a line "function" and a line "file:line". "problem: ..." comes first.
 */
#include "base/error.h"
#include "base/string_table.h"
#include "symbol/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct module_table *table = NULL;
    struct module *module;
    struct string_table *strings = NULL;
    struct symbolizer *symbolizer = NULL;
    struct error err = ERROR_INIT;
    if (argc < 2 || module_table_create(&table) < 0 || string_table_create(&strings) < 0 ||
        module_table_add_recorded(table, MODULE_KIND_FILE, argv[1], NULL, 0, 0, 0, &module) < 0)
        return 2;
    const struct symbolizer_options options = {.strings = strings, .debug_directories = argc > 2 ? argv[2] : NULL};
    if (symbolizer_create(&options, &symbolizer, &err) < 0)
        return 2;
    const char *problem = symbolizer_module_problem(symbolizer, module);
    if (problem)
        printf("problem: %s\n", problem);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        struct symbol_frame frames[128];
        uint64_t address = strtoull(line, NULL, 16);
        size_t count = symbolizer_resolve(symbolizer, module, address, 0, 0, frames, 128);
        printf("0x%016" PRIx64 "\n", address);
        for (size_t i = 0; i < count; i++)
            printf("%s\n%s:%u\n", string_table_text(strings, frames[i].function), string_table_text(strings, frames[i].file),
                   frames[i].line);
    }
    symbolizer_destroy(symbolizer);
    string_table_destroy(strings);
    module_table_destroy(table);
    return 0;
}
