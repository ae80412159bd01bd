/* SPDX-License-Identifier: MIT */
/* Where the shares of a path (path_share.h) come together: the nodes of all, and the ways between them. */
#ifndef HP_ANALYSIS_PATH_WHOLE_H
#define HP_ANALYSIS_PATH_WHOLE_H

#include "path_share.h"

struct path_whole;

/* Nodes' numbers are below number_count; shares are counted from 0. */
int path_whole_create(uint32_t number_count, uint32_t share_count, struct path_whole **ret_whole);
void path_whole_destroy(struct path_whole *whole);
DEFINE_CLEANUP(struct path_whole *, path_whole_destroy)

/* In this order, each for all shares before the next. -ENOMEM, -EBADMSG. Ways are taken over. */
int path_whole_take_ways(struct path_whole *whole, uint32_t share, struct parcel *ways);
int path_whole_solve(struct path_whole *whole, bool *ret_circle); /* circle: edges of several shares go round in one, and there is no longest way */
void path_whole_pack_values(const struct path_whole *whole, uint32_t share, struct parcel *values);
int path_whole_take_end(struct path_whole *whole, uint32_t share, struct parcel *end);
void path_whole_pack_end(const struct path_whole *whole, struct parcel *end); /* the same for all shares */
int path_whole_take_links(struct path_whole *whole, struct parcel *links);
int path_whole_chain(const struct path_whole *whole, uint32_t **ret_chain, size_t *ret_count); /* for path_share_walk */

/* What is known of the path then: length, explained time, least confidence. False: the graph is empty. */
bool path_whole_length(const struct path_whole *whole, int64_t *ret_length_ns, int64_t *ret_explained_ns, enum confidence *ret_least);

#endif
