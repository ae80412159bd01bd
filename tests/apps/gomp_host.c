/* SPDX-License-Identifier: MIT */
/*
 * Opens plugins as Python opens packages: RTLD_LOCAL, each with the OpenMP runtime that it brings along. Built without OpenMP
 * itself. A plugin has int plugin_run(int): how many threads its own runtime gave to a region, once it was asked for so many.
 *
 *   gomp_host PLUGIN...       the n-th is asked for n + 1 threads
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run[8])(int);
    for (int i = 1; i < argc && i <= 8; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        void *symbol = plugin ? dlsym(plugin, "plugin_run") : NULL;
        if (!symbol) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        memcpy(&run[i - 1], &symbol, sizeof symbol);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 1; i < argc && i <= 8; i++)
            printf("%d:%d\n", i, run[i - 1](i + 1));
    return 0;
}
