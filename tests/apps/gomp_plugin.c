/* SPDX-License-Identifier: MIT */
/* A plugin of gomp_host: a region, a critical block, tasks, by whichever libgomp it is linked with. */
#include <omp.h>

int plugin_run(int threads)
{
    int seen = 0;
    omp_set_num_threads(threads);
#pragma omp parallel shared(seen)
    {
#pragma omp critical
        seen++;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 3; i++) {
#pragma omp task
            omp_get_thread_num();
        }
    }
    return seen;
}
