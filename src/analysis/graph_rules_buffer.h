/* SPDX-License-Identifier: MIT */
/* A part of graph_rules_device. */
#ifndef HP_ANALYSIS_GRAPH_RULES_BUFFER_H
#define HP_ANALYSIS_GRAPH_RULES_BUFFER_H

#include "graph_rules.h"

int graph_rules_buffer(struct graph_rules *rules, struct error *err);

#endif
