/* SPDX-License-Identifier: MIT */
/* Finds separate debug files and unpacks MiniDebugInfo. */
#include "debug_files.h"

#include "base/text.h"
#include "module_open.h"

#include <errno.h>
#include <string.h>
#ifdef HP_HAVE_LZMA
#include <lzma.h>
#endif

#define DEFAULT_DIRECTORIES "/usr/lib/debug"
#define UNPACKED_MAXIMUM (256u << 20)
#define LZMA_MEMORY_MAXIMUM (256u << 20)

static bool same_build_id(const struct elf_image *left, const struct elf_image *right)
{
    return left->build_id_size && left->build_id_size == right->build_id_size &&
           memcmp(left->build_id, right->build_id, left->build_id_size) == 0;
}

/* CRC-32 as .gnu_debuglink has it (the one of zip and PNG). */
static int file_crc(int fd, uint64_t size, uint32_t *ret_crc)
{
    uint32_t table[256], crc = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        table[i] = value;
    }
    uint8_t buffer[65536];
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(fd, buffer, sizeof buffer, (off_t)done);
        if (got <= 0)
            return -EIO;
        for (ssize_t i = 0; i < got; i++)
            crc = table[(crc ^ buffer[i]) & 0xff] ^ crc >> 8;
        done += (uint64_t)got;
    }
    *ret_crc = ~crc;
    return 0;
}

/* Where the module's process lives in another mount namespace, its debug files may be there too. */
static int open_somewhere(const struct module *module, const char *path)
{
    int fd = module_open_in_root("/", path);
    if (fd < 0 && module->pid > 0) {
        char root[48];
        snprintf(root, sizeof root, "/proc/%d/root", (int)module->pid);
        fd = module_open_in_root(root, path);
    }
    return fd;
}

static int try_file(const struct module *module, const struct elf_image *image, const char *path, const uint32_t *crc)
{
    CLEANUP(closep) int fd = open_somewhere(module, path);
    if (fd < 0)
        return -ENOENT;
    CLEANUP(elf_image_closep) struct elf_image *candidate = NULL;
    if (elf_image_open(fd, &candidate) < 0)
        return -ENOENT;
    if (same_build_id(image, candidate))
        return TAKE_FD(fd);
    uint32_t actual;
    if (crc && candidate->build_id_size == 0 && file_crc(fd, candidate->size, &actual) == 0 && actual == *crc)
        return TAKE_FD(fd);
    return -ENOENT;
}

static int try_build_id(const struct module *module, const struct elf_image *image, const char *directory)
{
    struct text path = TEXT_INIT;
    text_addf(&path, "%s/.build-id/%02x/", directory, image->build_id[0]);
    for (size_t i = 1; i < image->build_id_size; i++)
        text_addf(&path, "%02x", image->build_id[i]);
    text_add_string(&path, ".debug");
    int fd = path.failed ? -ENOMEM : try_file(module, image, path.data, NULL);
    text_finish(&path);
    return fd;
}

/* .gnu_debuglink: a file name, padded to 4 bytes, then the file's CRC. */
static bool debug_link(const struct elf_image *image, char *name, size_t size, uint32_t *ret_crc)
{
    const struct elf_section *section = elf_section_find(image, ".gnu_debuglink");
    struct elf_data data;
    if (!section || section->size > 4096 || elf_section_load(image, section, &data) < 0)
        return false;
    CLEANUP(freep) uint8_t *owned = data.bytes;
    size_t length = strnlen((const char *)data.bytes, data.size), at = (length + 4) & ~(size_t)3;
    /* The name comes from the file: it must be a name, not a way out of the directories that are searched. */
    if (length == 0 || length >= size || at + 4 > data.size || memchr(data.bytes, '/', length))
        return false;
    memcpy(name, data.bytes, length);
    name[length] = '\0';
    memcpy(ret_crc, data.bytes + at, sizeof *ret_crc);
    return true;
}

static int try_link(const struct module *module, const struct elf_image *image, const char *directory, bool beside)
{
    char name[1024];
    uint32_t crc;
    const char *slash = strrchr(module->path, '/');
    if (!slash || !debug_link(image, name, sizeof name, &crc))
        return -ENOENT;
    int length = (int)(slash - module->path), fd = -ENOENT;
    for (size_t i = 0; fd < 0 && i < (beside ? 2 : 1); i++) {
        struct text path = TEXT_INIT;
        text_addf(&path, i ? "%s%.*s/.debug/%s" : "%s%.*s/%s", beside ? "" : directory, length, module->path, name);
        fd = path.failed ? -ENOMEM : try_file(module, image, path.data, &crc);
        text_finish(&path);
    }
    return fd;
}

int debug_file_find(struct module *module, const char *directories)
{
    const struct elf_image *image = module_elf(module);
    if (!image)
        return -ENOENT;
    CLEANUP(freep) char *list = strdup(directories ? directories : DEFAULT_DIRECTORIES);
    if (!list)
        return -ENOMEM;
    int fd = -ENOENT;
    char *position = NULL;
    for (char *directory = strtok_r(list, ":", &position); directory && fd < 0; directory = strtok_r(NULL, ":", &position)) {
        if (image->build_id_size > 1)
            fd = try_build_id(module, image, directory);
        if (fd < 0)
            fd = try_link(module, image, directory, false);
    }
    return fd < 0 ? try_link(module, image, "", true) : fd;
}

#ifdef HP_HAVE_LZMA

static int unpack(lzma_stream *stream, const struct elf_data *packed, uint8_t **ret_bytes, size_t *ret_size)
{
    CLEANUP(freep) uint8_t *bytes = NULL;
    stream->next_in = packed->bytes;
    stream->avail_in = packed->size;
    for (size_t capacity = 1u << 20; capacity <= UNPACKED_MAXIMUM; capacity *= 2) {
        uint8_t *moved = realloc(bytes, capacity);
        if (!moved)
            return -ENOMEM;
        bytes = moved;
        stream->next_out = bytes + stream->total_out;
        stream->avail_out = capacity - stream->total_out;
        lzma_ret rc = lzma_code(stream, LZMA_FINISH);
        if (rc == LZMA_STREAM_END) {
            *ret_size = stream->total_out;
            *ret_bytes = TAKE_PTR(bytes);
            return 0;
        }
        if ((rc != LZMA_OK && rc != LZMA_BUF_ERROR) || stream->avail_out != 0)
            return -EINVAL;
    }
    return -EFBIG;
}

int debug_data_unpack(const struct elf_image *image, uint8_t **ret_bytes, size_t *ret_size)
{
    const struct elf_section *section = elf_section_find(image, ".gnu_debugdata");
    struct elf_data packed;
    if (!section || elf_section_load(image, section, &packed) < 0)
        return -ENOENT;
    lzma_stream stream = LZMA_STREAM_INIT;
    int rc = -ENOMEM;
    if (lzma_stream_decoder(&stream, LZMA_MEMORY_MAXIMUM, 0) == LZMA_OK)
        rc = unpack(&stream, &packed, ret_bytes, ret_size);
    lzma_end(&stream);
    free(packed.bytes);
    return rc;
}

#else

int debug_data_unpack(const struct elf_image *image, uint8_t **ret_bytes, size_t *ret_size)
{
    return -EOPNOTSUPP;
}

#endif
