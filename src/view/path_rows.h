/* SPDX-License-Identifier: MIT */
/* The composition of a critical path as rows with names, by whatever one wants to see it by. */
#ifndef HP_VIEW_PATH_ROWS_H
#define HP_VIEW_PATH_ROWS_H

#include "analysis/path_parts.h"

#include <stddef.h>

/* PATH_DIMENSION(enumerator, name, what a row is) */
#define PATH_DIMENSIONS                                                                                                \
    PATH_DIMENSION(ACTIVITY, "activity", "what was done on which lane")                                                \
    PATH_DIMENSION(NAME, "name", "what was done, on all lanes")                                                        \
    PATH_DIMENSION(CATEGORY, "category", "backend")                                                                    \
    PATH_DIMENSION(KIND, "kind", "kind of span, or of what there is between spans")                                    \
    PATH_DIMENSION(LANE, "lane", "thread or stream")                                                                   \
    PATH_DIMENSION(PROCESS, "process", "process")                                                                      \
    PATH_DIMENSION(RANK, "rank", "MPI rank")                                                                           \
    PATH_DIMENSION(NODE, "node", "machine")                                                                            \
    PATH_DIMENSION(FUNCTION, "function", "code by the functions that CPU samples saw")                                 \
    PATH_DIMENSION(LINE, "line", "code by source lines")                                                               \
    PATH_DIMENSION(PATH, "path", "enclosing spans, from the outermost")

enum path_dimension {
#define PATH_DIMENSION(enumerator, name, text) PATH_BY_##enumerator,
    PATH_DIMENSIONS
#undef PATH_DIMENSION
        PATH_DIMENSION_COUNT
};
const char *path_dimension_name(enum path_dimension dimension);
const char *path_dimension_text(enum path_dimension dimension);
int path_dimension_find(const char *name); /* -1 = none */

/* Texts are "" where a row has none of the sort (a lane, when it is by name). They live as long as the rows. */
struct path_row {
    const char *category, *name, *kind, *lane;
    int64_t time_ns;
    bool explained;
    uint8_t confidence; /* the least; of what is explained */
    uint64_t count;
    struct path_part part; /* the first that is in it: by activity they are alike, but for times and the functions in code */
};

struct path_rows {
    struct path_row *rows; /* most time first */
    size_t count;
    int64_t total_ns;
    struct string_table *texts;
};

/* For PATH_BY_PATH the path itself is looked at; `where` as for the parts. */
int path_rows_create(const struct critical_path *path, const struct path_parts *parts, const struct activity_set *where,
                     enum path_dimension dimension, struct path_rows **ret_rows, struct error *err);
void path_rows_destroy(struct path_rows *rows);
DEFINE_CLEANUP(struct path_rows *, path_rows_destroy)

/* What a part is called; also of hops. */
void path_part_name(const struct trace *trace, const struct activities *activities, const struct path_part *part,
                    struct text *out);
const char *path_part_kind(const struct activities *activities, const struct path_part *part);
const char *path_part_category(const struct trace *trace, const struct activities *activities,
                               const struct path_part *part);

#endif
