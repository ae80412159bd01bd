/* SPDX-License-Identifier: MIT */
/* A program without MPI that runs one with it: a library with a main, which nobody else sees (RTLD_LOCAL). */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*inner)(int, char **) = NULL;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL, *found = library ? dlsym(library, "main") : NULL;
    if (!found) {
        fprintf(stderr, "host: %s\n", argc > 1 ? dlerror() : "which library?");
        return 2;
    }
    memcpy(&inner, &found, sizeof inner);
    return inner(argc - 1, argv + 1);
}
