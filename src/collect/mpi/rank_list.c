/* SPDX-License-Identifier: MIT */
/* Lists of ranks as text, neighbours in number joined to ranges. */
#include "rank_list.h"

void rank_list_begin(struct rank_list *list)
{
    list->length = 0;
    list->full = false;
    list->first = -1;
}

static void put_number(struct rank_list *list, int32_t number)
{
    char digits[12];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count)
        list->text[list->length++] = digits[--count];
}

static void put_range(struct rank_list *list)
{
    if (list->first < 0 || list->full)
        return;
    list->full = list->length + 32 > RANK_LIST_BYTES;
    if (list->full)
        return;
    if (list->length)
        list->text[list->length++] = ',';
    put_number(list, list->first);
    if (list->last > list->first) {
        list->text[list->length++] = '-';
        put_number(list, list->last);
    }
}

void rank_list_add(struct rank_list *list, int32_t rank)
{
    if (rank < 0)
        return;
    if (list->first >= 0 && rank == list->last + 1) {
        list->last = rank;
        return;
    }
    put_range(list);
    list->first = list->last = rank;
}

uint32_t rank_list_end(struct rank_list *list)
{
    put_range(list);
    list->first = -1;
    return list->length && !list->full ? rt_string(list->text, list->length) : 0;
}
