/* SPDX-License-Identifier: MIT */
/* The numbers that the postings of one process have, and where some of them are missing. Internal to message_match. */
#ifndef HP_TRACE_MESSAGE_POSTING_H
#define HP_TRACE_MESSAGE_POSTING_H

#include "base/map.h"

struct postings {
    struct map words;          /* number / 64 -> one bit for each of 64 numbers */
    uint64_t word, bits;       /* the word in hand: its newest bits are not in the map yet */
    uint32_t greatest;
    uint32_t gap_begin, gap_end; /* from the first missing number to the one behind the last; equal: none is missing */
};

void postings_finish(struct postings *postings);
int postings_add(struct postings *postings, uint32_t number);
/* Finds the gaps below the greatest number. */
int postings_close(struct postings *postings);

static inline bool postings_whole(const struct postings *postings)
{
    return postings->gap_begin == postings->gap_end;
}

#endif
