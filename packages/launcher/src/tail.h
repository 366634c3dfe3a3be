/* What a run writes after the first part of its quota: the last of it is held, and passed on at the end. */
#pragma once

#include "launcher.h"

enum { TAIL_BYTES = 65536 };

/* The last bytes of one stream, in a circle, and how many before them were dropped. */
struct tail {
    size_t start, length;
    uint64_t dropped;
    char bytes[TAIL_BYTES];
};
extern struct tail tails[2];

uint64_t tail_room(uint64_t quota);
void hold_tail(struct tail *tail, const char *bytes, size_t length, uint64_t most);
size_t next_of_tail(struct tail *tail, const char **bytes);
void begin_at_character(struct tail *tail);
