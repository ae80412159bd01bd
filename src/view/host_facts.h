/* SPDX-License-Identifier: MIT */
/* The machine that a trace was recorded on, from the trace's own metadata, as rows of (what, how much). */
#ifndef HP_VIEW_HOST_FACTS_H
#define HP_VIEW_HOST_FACTS_H

#include "grid.h"
#include "trace/trace.h"

/* Whether the recorder noted the machine; older traces and other tools' have nothing of it. */
bool host_facts_known(const struct trace *trace);
/* Fills rows below a heading that the caller made. What is not known says what it would take. */
void host_facts_fill(const struct trace *trace, struct grid *grid);
/* Devices with a heading of their own; nothing where none was described. */
void host_facts_fill_devices(const struct trace *trace, struct grid *grid);
/* Whether a key of the metadata is among what these show. */
bool host_facts_have_key(const char *key);

#endif
