/* SPDX-License-Identifier: MIT */
/* The tables of MPI in a summary: ranks, communicators. */
#include "summary_draw.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RANKS_SHOWN 16
#define COMMS_SHOWN 8

static void cell_bytes(struct table *table, uint64_t bytes)
{
    char text[32];
    table_cell(table, format_bytes(text, sizeof text, bytes));
}

static int64_t largest_of(const struct summary_mpi *mpi)
{
    int64_t largest_ns = 0;
    for (size_t i = 0; i < mpi->rank_count; i++)
        largest_ns = mpi->ranks[i].mpi_ns > largest_ns ? mpi->ranks[i].mpi_ns : largest_ns;
    return largest_ns;
}

static bool any_life(const struct summary_mpi *mpi)
{
    bool known = false;
    for (size_t i = 0; i < mpi->rank_count; i++)
        known |= mpi->ranks[i].life_ns.known;
    return known;
}

static void add_rank_row(struct drawing *drawing, struct table *table, const struct summary_mpi_rank *rank)
{
    table_row(table);
    if (rank->rank >= 0)
        table_cellf(table, "%" PRId32, rank->rank);
    else
        table_cell(table, "");
    draw_cell_time(table, drawing, rank->mpi_ns);
    if (rank->life_ns.known)
        draw_cell_percent(table, (double)rank->mpi_ns, (double)rank->life_ns.value);
    else
        table_cell(table, "");
    draw_cell_time(table, drawing, rank->send_ns);
    draw_cell_time(table, drawing, rank->receive_ns);
    draw_cell_time(table, drawing, rank->wait_ns);
    draw_cell_time(table, drawing, rank->collective_ns);
    draw_cell_time(table, drawing, rank->init_ns);
    draw_cell_time(table, drawing, rank->other_ns);
    draw_cell_count(table, rank->messages_sent);
    cell_bytes(table, rank->bytes_sent);
    draw_cell_count(table, rank->messages_received);
    cell_bytes(table, rank->bytes_received);
    table_cellf(table, "%" PRId32, rank->pid);
}

static void draw_ranks(struct drawing *drawing, const struct summary_mpi *mpi)
{
    static const struct table_column columns[] = {
        {"rank", ALIGN_RIGHT, SHRINK_NEVER, 0},    {"in MPI", ALIGN_RIGHT, SHRINK_NEVER, 0},  {"%", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"send", ALIGN_RIGHT, SHRINK_DROP, 0},     {"receive", ALIGN_RIGHT, SHRINK_DROP, 0},  {"wait", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"collective", ALIGN_RIGHT, SHRINK_DROP, 0}, {"init", ALIGN_RIGHT, SHRINK_DROP, 0},   {"other", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"sent", ALIGN_RIGHT, SHRINK_DROP, 0},     {"bytes", ALIGN_RIGHT, SHRINK_DROP, 0},    {"received", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"bytes", ALIGN_RIGHT, SHRINK_DROP, 0},    {"pid", ALIGN_RIGHT, SHRINK_DROP, 0},
    };
    const char *life = any_life(mpi) ? "% of the rank's life" : "";
    char about[192];
    snprintf(about, sizeof about, "%s", life);
    if (mpi->world_size.known)
        snprintf(about, sizeof about, "%s%s%" PRId64 " ranks%s%.*s", life, *life ? "; " : "", mpi->world_size.value, *mpi->library ? ", " : "",
                 (int)strcspn(mpi->library, ",\n"), mpi->library);
    size_t shown = draw_limit(drawing, mpi->rank_count, RANKS_SHOWN);
    draw_table_heading(drawing, "MPI", largest_of(mpi), about);
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++)
        add_rank_row(drawing, table, &mpi->ranks[i]);
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, mpi->rank_count, "ranks", -1);
}

static void draw_comms(struct drawing *drawing, const struct summary_mpi *mpi)
{
    static const struct table_column columns[] = {
        {"time", ALIGN_RIGHT, SHRINK_NEVER, 0},    {"calls", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"messages", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"bytes sent", ALIGN_RIGHT, SHRINK_DROP, 0}, {"ranks", ALIGN_RIGHT, SHRINK_DROP, 0}, {"communicator", ALIGN_LEFT, SHRINK_END, 16},
    };
    size_t shown = draw_limit(drawing, mpi->comm_count, COMMS_SHOWN);
    draw_table_heading(drawing, "Communicators", mpi->comms[0].time_ns, "of all ranks, in calls that send, receive or are collective");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_mpi_comm *comm = &mpi->comms[i];
        table_row(table);
        draw_cell_time(table, drawing, comm->time_ns);
        draw_cell_count(table, comm->calls);
        draw_cell_count(table, comm->messages);
        cell_bytes(table, comm->bytes);
        if (comm->size.known)
            table_cellf(table, "%" PRId64, comm->size.value);
        else
            table_cell(table, "");
        if (*comm->name)
            table_cell(table, comm->name);
        else
            table_cellf(table, "%" PRIu64, comm->comm);
    }
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, mpi->comm_count, "communicators", -1);
}

void draw_mpi(struct drawing *drawing)
{
    const struct summary_mpi *mpi = drawing->summary->mpi;
    if (!mpi || !mpi->rank_count)
        return;
    draw_ranks(drawing, mpi);
    if (mpi->comm_count)
        draw_comms(drawing, mpi);
}
