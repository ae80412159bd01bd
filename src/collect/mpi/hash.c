/* SPDX-License-Identifier: MIT */
/* Hashes that make identities: every process computes the same from the same. None gives 0, which means "unknown". */
#include "mpi_collector.h"

uint64_t mpi_hash(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ 0x2545f4914f6cdd1dull) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ hash >> 32 ^ b) * 0xd6e8feb86659fd93ull;
    hash = (hash ^ hash >> 29) * 0x94d049bb133111ebull;
    hash ^= hash >> 32;
    return hash ? hash : 1;
}

uint64_t mpi_hash_ranks(const int32_t *ranks, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++)
        hash = mpi_hash(hash, (uint64_t)(int64_t)ranks[i]);
    return hash;
}

uint64_t mpi_hash_text(const char *text)
{
    uint64_t hash = 1;
    for (; *text; text++)
        hash = mpi_hash(hash, (uint8_t)*text);
    return hash;
}
