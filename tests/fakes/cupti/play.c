/* SPDX-License-Identifier: MIT */
/* A program that uses CUDA, as far as the collector can tell: loads it as the driver would, and has a recorded run played. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "play: no %s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

int main(void)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH"), *fake = getenv("HPROFILER_CUPTI");
    if (!injection || !fake) {
        fprintf(stderr, "play: CUDA_INJECTION64_PATH and HPROFILER_CUPTI must be set\n");
        return 1;
    }
    int (*start)(void), (*play)(void);
    void *found = find(dlopen(injection, RTLD_NOW), "InitializeInjection");
    memcpy(&start, &found, sizeof found);
    if (start() != 1)
        return 1;
    found = find(dlopen(fake, RTLD_NOW), "cupti_fake_play");
    memcpy(&play, &found, sizeof found);
    return play();
}
