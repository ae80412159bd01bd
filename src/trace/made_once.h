/* SPDX-License-Identifier: MIT */
/* What several analyses of one trace need and is dear to compute: made for the first that asks, whatever thread it is on, and kept as long as the trace. */
#ifndef HP_TRACE_MADE_ONCE_H
#define HP_TRACE_MADE_ONCE_H

struct error;
struct trace;

/* Fills *ret_made; looks at the trace alone, so that whoever asks gets the same. 0 or -errno with err set. */
typedef int trace_make(const struct trace *trace, void **ret_made, struct error *err);

/* What `make` makes of this trace; others that ask meanwhile wait for it. It belongs to the trace. A failure is tried again the next time. */
int trace_made_once(const struct trace *trace, trace_make *make, void (*destroy)(void *made), const void **ret_made, struct error *err);

#endif
