/* SPDX-License-Identifier: MIT */
/* From the front's question for the table of wrappers to the end of MPI. */
#include "mpi_collector.h"
#include "mpi_table.h"
#include "wire/session.h"

struct mpi_state mpi;
__thread uintptr_t mpi_frame __attribute__((tls_model("initial-exec")));

extern const struct mpi_entry mpi_entries[CALL_COUNT] MPI_HIDDEN;
void *mpi_real[CALL_COUNT];

static struct mpi_entry entries[CALL_COUNT];
static const struct mpi_table table = {MPI_TABLE_VERSION, CALL_COUNT, entries};

/* What is to be known of a running MPI. Nothing is sent. */
static void start(void)
{
    uint32_t before = MPI_BEFORE;
    int provided = 0;
    PMPI_Query_thread(&provided);
    mpi.threads = provided == MPI_THREAD_MULTIPLE;
    if (!__atomic_compare_exchange_n(&mpi.phase, &before, MPI_RUNNING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    mpi_types_start();
    mpi_world_start();
}

/* A process that has begun MPI by a way that we don't see is joined where it is. */
static void start_late(void)
{
    int running = 0, over = 0;
    PMPI_Initialized(&running);
    PMPI_Finalized(&over);
    if (running && !over)
        start();
}

__attribute__((visibility("default"))) mpi_table_function hprofiler_mpi_table;
const struct mpi_table *hprofiler_mpi_table(mpi_real_function *real)
{
    static const char *const words[WORD_COUNT] = {
#define WORD(enumerator, text) text,
#include "words.def"
#undef WORD
    };
    if (!rt_register(WIRE_LAYER_MPI, "mpi"))
        return 0;
    mpi.call_tree = (rt_flags() & WIRE_SESSION_CALL_TREE) != 0;
    for (unsigned i = 0; i < WORD_COUNT; i++)
        mpi.words[i] = mpi_string(words[i]);
    for (unsigned i = 0; i < CALL_COUNT; i++) {
        mpi.names[i] = mpi_string(mpi_entries[i].name + 1);
        mpi_real[i] = real(mpi_entries[i].name);
        entries[i] = mpi_entries[i];
        if (!mpi_real[i])
            entries[i].function = 0;
    }
    start_late();
    return &table;
}

void mpi_plain(struct mpi_call *call, unsigned number, unsigned kind)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, kind, 0);
    mpi_span_end(call, &span);
}

void mpi_initialised(struct mpi_call *call, unsigned number, int result)
{
    if (result == MPI_SUCCESS) {
        start();
        mpi_probes_begin();
    }
    mpi_plain(call, number, SPAN_KIND_INIT);
}

uint64_t mpi_finalizing(struct mpi_call *call)
{
    if (mpi_load(&mpi.phase) == MPI_RUNNING)
        mpi_probes_end();
    mpi_store(&mpi.phase, (uint32_t)MPI_OVER);
    return mpi_order();
}

/* Its place in the order of postings shows that none is missing before it. */
void mpi_finalized(struct mpi_call *call, unsigned number, uint64_t order)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, SPAN_KIND_INIT, PAYLOAD_MESSAGE);
    mpi_field(&span, FIELD_MESSAGE_order, order);
    mpi_span_end(call, &span);
}

/* It doesn't return. */
void mpi_aborting(struct mpi_call *call, unsigned number)
{
    mpi_plain(call, number, SPAN_KIND_INIT);
}
