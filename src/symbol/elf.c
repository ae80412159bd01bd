/* SPDX-License-Identifier: MIT */
/* Reads ELF headers, notes and sections with every length checked against the file's. */
#include "elf.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#ifdef HP_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HP_HAVE_ZSTD
#include <zstd.h>
#endif

/* Chosen far above real files (clang with debug info: 60 sections, 40 MB symbol table), low enough to bound damage. */
#define SECTION_MAXIMUM (1u << 20)
#define SEGMENT_MAXIMUM (1u << 12)
#define INFLATED_MAXIMUM (2ull << 30)
#define NOTE_SIZE_MAXIMUM (1u << 16)

/* Section type that older <elf.h> does not name. */
#define COMPRESS_ZSTD 2

int elf_read(const struct elf_image *image, uint64_t offset, void *buffer, size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return -ENODATA;
    if (image->bytes) {
        memcpy(buffer, image->bytes + offset, size);
        return 0;
    }
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(image->fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        done += (size_t)got;
    }
    return 0;
}

int elf_range_load(const struct elf_image *image, uint64_t offset, uint64_t size, struct elf_data *ret_data)
{
    if (offset > image->size || size > image->size - offset)
        return -EINVAL;
    CLEANUP(freep) uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        return -ENOMEM;
    int rc = elf_read(image, offset, bytes, size);
    if (rc < 0)
        return rc;
    ret_data->bytes = TAKE_PTR(bytes);
    ret_data->size = size;
    return 0;
}

struct file_header {
    uint64_t entry, segments_offset, sections_offset;
    uint16_t type, machine, segment_size, section_size;
    uint32_t segment_count, section_count, names_index;
};

#define COPY_HEADER(source, header)                                                                                    \
    (*(header) = (struct file_header){.entry = (source).e_entry,                                                       \
                                      .segments_offset = (source).e_phoff,                                             \
                                      .sections_offset = (source).e_shoff,                                             \
                                      .type = (source).e_type,                                                         \
                                      .machine = (source).e_machine,                                                   \
                                      .segment_size = (source).e_phentsize,                                            \
                                      .section_size = (source).e_shentsize,                                            \
                                      .segment_count = (source).e_phnum,                                               \
                                      .section_count = (source).e_shnum,                                               \
                                      .names_index = (source).e_shstrndx})

static int header_read(struct elf_image *image, struct file_header *header)
{
    unsigned char ident[EI_NIDENT];
    if (elf_read(image, 0, ident, sizeof ident) < 0 || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
        ident[EI_DATA] != ELFDATA2LSB)
        return -ENOEXEC;
    if (ident[EI_CLASS] == ELFCLASS64) {
        Elf64_Ehdr wide;
        if (elf_read(image, 0, &wide, sizeof wide) < 0)
            return -ENOEXEC;
        COPY_HEADER(wide, header);
        image->is_64 = true;
    } else if (ident[EI_CLASS] == ELFCLASS32) {
        Elf32_Ehdr narrow;
        if (elf_read(image, 0, &narrow, sizeof narrow) < 0)
            return -ENOEXEC;
        COPY_HEADER(narrow, header);
    } else {
        return -ENOEXEC;
    }
    image->entry = header->entry;
    image->type = header->type;
    image->machine = header->machine;
    return 0;
}

