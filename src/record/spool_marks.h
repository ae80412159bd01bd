/* SPDX-License-Identifier: MIT */
/* How far the files of a growing spool have been read: for the spool's reader. */
#ifndef HP_RECORD_SPOOL_MARKS_H
#define HP_RECORD_SPOOL_MARKS_H

#include "spool.h"

struct spool_mark {
    bool keep;
    uint32_t number;
    uint64_t begin, end; /* bytes of the file */
    uint64_t seen;       /* its size when it was last looked at */
};
struct spool_mark *spool_marks_find(struct spool_marks *marks, bool keep, uint32_t number); /* NULL: not known */
bool spool_bulk_number(const char *name, uint32_t *ret_number); /* of a file of the bulk by its name; false: it is none */

#endif
