/* SPDX-License-Identifier: MIT */
/*
 * A small program with known hot spots, to try the profiler on. Two threads count the solutions of the queens problem
 * by recursion, one smooths an image in a shared library, and the main thread computes a digest and then waits. Each
 * piece is timed by the program itself with its thread's CPU clock; what it prints at its end is what a profiler has to
 * find.
 */
#include "image.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUEENS_MAX 16
#define IMAGE_SIDE 512

struct piece {
    const char *name; /* of the function that does the work */
    int64_t cpu_ns;   /* measured */
    uint64_t result;  /* printed, so that no compiler leaves the work out */
};

struct queens_task {
    int size, rounds;
    struct piece piece;
};

static int64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Does a queen of an earlier row attack this place? Small enough to be inlined. */
static int is_attacked(const int *columns, int row, int column)
{
    for (int earlier = 0; earlier < row; earlier++) {
        int distance = row - earlier;
        if (columns[earlier] == column || columns[earlier] == column - distance ||
            columns[earlier] == column + distance)
            return 1;
    }
    return 0;
}

/* Places queens from `row` on: the recursion is as deep as the board. */
__attribute__((noinline)) static uint64_t place_queens(int *columns, int row, int size)
{
    uint64_t solutions = 0;
    if (row == size)
        return 1;
    for (int column = 0; column < size; column++) {
        if (is_attacked(columns, row, column))
            continue;
        columns[row] = column;
        solutions += place_queens(columns, row + 1, size);
    }
    return solutions;
}

__attribute__((noinline)) static void *solve_queens(void *context)
{
    struct queens_task *task = context;
    int columns[QUEENS_MAX];
    int64_t begin_ns = thread_cpu_ns();
    for (int round = 0; round < task->rounds; round++)
        task->piece.result += place_queens(columns, 0, task->size);
    task->piece.cpu_ns = thread_cpu_ns() - begin_ns;
    return NULL;
}

struct paint_task {
    int rounds;
    struct piece piece;
};

__attribute__((noinline)) static void *paint(void *context)
{
    struct paint_task *task = context;
    float *image = image_create(IMAGE_SIDE);
    if (!image)
        return NULL;
    int64_t begin_ns = thread_cpu_ns();
    for (int round = 0; round < task->rounds; round++)
        image_smooth(image, IMAGE_SIDE);
    task->piece.cpu_ns = thread_cpu_ns() - begin_ns;
    task->piece.result = (uint64_t)(image_mean(image, IMAGE_SIDE) * 1e6f);
    free(image);
    return NULL;
}

__attribute__((noinline)) static uint64_t digest(uint64_t rounds)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    for (uint64_t i = 0; i < rounds; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static void report(const struct piece *pieces, size_t count)
{
    int64_t total_ns = 0;
    for (size_t i = 0; i < count; i++)
        total_ns += pieces[i].cpu_ns;
    puts("The program's own measurement, by its threads' CPU clocks:");
    for (size_t i = 0; i < count; i++)
        printf("  %6.3f s  %5.1f %%  %-14s (result %llu)\n", (double)pieces[i].cpu_ns / 1e9,
               100.0 * (double)pieces[i].cpu_ns / (double)total_ns, pieces[i].name,
               (unsigned long long)pieces[i].result);
}

int main(int argc, char **argv)
{
    int scale = argc > 1 ? atoi(argv[1]) : 4;
    if (scale < 1 || scale > 1000) {
        fprintf(stderr, "usage: %s [SCALE]   1 to 1000, default 4: about two seconds on two CPUs\n", argv[0]);
        return 2;
    }
    struct queens_task solvers[2] = {{10, 30 * scale, {.name = "place_queens"}},
                                     {10, 30 * scale, {.name = "place_queens"}}};
    struct paint_task painter = {150 * scale, {.name = "image_smooth"}};
    pthread_t threads[3];
    if (pthread_create(&threads[0], NULL, solve_queens, &solvers[0]) ||
        pthread_create(&threads[1], NULL, solve_queens, &solvers[1]) ||
        pthread_create(&threads[2], NULL, paint, &painter)) {
        fputs("demo: cannot start its threads\n", stderr);
        return 1;
    }
    pthread_setname_np(threads[0], "solver-0");
    pthread_setname_np(threads[1], "solver-1");
    pthread_setname_np(threads[2], "painter");

    int64_t begin_ns = thread_cpu_ns();
    struct piece own = {.name = "digest", .result = digest(40000000ULL * (uint64_t)scale)};
    own.cpu_ns = thread_cpu_ns() - begin_ns;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);

    struct piece pieces[3] = {solvers[0].piece, painter.piece, own};
    pieces[0].cpu_ns += solvers[1].piece.cpu_ns;
    pieces[0].result += solvers[1].piece.result;
    report(pieces, 3);
    return 0;
}
