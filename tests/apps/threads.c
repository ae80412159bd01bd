/* SPDX-License-Identifier: MIT */
/* Many threads, short and long. */
#include "actions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_uint threads_done;
static pthread_barrier_t all_here;

static void *burner(void *argument)
{
    pthread_barrier_wait(&all_here);
    burn((unsigned)(uintptr_t)argument);
    atomic_fetch_add(&threads_done, 1);
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    if (pthread_create(thread, &small, run, argument))
        give_up("pthread_create");
    pthread_attr_destroy(&small);
}

/* threads N MS REST: N threads alive at once, each burning MS. */
static int threads(char **words)
{
    unsigned count = (unsigned)atoi(words[0]);
    pthread_t *all = calloc(count, sizeof *all);
    if (!all || pthread_barrier_init(&all_here, NULL, count))
        give_up("threads");
    for (unsigned index = 0; index < count; index++)
        start(&all[index], burner, (void *)(uintptr_t)atoi(words[1]));
    for (unsigned index = 0; index < count; index++)
        pthread_join(all[index], NULL);
    free(all);
    printf("threads: %u\n", atomic_load(&threads_done));
    return act(words + 2);
}

static void *nothing(void *argument)
{
    atomic_fetch_add(&threads_done, 1);
    return argument;
}

/* churn N REST: N threads one after another. */
static int churn(char **words)
{
    for (int left = atoi(words[0]); left > 0; left--) {
        pthread_t thread;
        start(&thread, nothing, NULL);
        pthread_join(thread, NULL);
    }
    printf("churn: %u\n", atomic_load(&threads_done));
    return act(words + 1);
}

const struct action thread_actions[] = {{"threads", 2, threads}, {"churn", 1, churn}, {0}};