static int section_read(const struct elf_image *image, const struct file_header *header, uint32_t index,
                        struct elf_section *section, uint32_t *ret_name)
{
    uint64_t offset;
    if (__builtin_add_overflow(header->sections_offset, (uint64_t)index * header->section_size, &offset))
        return -EINVAL;
    if (image->is_64) {
        Elf64_Shdr raw;
        if (header->section_size < sizeof raw || elf_read(image, offset, &raw, sizeof raw) < 0)
            return -EINVAL;
        *section = (struct elf_section){.name = "", .type = raw.sh_type, .link = raw.sh_link, .flags = raw.sh_flags,
                                        .address = raw.sh_addr, .offset = raw.sh_offset, .size = raw.sh_size,
                                        .entry_size = raw.sh_entsize};
        *ret_name = raw.sh_name;
    } else {
        Elf32_Shdr raw;
        if (header->section_size < sizeof raw || elf_read(image, offset, &raw, sizeof raw) < 0)
            return -EINVAL;
        *section = (struct elf_section){.name = "", .type = raw.sh_type, .link = raw.sh_link, .flags = raw.sh_flags,
                                        .address = raw.sh_addr, .offset = raw.sh_offset, .size = raw.sh_size,
                                        .entry_size = raw.sh_entsize};
        *ret_name = raw.sh_name;
    }
    return 0;
}

static int names_load(struct elf_image *image, uint32_t index, const uint32_t *offsets)
{
    if (index >= image->section_count || image->sections[index].type == SHT_NOBITS)
        return 0;
    struct elf_data data;
    const struct elf_section *names = &image->sections[index];
    if (names->size == 0 || elf_range_load(image, names->offset, names->size, &data) < 0)
        return 0; /* a file without section names is odd, but usable */
    data.bytes[data.size - 1] = '\0';
    image->names = (char *)data.bytes;
    for (size_t i = 0; i < image->section_count; i++)
        if (offsets[i] < data.size)
            image->sections[i].name = image->names + offsets[i];
    return 0;
}

static int sections_read(struct elf_image *image, const struct file_header *header)
{
    if (header->sections_offset == 0)
        return 0;
    struct elf_section first;
    uint32_t name, count = header->section_count, names_index = header->names_index;
    if (section_read(image, header, 0, &first, &name) < 0)
        return 0; /* stripped of its section table, or cut: the segments still serve */
    if (count == 0)
        count = first.size > SECTION_MAXIMUM ? SECTION_MAXIMUM : (uint32_t)first.size;
    if (names_index == SHN_XINDEX)
        names_index = first.link;
    if (header->section_size == 0 || count > (image->size - header->sections_offset) / header->section_size)
        return 0;
    CLEANUP(freep) uint32_t *name_offsets = calloc(count ? count : 1, sizeof *name_offsets);
    image->sections = calloc(count ? count : 1, sizeof *image->sections);
    if (!image->sections || !name_offsets)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++, image->section_count++)
        if (section_read(image, header, i, &image->sections[i], &name_offsets[i]) < 0)
            return -EINVAL;
    return names_load(image, names_index, name_offsets);
}

static int segment_read(const struct elf_image *image, uint64_t offset, size_t entry_size, struct elf_segment *segment)
{
    if (image->is_64) {
        Elf64_Phdr raw;
        if (entry_size < sizeof raw || elf_read(image, offset, &raw, sizeof raw) < 0)
            return -EINVAL;
        *segment = (struct elf_segment){raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz};
    } else {
        Elf32_Phdr raw;
        if (entry_size < sizeof raw || elf_read(image, offset, &raw, sizeof raw) < 0)
            return -EINVAL;
        *segment = (struct elf_segment){raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz};
    }
    return 0;
}

static int segments_read(struct elf_image *image, const struct file_header *header)
{
    uint32_t count = header->segment_count > SEGMENT_MAXIMUM ? SEGMENT_MAXIMUM : header->segment_count;
    if (header->segments_offset == 0 || count == 0)
        return 0;
    image->segments = calloc(count, sizeof *image->segments);
    if (!image->segments)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++, image->segment_count++) {
        uint64_t offset;
        if (__builtin_add_overflow(header->segments_offset, (uint64_t)i * header->segment_size, &offset) ||
            segment_read(image, offset, header->segment_size, &image->segments[i]) < 0)
            return -EINVAL;
    }
    return 0;
}

