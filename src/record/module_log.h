/* SPDX-License-Identifier: MIT */
/* Writes each module once and each mapping as it comes, and keeps copies of files that nobody will find after the run. */
#ifndef HP_RECORD_MODULE_LOG_H
#define HP_RECORD_MODULE_LOG_H

#include "recording.h"

struct module_log {
    uint8_t *announced; /* by module number */
    size_t count, capacity;
};

void module_log_finish(struct module_log *log);
/* The module's number, after its MODULE record has been written. */
uint32_t module_log_number(struct module_log *log, struct recording *recording, struct module *module);
/* Adds a mapping to the process' map and notes it. */
void module_log_map(struct module_log *log, struct recording *recording, struct address_map *map, pid_t pid,
                    const struct mapping_info *mapping);
/* Notes everything that a map holds (attach). */
void module_log_map_all(struct module_log *log, struct recording *recording, const struct address_map *map, pid_t pid,
                        int64_t time_ns);
/* Copies files that are deleted or lie in another mount namespace into the session, up to `limit_bytes` in all. */
void module_log_copy_hidden(struct recording *recording, int directory_fd, uint64_t limit_bytes);

#endif
