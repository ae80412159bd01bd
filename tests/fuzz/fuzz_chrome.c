/* SPDX-License-Identifier: MIT */
/* Chrome JSON of any kind: read whole, then in pieces of a few bytes, which must come to the same. */
#include "base/error.h"
#include "formats/chrome_reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_in_pieces(const uint8_t *data, size_t size, size_t piece, struct trace **ret_trace)
{
    struct error err = ERROR_INIT;
    *ret_trace = NULL;
    return chrome_read_memory("input", (const char *)data, size, piece, NULL, ret_trace, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace *whole, *pieces;
    int whole_result = read_in_pieces(data, size, 0, &whole);
    int pieces_result = read_in_pieces(data, size, 16 + size % 64, &pieces);
    if (whole_result != pieces_result)
        abort();
    for (unsigned family = 0; whole && family < FAMILY_COUNT; family++)
        if (trace_row_count(whole, (enum family)family) != trace_row_count(pieces, (enum family)family))
            abort();
    trace_unref(whole);
    trace_unref(pieces);
    return 0;
}
