/* SPDX-License-Identifier: MIT */
/* Also used when nothing is sampled at all: then only the target's life is noted. */
#include "record_timers.h"

#include "base/clock.h"
#include "base/log.h"
#include "task_notes.h"
#include "wire/session.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void record_timers_set(struct session_options *session, const struct record_options *options)
{
    static const uint32_t modes[] = {
        [CALLGRAPH_NONE] = WIRE_SAMPLING_ADDRESS,
        [CALLGRAPH_FP] = WIRE_SAMPLING_FRAME_POINTERS,
        [CALLGRAPH_DWARF] = WIRE_SAMPLING_STACK_COPY,
        [CALLGRAPH_LBR] = WIRE_SAMPLING_FRAME_POINTERS,
    };
    size_t bytes = options->stack_copy_bytes ? options->stack_copy_bytes : STACK_COPY_DEFAULT;
    session->sampling = modes[options->callgraph];
    session->sampling_period_ns = 1000000000u / options->frequency_hz;
    session->sampling_stack_bytes = (uint32_t)(bytes < STACK_COPY_MAXIMUM ? bytes : STACK_COPY_MAXIMUM);
}

void record_timers_begin(struct recording *recording, pid_t pid, const char *command)
{
    int64_t now_ns = clock_raw_ns();
    task_note_process(recording, pid, getpid(), WIRE_PROCESS_ROOT, now_ns, command);
    task_note_thread(recording, pid, pid, 0, now_ns);
}

/* Whether an ELF file asks for a dynamic linker, which is what loads the runtime library. True when it cannot be read. */
static bool is_dynamic(int fd)
{
    Elf64_Ehdr header;
    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
        return true;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        off_t offset = (off_t)(header.e_phoff + (uint64_t)i * header.e_phentsize);
        if (pread(fd, &segment, sizeof(segment), offset) != sizeof(segment) || segment.p_type == PT_INTERP)
            return true;
    }
    return false;
}

void record_timers_check(struct recording *recording, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !is_dynamic(fd))
        log_warning(recording->log, "the program is static: no library can be loaded into it, so that it cannot sample itself either");
}

void record_timers_end(struct recording *recording, const struct record_options *options, bool timers, pid_t pid, int wait_status)
{
    static const char *const names[] = {
        [CALLGRAPH_NONE] = "none", [CALLGRAPH_FP] = "fp", [CALLGRAPH_DWARF] = "dwarf", [CALLGRAPH_LBR] = "fp"};
    struct wire_process_exit record = {.header = {WIRE_PROCESS_EXIT, sizeof(record) / 8, 0},
                                       .time_ns = clock_raw_ns(),
                                       .pid = pid,
                                       .wait_status = wait_status};
    recording_put(recording, SPOOL_KEEP, &record.header, NULL);
    if (!timers)
        return;
    recording_put_metadata(recording, "sampling.event", "timer");
    recording_put_metadata(recording, "sampling.kernel", "no");
    recording_put_metadata(recording, "sampling.frequency", "%u", options->frequency_hz);
    recording_put_metadata(recording, "sampling.callgraph", "%s", names[options->callgraph]);
}
