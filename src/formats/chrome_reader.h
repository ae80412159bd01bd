/* SPDX-License-Identifier: MIT */
/* Reading Chrome Trace Event JSON: ours and anybody's. */
#ifndef HP_FORMATS_CHROME_READER_H
#define HP_FORMATS_CHROME_READER_H

#include "format.h"

bool chrome_probe(const uint8_t *head, size_t head_size, uint64_t size);
int chrome_read(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace,
                struct error *err);
/* The same on bytes in memory (tests, fuzzing); name stands in errors. chunk_bytes 0 = the usual size. */
int chrome_read_memory(const char *name, const char *data, size_t size, size_t chunk_bytes, const struct log *log,
                       struct trace **ret_trace, struct error *err);

#endif