static bool build_id_take(struct elf_image *image, uint64_t offset, uint64_t size)
{
    if (size > NOTE_SIZE_MAXIMUM)
        size = NOTE_SIZE_MAXIMUM;
    struct elf_data notes = {0};
    if (size < sizeof(Elf64_Nhdr) || elf_range_load(image, offset, size, &notes) < 0)
        return false;
    bool found = false;
    for (size_t at = 0; !found && notes.size - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, notes.bytes + at, sizeof note);
        at += sizeof note;
        uint64_t name_size = ((uint64_t)note.n_namesz + 3) & ~3ull, data_size = ((uint64_t)note.n_descsz + 3) & ~3ull;
        if (name_size > notes.size - at || note.n_descsz > notes.size - at - name_size)
            break;
        const uint8_t *name = notes.bytes + at, *data = name + name_size;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= ELF_BUILD_ID_MAXIMUM) {
            memcpy(image->build_id, data, note.n_descsz);
            image->build_id_size = note.n_descsz;
            found = true;
        }
        if (data_size > notes.size - at - name_size)
            break;
        at += name_size + data_size;
    }
    free(notes.bytes);
    return found;
}

static void build_id_read(struct elf_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].type == PT_NOTE &&
            build_id_take(image, image->segments[i].offset, image->segments[i].file_size))
            return;
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].type == SHT_NOTE &&
            build_id_take(image, image->sections[i].offset, image->sections[i].size))
            return;
}

static int image_load(struct elf_image *image)
{
    struct file_header header;
    int rc = header_read(image, &header);
    if (rc < 0)
        return rc;
    rc = segments_read(image, &header);
    if (rc == 0)
        rc = sections_read(image, &header);
    if (rc == 0)
        build_id_read(image);
    return rc;
}

static int image_create(int fd, const void *bytes, uint64_t size, struct elf_image **ret_image)
{
    CLEANUP(elf_image_closep) struct elf_image *image = calloc(1, sizeof *image);
    if (!image)
        return -ENOMEM;
    image->fd = fd;
    image->bytes = bytes;
    image->size = size;
    int rc = image_load(image);
    if (rc < 0)
        return rc;
    *ret_image = TAKE_PTR(image);
    return 0;
}

int elf_image_open(int fd, struct elf_image **ret_image)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -ENOEXEC;
    return image_create(fd, NULL, (uint64_t)status.st_size, ret_image);
}

int elf_image_open_memory(const void *bytes, size_t size, struct elf_image **ret_image)
{
    return image_create(-1, bytes, size, ret_image);
}

void elf_image_close(struct elf_image *image)
{
    if (!image)
        return;
    free(image->sections);
    free(image->segments);
    free(image->names);
    free(image);
}

const struct elf_section *elf_section_find(const struct elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (strcmp(image->sections[i].name, name) == 0)
            return &image->sections[i];
    return NULL;
}

const struct elf_section *elf_section_of_type(const struct elf_image *image, uint32_t type)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].type == type)
            return &image->sections[i];
    return NULL;
}

#ifdef HP_HAVE_ZLIB
static int expand_zlib(const uint8_t *source, size_t source_size, uint8_t *target, size_t target_size)
{
    uLongf length = target_size;
    int rc = uncompress(target, &length, source, source_size);
    return rc == Z_OK && length == target_size ? 0 : -EINVAL;
}
#else
static int expand_zlib(const uint8_t *source, size_t source_size, uint8_t *target, size_t target_size)
{
    return -EOPNOTSUPP;
}
#endif

#ifdef HP_HAVE_ZSTD
static int expand_zstd(const uint8_t *source, size_t source_size, uint8_t *target, size_t target_size)
{
    return ZSTD_decompress(target, target_size, source, source_size) == target_size ? 0 : -EINVAL;
}
#else
static int expand_zstd(const uint8_t *source, size_t source_size, uint8_t *target, size_t target_size)
{
    return -EOPNOTSUPP;
}
#endif

