/* SPDX-License-Identifier: MIT */
/*
 * Nodes of graphs, with --call-tree: the stack of the call that made a node, during a capture or by hand, goes with its clones, and
 * from there to what they run. Node numbers are not used again; where a place's neighbourhood is full, the oldest give way. Numbers
 * have the graph's in the upper half. CUDA unfolds child graphs into nodes that it tells nobody of: they get the stack of the call
 * that made their graph, which is kept under the graph's last number.
 */
#include "cuda.h"

#include "../runtime/sys.h"

#include <sys/mman.h>

enum { NODES = 1 << 20, NODE_TRIES = 16 };

static struct node {
    uint64_t id;    /* CUPTI's number, plus 1; 0 = free */
    uint32_t stack; /* as in spans */
    uint32_t age;
} *nodes;
static uint32_t age;

static struct node *node_at(uint64_t id, unsigned step)
{
    return &nodes[((id * 0x9e3779b97f4a7c15ull >> 40) + step) & (NODES - 1)];
}

static void node_set(uint64_t id, uint32_t stack)
{
    struct node *oldest = node_at(id, 0);
    for (unsigned i = 0; i < NODE_TRIES; i++) {
        struct node *node = node_at(id, i);
        uint64_t known = __atomic_load_n(&node->id, __ATOMIC_ACQUIRE), expected = 0;
        if (known == id + 1 || (known == 0 && __atomic_compare_exchange_n(&node->id, &expected, id + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))) {
            oldest = node;
            break;
        }
        if (node->age < oldest->age)
            oldest = node;
    }
    oldest->stack = stack;
    oldest->age = __atomic_add_fetch(&age, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&oldest->id, id + 1, __ATOMIC_RELEASE);
}

static uint32_t node_get(uint64_t id)
{
    for (unsigned i = 0; nodes && i < NODE_TRIES; i++)
        if (__atomic_load_n(&node_at(id, i)->id, __ATOMIC_ACQUIRE) == id + 1)
            return node_at(id, i)->stack;
    return 0;
}

uint32_t cuda_node_stack(uint64_t id)
{
    uint32_t stack = node_get(id);
    return stack ? stack : node_get(id | UINT32_MAX);
}

void cuda_on_node(uint32_t id, const struct cupti_graph *graph)
{
    uint64_t node, original;
    if (!nodes || !graph || cuda.cupti.node_id(graph->node, &node) != CUPTI_OK)
        return;
    uint32_t stack = 0;
    if (id == CUPTI_NODE_CREATED)
        stack = cuda_call_stack(); /* a clone is told of as created first, then as cloned */
    else if (graph->original_node && cuda.cupti.node_id(graph->original_node, &original) == CUPTI_OK)
        stack = cuda_node_stack(original);
    if (stack)
        node_set(node, stack);
    if (stack && id == CUPTI_NODE_CREATED && (node & UINT32_MAX) == 0)
        node_set(node | UINT32_MAX, stack);
}

void cuda_graphs_start(void)
{
    static const uint32_t ids[] = {CUPTI_NODE_CREATED, CUPTI_NODE_CLONED, CUPTI_NODE_UPDATED};
    if (!(rt_flags() & WIRE_SESSION_CALL_TREE) || !cuda.cupti.node_id)
        return;
    void *map = sys_mmap(0, NODES * sizeof *nodes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sys_is_error((long)map))
        return;
    nodes = map;
    for (unsigned i = 0; i < sizeof ids / sizeof ids[0]; i++)
        cuda.cupti.enable_callback(1, cuda.subscriber, CUPTI_RESOURCE, ids[i]);
}
