/* SPDX-License-Identifier: MIT */
/* The spans of threads, block by block, for what is summed up of runtimes: unpacking them takes longer than the sums. */
#include "summary_build.h"

#include "trace/select.h"

struct runtimes {
    struct mpi_build *mpi;       /* NULL: nothing of it in the trace, as the next one */
    struct openmp_build *openmp;
};

static int add_block(struct summary_build *build, const struct runtimes *runtimes, uint32_t number, uint32_t process)
{
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD) | (build->where ? filter_span_columns(build->where) : 0);
    struct span_block block;
    int result = trace_spans_scan(build->trace, number, columns, &block, build->err);
    if (result < 0)
        return result;
    if (runtimes->mpi)
        result = summary_mpi_block(runtimes->mpi, &block, process);
    if (result == 0 && runtimes->openmp)
        result = summary_openmp_block(runtimes->openmp, &block, process);
    trace_spans_put(build->trace, &block);
    return result;
}

static int add_blocks(struct summary_build *build, const struct runtimes *runtimes)
{
    int result = 0;
    for (uint32_t i = 0; i < trace_block_count(build->trace, FAMILY_SPANS) && result == 0; i++) {
        struct block_info info = trace_block_info(build->trace, FAMILY_SPANS, i);
        uint32_t process = info.track.index < build->track_count ? build->tracks[info.track.index].process.index : ID_NONE;
        if (process < build->process_count && build->tracks[info.track.index].kind == TRACK_KIND_THREAD &&
            (!build->match || filter_match_track(build->match, info.track)))
            result = add_block(build, runtimes, i, process);
    }
    return result;
}

int summary_add_runtimes(struct summary_build *build)
{
    struct runtimes runtimes = {0};
    int result = summary_mpi_begin(build, &runtimes.mpi);
    if (result == 0)
        result = summary_openmp_begin(build, &runtimes.openmp);
    if (result == 0 && (runtimes.mpi || runtimes.openmp))
        result = add_blocks(build, &runtimes);
    summary_mpi_end(runtimes.mpi);
    summary_openmp_end(runtimes.openmp);
    return result;
}