static int expand(uint32_t method, const uint8_t *source, size_t source_size, uint64_t size, struct elf_data *ret_data)
{
    /* 1032:1 is deflate's ceiling; zstd's is higher, but no debug section comes near this. */
    if (size > INFLATED_MAXIMUM || size / 4096 > source_size)
        return -EINVAL;
    CLEANUP(freep) uint8_t *target = malloc(size ? size : 1);
    if (!target)
        return -ENOMEM;
    int rc = -EOPNOTSUPP;
    if (method == ELFCOMPRESS_ZLIB)
        rc = expand_zlib(source, source_size, target, size);
    else if (method == COMPRESS_ZSTD)
        rc = expand_zstd(source, source_size, target, size);
    if (rc < 0)
        return rc;
    ret_data->bytes = TAKE_PTR(target);
    ret_data->size = size;
    return 0;
}

static int section_inflate(const struct elf_image *image, const struct elf_data *raw, struct elf_data *ret_data)
{
    if (image->is_64) {
        Elf64_Chdr header;
        if (raw->size < sizeof header)
            return -EINVAL;
        memcpy(&header, raw->bytes, sizeof header);
        return expand(header.ch_type, raw->bytes + sizeof header, raw->size - sizeof header, header.ch_size, ret_data);
    }
    Elf32_Chdr header;
    if (raw->size < sizeof header)
        return -EINVAL;
    memcpy(&header, raw->bytes, sizeof header);
    return expand(header.ch_type, raw->bytes + sizeof header, raw->size - sizeof header, header.ch_size, ret_data);
}

int elf_section_load(const struct elf_image *image, const struct elf_section *section, struct elf_data *ret_data)
{
    if (section->type == SHT_NOBITS)
        return -ENODATA;
    struct elf_data raw;
    int rc = elf_range_load(image, section->offset, section->size, &raw);
    if (rc < 0)
        return rc;
    CLEANUP(freep) uint8_t *owned = raw.bytes;
    if (section->flags & SHF_COMPRESSED)
        return section_inflate(image, &raw, ret_data);
    if (strncmp(section->name, ".zdebug", 7) == 0 && raw.size >= 12 && memcmp(raw.bytes, "ZLIB", 4) == 0) {
        uint64_t size = 0; /* the older form: magic, then the size as a big-endian number */
        for (int i = 4; i < 12; i++)
            size = size << 8 | raw.bytes[i];
        return expand(ELFCOMPRESS_ZLIB, raw.bytes + 12, raw.size - 12, size, ret_data);
    }
    ret_data->bytes = TAKE_PTR(owned);
    ret_data->size = raw.size;
    return 0;
}

bool elf_offset_to_address(const struct elf_image *image, uint64_t offset, uint64_t *ret_address)
{
    const struct elf_segment *best = NULL;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        /* Pages are mapped whole: a little before the segment's offset belongs to the same mapping. */
        if (segment->type != PT_LOAD || offset < (segment->offset & ~0xfffull) ||
            offset - (segment->offset & ~0xfffull) > segment->file_size + 0xfff)
            continue;
        bool exact = offset >= segment->offset && offset - segment->offset < segment->file_size;
        if (!best || (exact && (segment->flags & PF_X)))
            best = segment;
    }
    if (best)
        *ret_address = offset - best->offset + best->address;
    return best != NULL;
}

bool elf_address_to_offset(const struct elf_image *image, uint64_t address, uint64_t *ret_offset)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        if (segment->type == PT_LOAD && address >= segment->address && address - segment->address < segment->file_size) {
            *ret_offset = address - segment->address + segment->offset;
            return true;
        }
    }
    return false;
}

size_t elf_read_address(const struct elf_image *image, uint64_t address, void *buffer, size_t size)
{
    uint64_t offset;
    if (!elf_address_to_offset(image, address, &offset) || offset >= image->size)
        return 0;
    if (size > image->size - offset)
        size = image->size - offset;
    return elf_read(image, offset, buffer, size) == 0 ? size : 0;
}
