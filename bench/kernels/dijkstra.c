#include "kernel.h"

/* Shortest paths from one node of a random graph of n nodes, at most 50,000, with a binary heap; the order of the
 * heap is a function behind a pointer, as in a library. */

#define MOST 50000
#define EDGES 6

typedef struct {
  u32 distance;
  u32 node;
} Item;

typedef int (*Less)(const Item *, const Item *);

static u32 targets[MOST * EDGES], weights[MOST * EDGES], distances[MOST];
static Item heap[MOST * EDGES + 1];
static u32 size;

static int nearer(const Item *a, const Item *b) {
  return a->distance < b->distance;
}

static int farther(const Item *a, const Item *b) {
  return a->distance > b->distance;
}

static CALLED void push(Item item, Less less) {
  u32 at = size++;
  while (at && less(&item, &heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = item;
}

static CALLED Item pop(Less less) {
  Item first = heap[0], last = heap[--size];
  u32 at = 0;
  for (;;) {
    u32 child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && less(&heap[child + 1], &heap[child])) child++;
    if (!less(&heap[child], &last)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
  return first;
}

static u32 search(u32 n, u32 from, Less less) {
  u32 visited = 0;
  for (u32 i = 0; i < n; i++) distances[i] = ~0u;
  distances[from] = 0;
  size = 0;
  push((Item){0, from}, less);
  while (size) {
    Item item = pop(less);
    if (item.distance != distances[item.node]) continue;
    visited++;
    for (u32 e = item.node * EDGES; e < (item.node + 1) * EDGES; e++) {
      u32 distance = item.distance + weights[e];
      if (distance >= distances[targets[e]]) continue;
      distances[targets[e]] = distance;
      push((Item){distance, targets[e]}, less);
    }
  }
  return visited;
}

EXPORT u32 run(u32 n) {
  if (n > MOST) n = MOST;
  u32 seed = 23;
  for (u32 i = 0; i < n * EDGES; i++) {
    targets[i] = next_random(&seed) % n;
    weights[i] = 1 + next_random(&seed) % 1000;
  }
  /* The second order is never taken; it keeps the pointer from being known. */
  Less less = seed == 0 ? farther : nearer;
  u32 sum = search(n, 0, less);
  for (u32 i = 0; i < n; i++) sum = mix(sum, distances[i]);
  return sum;
}
