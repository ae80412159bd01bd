/* SPDX-License-Identifier: MIT */
/* Memory that is filled, kept for a time, and given back. */
#include "actions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* hold MIB MS: no allocator between, so that all of it is resident, and none of it afterwards. */
static int hold_action(char **words)
{
    size_t bytes = strtoul(words[0], NULL, 10) << 20;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("mmap");
    memset(memory, 1, bytes);
    for (int ms = atoi(words[1]); ms > 0; ms -= 100)
        usleep(100000);
    munmap(memory, bytes);
    return act(words + 2);
}

const struct action memory_actions[] = {
    {"hold", 2, hold_action},
    {0},
};
