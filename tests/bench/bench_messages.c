/* SPDX-License-Identifier: MIT */
/*
 * What matching messages costs, in time and memory: neighbours that exchange again and again (few channels), everybody with everybody,
 * and a tag of its own for each message (as many channels as messages). Each in a process of its own.
 * bench_messages [millions of messages, default 10]
 */
#include "base/clock.h"
#include "trace/message_match.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 64

struct shape {
    const char *name;
    unsigned peers; /* that each rank sends to in turn */
    bool own_tags;
};

static void check(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "bench_messages: %s: %d\n", what, result);
    exit(1);
}

static int count_pair(void *context, const struct message_pair *pair)
{
    uint64_t *pairs = context;
    *pairs += pair->confidence == CONFIDENCE_CERTAIN;
    return 0;
}

/* Rank by rank, as the spool has them: in blocks of 1,000 postings. Each posts a send and a receive in turn. */
static void add_all(struct message_match *match, const struct shape *shape, uint64_t messages)
{
    uint64_t each = messages / RANKS;
    for (uint64_t from = 0; from < each; from += 1000)
        for (uint32_t rank = 0; rank < RANKS; rank++)
            for (uint64_t i = from; i < each && i < from + 1000; i++) {
                int32_t distance = (int32_t)(1 + i % shape->peers);
                int32_t to = ((int32_t)rank + distance) % RANKS, source = ((int32_t)rank + RANKS - distance) % RANKS;
                struct message_end end = {.process = rank, .source = (int32_t)rank, .destination = to, .tag = shape->own_tags ? (int32_t)i : 1,
                                          .order = 2 * i + 1, .bytes = 1024, .span = (uint32_t)(2 * i)};
                check(message_match_add(match, &end), "add a send");
                end.receive = true;
                end.source = source;
                end.destination = (int32_t)rank;
                end.order++;
                end.time_ns = INT64_MAX;
                check(message_match_add(match, &end), "add a receive");
            }
}

static void measure(const struct shape *shape, uint64_t messages)
{
    int64_t begin_ns = clock_process_cpu_ns();
    struct message_match *match = message_match_create();
    uint64_t pairs = 0;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        uint32_t process;
        check(message_match_add_process(match, rank, &process), "add a process");
    }
    add_all(match, shape, messages);
    int64_t added_ns = clock_process_cpu_ns();
    check(message_match_run(match, count_pair, &pairs), "match");
    int64_t end_ns = clock_process_cpu_ns();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-28s %10llu pairs   add %6.1f ns   match %6.1f ns a message   %6.0f MB, %3.0f bytes a message\n", shape->name,
           (unsigned long long)pairs, (double)(added_ns - begin_ns) / (double)messages, (double)(end_ns - added_ns) / (double)messages,
           (double)usage.ru_maxrss / 1024, (double)usage.ru_maxrss * 1024 / (double)messages);
    message_match_destroy(match);
}

int main(int argc, char **argv)
{
    static const struct shape shapes[] = {{"4 neighbours", 4, false}, {"everybody with everybody", RANKS - 1, false}, {"a tag for each", 4, true}};
    uint64_t messages = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000 / RANKS * RANKS;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        pid_t pid = fork();
        int status = 0;
        if (pid == 0) {
            measure(&shapes[i], messages);
            exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
            return 1;
    }
    return 0;
}
