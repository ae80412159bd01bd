/* SPDX-License-Identifier: MIT */
/* Communicators, windows and files: who is in them, one metadata entry each (docs/formats/native.md). */
#include "merge_mpi.h"

#include "base/array.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LISTED_MAXIMUM 100000 /* communicators: a program that makes one in a loop must not fill the trace with them */

static uint64_t local_key(const struct merge_process *process, uint64_t comm)
{
    return hash_u64(process->key ^ hash_u64(comm));
}

bool merge_mpi_is_local(const struct merge_mpi *mpi, const struct merge_process *process, uint64_t comm)
{
    uint64_t unused;
    return map_get(&mpi->local_comms, local_key(process, comm), &unused);
}

uint32_t merge_mpi_members(const struct merge_mpi *mpi, uint64_t comm)
{
    uint64_t index;
    return map_get(&mpi->comm_index, comm, &index) ? mpi->comms[index].members : 0;
}

/* "0-3,5": runs that go up by one, in the order of the communicator's ranks. */
static void add_ranks(struct text *out, const int32_t *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i + 1;
        while (end < count && ranks[end] == (int64_t)ranks[end - 1] + 1)
            end++;
        text_addf(out, i ? ",%d" : "%d", ranks[i]);
        if (end - i > 1)
            text_addf(out, "-%d", ranks[end - 1]);
        i = end;
    }
}

static const char *kind_of(uint32_t flags)
{
    if (flags & WIRE_MPI_COMM_WINDOW)
        return "window";
    if (flags & WIRE_MPI_COMM_FILE)
        return "file";
    return flags & WIRE_MPI_COMM_INTER ? "intercommunicator" : "communicator";
}

static int list_comm(struct merge *merge, const struct merge_stream *stream, const struct wire_mpi_comm *record, uint32_t listed)
{
    struct text value = TEXT_INIT;
    char key[40];
    const char *name = string_table_text(trace_builder_strings(merge->builder), merge_string(merge, stream, record->header.value));
    text_addf(&value, "{\"kind\":\"%s\"", kind_of(record->flags));
    if (*name) {
        text_add_string(&value, ",\"name\":\"");
        text_add_json(&value, name, strlen(name));
        text_add_char(&value, '"');
    }
    if (record->parent)
        text_addf(&value, ",\"parent\":%" PRIu64, record->parent);
    text_addf(&value, ",\"size\":%" PRIu32, record->size);
    if (listed) {
        text_add_string(&value, ",\"ranks\":\"");
        add_ranks(&value, (const int32_t *)(const void *)(record + 1), listed);
        text_add_char(&value, '"');
    }
    text_add_char(&value, '}');
    snprintf(key, sizeof key, "mpi.comm.%" PRIu64, record->comm);
    int code = value.failed ? -ENOMEM : trace_builder_set_metadata(merge->builder, key, value.data);
    text_finish(&value);
    return code;
}

/* The list of members where it is whole: both groups of an intercommunicator. */
static uint32_t listed_members(const struct wire_mpi_comm *record)
{
    uint32_t room = (wire_bytes(&record->header) - (uint32_t)sizeof *record) / 4;
    return record->listed <= room ? record->listed : 0;
}

int merge_mpi_on_comm(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_mpi_comm *record = (const struct wire_mpi_comm *)(const void *)header;
    struct merge_mpi *mpi = merge_state(merge, &merge_part_mpi);
    uint64_t known;
    if (!stream->process)
        return 0;
    if (record->flags & WIRE_MPI_COMM_LOCAL)
        return map_set(&mpi->local_comms, local_key(stream->process, record->comm), 1);
    uint32_t listed = listed_members(record);
    bool again = map_get(&mpi->comm_index, record->comm, &known);
    if (again && (!listed || mpi->comms[known].members == listed) && !record->header.value)
        return 0; /* each of its processes tells of it; a later record may give it a name, or the list */
    if (!again) {
        struct mpi_comm *comms = array_reserve(mpi->comms, &mpi->comm_capacity, mpi->comm_count + 1, sizeof *comms);
        if (!comms)
            return -ENOMEM;
        mpi->comms = comms;
        known = mpi->comm_count++;
        comms[known] = (struct mpi_comm){.comm = record->comm};
        int code = map_set(&mpi->comm_index, record->comm, known);
        if (code)
            return code;
    }
    mpi->comms[known].members = listed ? listed : mpi->comms[known].members ? mpi->comms[known].members : record->size;
    if (known >= LISTED_MAXIMUM) {
        mpi->comms_unlisted += !again;
        return 0;
    }
    return list_comm(merge, stream, record, listed);
}
