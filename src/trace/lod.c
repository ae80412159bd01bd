/* SPDX-License-Identifier: MIT */
#include "trace_internal.h"
void lod_set_destroy(struct lod_set *lods) { (void)lods; }
void native_reader_unref(struct native_reader *reader) { (void)reader; }
