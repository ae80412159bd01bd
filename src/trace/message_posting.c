/* SPDX-License-Identifier: MIT */
/* A set of numbers that is dense but for what was lost. Numbers begin with 1. */
#include "message_posting.h"

#include <errno.h>
#include <stdlib.h>

void postings_finish(struct postings *postings)
{
    map_finish(&postings->words);
}

static int put_word(struct postings *postings)
{
    return postings->bits ? map_set(&postings->words, postings->word, postings->bits) : 0;
}

int postings_add(struct postings *postings, uint32_t number)
{
    if (number / 64 != postings->word) {
        int code = put_word(postings);
        if (code)
            return code;
        postings->word = number / 64;
        postings->bits = 0;
        map_get(&postings->words, postings->word, &postings->bits);
    }
    postings->bits |= UINT64_C(1) << number % 64;
    postings->greatest = number > postings->greatest ? number : postings->greatest;
    return 0;
}

static int compare_words(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void note_gap(struct postings *postings, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    if (postings_whole(postings))
        postings->gap_begin = (uint32_t)begin;
    postings->gap_end = (uint32_t)end;
}

/* `expected`: behind the numbers below this word. Returns what is expected behind it. */
static uint64_t gaps_of_word(struct postings *postings, uint64_t word, uint64_t bits, uint64_t expected)
{
    while (bits) {
        uint64_t number = word * 64 + (unsigned)__builtin_ctzll(bits);
        note_gap(postings, expected, number);
        uint64_t run = bits >> number % 64;
        unsigned length = ~run ? (unsigned)__builtin_ctzll(~run) : 64;
        expected = number + length;
        bits = expected % 64 && expected / 64 == word ? bits & ~UINT64_C(0) << expected % 64 : 0;
    }
    return expected;
}

int postings_close(struct postings *postings)
{
    int code = put_word(postings);
    size_t count = 0, position = 0;
    uint64_t *words = code ? NULL : malloc((postings->words.count + 1) * sizeof *words), bits;
    if (!words)
        return -ENOMEM;
    postings->gap_begin = postings->gap_end = 0;
    while (map_next(&postings->words, &position, &words[count], &bits))
        count++;
    qsort(words, count, sizeof *words, compare_words);
    uint64_t expected = 1;
    for (size_t i = 0; i < count; i++) {
        map_get(&postings->words, words[i], &bits);
        if (words[i] == 0)
            bits &= ~UINT64_C(1); /* some count from 0: that one is not missing where it isn't */
        expected = gaps_of_word(postings, words[i], bits, expected);
    }
    free(words);
    return 0;
}
