/* SPDX-License-Identifier: MIT */
/* What goes between the ranks of a command, and that all of them know when one cannot go on. */
#include "ranks_exchange.h"

#include <errno.h>
#include <stdlib.h>

int ranks_gather(const struct rank_group *group, struct parcel *own, struct parcel **ret_all, struct error *err)
{
    size_t count = (size_t)group->count;
    struct parcel *all = group->rank == 0 ? calloc(count, sizeof *all) : NULL;
    int code = own->failed || (group->rank == 0 && !all) ? error_set(err, -ENOMEM, "out of memory") : 0;
    code = group->agree(group, code, err);
    if (code == 0)
        code = group->gather(group, own, all);
    if (code == 0) {
        *ret_all = all;
        return 0;
    }
    ranks_parcels_free(all, group->count);
    return err->text[0] ? code : error_set_errno(err, code, "ranks cannot reach each other");
}

int ranks_scatter(const struct rank_group *group, struct parcel *all, struct parcel *own, struct error *err)
{
    bool failed = false;
    for (int rank = 0; all && rank < group->count; rank++)
        failed |= all[rank].failed;
    int code = group->agree(group, failed ? error_set(err, -ENOMEM, "out of memory") : 0, err);
    if (code)
        return code;
    code = group->scatter(group, all, own);
    return code ? error_set_errno(err, code, "ranks cannot reach each other") : 0;
}

int ranks_broadcast(const struct rank_group *group, struct parcel *parcel, struct error *err)
{
    int code = group->agree(group, parcel->failed ? error_set(err, -ENOMEM, "out of memory") : 0, err);
    if (code)
        return code;
    code = group->broadcast(group, parcel);
    return code ? error_set_errno(err, code, "ranks cannot reach each other") : 0;
}

void ranks_parcels_free(struct parcel *parcels, int count)
{
    for (int i = 0; parcels && i < count; i++)
        parcel_finish(&parcels[i]);
    free(parcels);
}
