/* SPDX-License-Identifier: MIT */
/* Loads a library that uses NCCL as Python loads an extension: where names do not reach. Its path is the argument. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments)
{
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL, *found = library ? dlsym(library, "nccl_user_run") : NULL;
    int (*run)(void) = NULL;
    if (!found) {
        fprintf(stderr, "nccl_opens: %s\n", dlerror());
        return 1;
    }
    memcpy(&run, &found, sizeof found);
    return run();
}
