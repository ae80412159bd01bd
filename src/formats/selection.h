/* SPDX-License-Identifier: MIT */
/* What an export takes of a trace: the window and the filter of its options, and progress by blocks. */
#ifndef HP_FORMATS_SELECTION_H
#define HP_FORMATS_SELECTION_H

#include "format.h"

struct selection {
    const struct trace *trace;
    const struct format_write_options *options;
    struct filter_match *match; /* NULL = everything */
    int64_t begin_ns, end_ns;   /* INT64_MIN..INT64_MAX without a window */
    const char *what;           /* for progress */
    uint64_t blocks_done, blocks_total;
    bool everything;            /* neither window nor filter */
};

/* families: a mask of 1 << FAMILY_X of what will be walked, for the progress' total. */
int selection_init(struct selection *selection, const struct trace *trace, const struct format_write_options *options,
                   const char *what, unsigned families, struct error *err);
void selection_finish(struct selection *selection);

/* Counts a block as done; false when nothing of it can be wanted. */
bool selection_block(struct selection *selection, enum family family, const struct block_info *info);
bool selection_span(const struct selection *selection, const struct span_block *block, uint32_t row);
bool selection_sample(const struct selection *selection, const struct sample_block *block, uint32_t row);
bool selection_time(const struct selection *selection, int64_t time_ns);

#endif
