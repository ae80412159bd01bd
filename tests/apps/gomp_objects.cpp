/* SPDX-License-Identifier: MIT */
/* OpenMP in C++: objects that tasks copy, how they are aligned, exceptions inside of regions and tasks, much data in a task. */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <stdexcept>
#include <string>

static std::atomic<long> made, copied, gone, sum, unaligned;

struct alignas(64) Wide {
    explicit Wide(int v) : value(v) { made++; }
    Wide(const Wide &other) : value(other.value), text(other.text)
    {
        copied++;
        check();
    }
    ~Wide() { gone++; }
    void check() const { unaligned += reinterpret_cast<uintptr_t>(this) % 64 != 0; }
    int value;
    std::string text = "a text that is too long to be kept in the string itself";
};

static void tasks_with_objects(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        Wide object(3);
        char small = 1;
        for (int i = 0; i < 30; i++) {
#pragma omp task firstprivate(object, small, i)
            {
                object.check();
                sum += object.value + small + i + static_cast<long>(object.text.size());
            }
#pragma omp task firstprivate(object) if (0)
            sum += object.value;
        }
    }
}

static void taskloop_with_objects(int threads)
{
    Wide object(5);
    long last = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop num_tasks(7) firstprivate(object) lastprivate(last)
    for (int i = 0; i < 70; i++) {
        object.check();
        sum += object.value;
        last = i;
    }
    sum += last;
}

struct Big {
    unsigned char bytes[96 << 10];
};

static void tasks_with_much_data(int threads)
{
    static Big big;
    for (size_t i = 0; i < sizeof big.bytes; i++)
        big.bytes[i] = static_cast<unsigned char>(i);
    Big own = big;
#pragma omp parallel num_threads(threads) firstprivate(own)
#pragma omp single
    for (int k = 0; k < 4; k++) {
        own.bytes[0] = static_cast<unsigned char>(k);
#pragma omp task firstprivate(own)
        sum += own.bytes[0] + own.bytes[1000] + own.bytes[sizeof own.bytes - 1];
    }
}

static void exceptions(int threads)
{
#pragma omp parallel num_threads(threads)
    {
        try {
#pragma omp critical
            sum += 1;
            throw std::runtime_error("inside");
        } catch (const std::exception &error) {
            sum += static_cast<long>(std::string(error.what()).size());
        }
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 5; i++) {
#pragma omp task firstprivate(i)
            {
                try {
                    if (i % 2)
                        throw i;
                } catch (int value) {
                    sum += value;
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    tasks_with_objects(threads);
    taskloop_with_objects(threads);
    tasks_with_much_data(threads);
    exceptions(threads);
    std::printf("sum %ld copies %d unaligned %ld\n", sum.load(), made + copied == gone, unaligned.load());
    return 0;
}
