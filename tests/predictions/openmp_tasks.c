/* SPDX-License-Identifier: MIT */
/* Tasks with dependences: a chain of long ones, and short ones beside it that each wait for one of the chain. */
#include "work.h"

static ACTIVITY void link_of_chain(long units) { work(units); }
static ACTIVITY void leaf(long units) { work(units); }

int main(void)
{
    long chain_units = scaled("link_of_chain", 4e6), leaf_units = scaled("leaf", 2e6);
    static int chain, leaves[64];
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 64; i++) {
#pragma omp task depend(inout : chain)
        link_of_chain(chain_units);
#pragma omp task depend(in : chain) depend(out : leaves[i])
        leaf(leaf_units);
    }
    return 0;
}
