/* SPDX-License-Identifier: MIT */
/* The formats themselves, for the table in formats.c only. */
#ifndef HP_FORMATS_EXPORTS_H
#define HP_FORMATS_EXPORTS_H

#include "format.h"

extern const struct trace_format format_native;
extern const struct trace_format format_chrome;
extern const struct trace_format format_folded;
extern const struct trace_format format_speedscope;
extern const struct trace_format format_flamegraph_html;
extern const struct trace_format format_csv;
extern const struct trace_format format_otf2;

#endif
