/* SPDX-License-Identifier: MIT */
/* Feeds a fuzz target the files of a corpus folder, whole and cut, where libFuzzer isn't there to do it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_SEED_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly `size` bytes on the heap, so that a sanitizer sees a read beyond them. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void feed_changed(uint8_t *data, size_t size)
{
    feed(data, size);
    for (size_t cut = 1; cut <= 16; cut++) /* truncated at sixteen places */
        feed(data, size * cut / 17);
    uint32_t random = 1;
    for (int round = 0; round < 64 && size; round++) { /* one byte wrong */
        random = random * 1664525u + 1013904223u;
        uint8_t *byte = &data[(random >> 8) % size], before = *byte;
        *byte ^= (uint8_t)(1u << (random & 7));
        feed(data, size);
        *byte = before;
    }
}

static int feed_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(LARGEST_SEED_BYTES);
    size_t size = file && data ? fread(data, 1, LARGEST_SEED_BYTES, file) : 0;
    int failed = !file || !data || ferror(file);
    if (!failed)
        feed_changed(data, size);
    free(data);
    if (file)
        fclose(file);
    return failed;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "skipped: no corpus folder %s\n", argc == 2 ? argv[1] : "given");
        return 77;
    }
    unsigned fed = 0, failed = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        fed++;
        failed += (unsigned)feed_file(path);
    }
    closedir(folder);
    printf("%u seeds fed, %u could not be read\n", fed, failed);
    return !fed || failed;
}
