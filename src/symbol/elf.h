/* SPDX-License-Identifier: MIT */
/*
 * A small, bounds-checked ELF reader for hostile files: headers are copied and widened to 64 bits, sections are copied
 * (and inflated) on demand. Nothing stays mapped, because a file that its owner truncates would kill us with SIGBUS.
 */
#ifndef HP_SYMBOL_ELF_H
#define HP_SYMBOL_ELF_H

#include "base/cleanup.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAXIMUM 64

struct elf_section {
    const char *name; /* in the image's name table */
    uint32_t type, link;
    uint64_t flags, address, offset, size, entry_size;
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size, memory_size;
};

struct elf_image {
    int fd;               /* borrowed; -1 when `bytes` is set */
    const uint8_t *bytes; /* borrowed */
    uint64_t size;
    bool is_64;
    uint16_t machine, type;
    uint64_t entry;
    struct elf_section *sections;
    size_t section_count;
    struct elf_segment *segments;
    size_t segment_count;
    char *names;
    uint8_t build_id[ELF_BUILD_ID_MAXIMUM];
    size_t build_id_size;
};

/* fd stays the caller's and must outlive the image. -ENOEXEC: not a little-endian ELF file; -EINVAL: damaged. */
int elf_image_open(int fd, struct elf_image **ret_image);
int elf_image_open_memory(const void *bytes, size_t size, struct elf_image **ret_image);
void elf_image_close(struct elf_image *image);
DEFINE_CLEANUP(struct elf_image *, elf_image_close)

int elf_read(const struct elf_image *image, uint64_t offset, void *buffer, size_t size); /* all of it, or -ENODATA */
const struct elf_section *elf_section_find(const struct elf_image *image, const char *name);
const struct elf_section *elf_section_of_type(const struct elf_image *image, uint32_t type);

/* A copy of a section, inflated if compressed. */
struct elf_data {
    uint8_t *bytes; /* malloc */
    size_t size;
};
int elf_section_load(const struct elf_image *image, const struct elf_section *section, struct elf_data *ret_data);
int elf_range_load(const struct elf_image *image, uint64_t offset, uint64_t size, struct elf_data *ret_data);

/* Between the file's offsets and its own addresses, by the loadable segments. false: in none of them. */
bool elf_offset_to_address(const struct elf_image *image, uint64_t offset, uint64_t *ret_address);
bool elf_address_to_offset(const struct elf_image *image, uint64_t address, uint64_t *ret_offset);
/* Copies up to size bytes found at an address of the image; returns how many. */
size_t elf_read_address(const struct elf_image *image, uint64_t address, void *buffer, size_t size);

#endif
