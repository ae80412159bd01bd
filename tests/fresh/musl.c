/* SPDX-License-Identifier: MIT */
/* A program for another C library: threads that allocate, fork and print, so that a preloaded guest has something to get wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *context)
{
    long sum = 0;
    for (int round = 0; round < 1000; round++) {
        char *memory = malloc((size_t)round + 1);
        if (!memory)
            return NULL;
        memset(memory, round & 0x7f, (size_t)round + 1);
        sum += memory[round];
        free(memory);
    }
    *(long *)context = sum;
    return context;
}

int main(void)
{
    long sums[4] = {0};
    pthread_t threads[4];
    for (int index = 0; index < 4; index++)
        if (pthread_create(&threads[index], NULL, work, &sums[index]) != 0)
            return 1;
    for (int index = 0; index < 4; index++)
        pthread_join(threads[index], NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status = 0;
    waitpid(child, &status, 0);
    printf("%ld %ld %d\n", sums[0], sums[3], WEXITSTATUS(status));
    return 0;
}
