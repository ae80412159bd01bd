/* SPDX-License-Identifier: MIT */
/* Constructs for which GCC's code makes calls that others don't bring: reductions over tasks, scope, teams, devices, wide doacross. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long total;

static void reductions(int threads)
{
    long sum = 0, product = 1, parts = 0;
#pragma omp parallel num_threads(threads) reduction(task, + : sum)
    {
#pragma omp single
        for (int i = 0; i < 6; i++) {
#pragma omp task in_reduction(+ : sum)
            sum += i;
        }
    }
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic, 2) reduction(task, * : product)
        for (int i = 1; i < 8; i++) {
#pragma omp task in_reduction(* : product)
            product *= 2;
        }
#pragma omp for reduction(task, + : parts)
        for (int i = 0; i < 8; i++)
            parts += i;
#pragma omp sections reduction(task, + : sum)
        {
#pragma omp section
            sum += 100;
#pragma omp section
            sum += 200;
        }
    }
    total += sum + product + parts;
}

static void scopes(int threads)
{
    long sum = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp scope reduction(task, + : sum)
        sum += 5;
    }
    total += sum;
}

static void host_teams(void)
{
    int teams = 0;
#pragma omp teams num_teams(2) thread_limit(2) reduction(+ : teams)
    teams++;
    total += teams > 0;
}

static void devices(int threads)
{
    int data[16] = {0};
#pragma omp target data map(tofrom : data)
    {
#pragma omp target map(tofrom : data)
        for (int i = 0; i < 16; i++)
            data[i] = i;
#pragma omp target update from(data)
    }
#pragma omp target enter data map(to : data)
#pragma omp target exit data map(from : data)
    total += data[15] + threads * 0;
}

static void waits(int threads)
{
    long x = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        x = 7;
#pragma omp taskwait depend(in : x)
        total += x;
#pragma omp taskyield
    }
}

static void wide_doacross(int threads)
{
    static unsigned long long cells[6][6][6];
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(static, 1) ordered(3)
    for (unsigned long long i = 1; i < 6; i++)
        for (unsigned long long k = 1; k < 6; k++)
            for (unsigned long long m = 1; m < 6; m++) {
#pragma omp ordered depend(sink : i - 1, k, m) depend(sink : i, k - 1, m - 1)
                cells[i][k][m] = cells[i - 1][k][m] + cells[i][k - 1][m - 1] + 1;
#pragma omp ordered depend(source)
            }
    total += (long)cells[5][5][5];
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    reductions(threads);
    printf("reductions %ld\n", total);
    scopes(threads);
    printf("scopes %ld\n", total);
    host_teams();
    devices(threads);
    printf("devices %ld\n", total);
    waits(threads);
    wide_doacross(threads);
    printf("%ld\n", total);
    return 0;
}
