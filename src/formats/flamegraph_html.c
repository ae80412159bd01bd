/* SPDX-License-Identifier: MIT */
/* Placeholder until the page is there. */
#include "exports.h"
const struct trace_format format_flamegraph_html = {.name = "flamegraph-html", .extension = ".html", .summary = "flame graph"};
