#include <string.h>

#include "tail.h"

struct tail tails[2];

/* How much of a quota is for the last bytes of both streams together. */
uint64_t tail_room(uint64_t quota)
{
    return quota / 2 < TAIL_BYTES ? quota / 2 : TAIL_BYTES;
}

static void drop(struct tail *tail, size_t length)
{
    tail->start = (tail->start + length) % TAIL_BYTES;
    tail->length -= length;
    tail->dropped += length;
}

/* Drops the oldest bytes of the longer one, so that neither stream displaces the other. */
static void fit(uint64_t most)
{
    while (tails[0].length + tails[1].length > most) {
        struct tail *longer = tails[0].length >= tails[1].length ? &tails[0] : &tails[1];
        struct tail *other = longer == &tails[0] ? &tails[1] : &tails[0];
        size_t over = tails[0].length + tails[1].length - (size_t)most, lead = longer->length - other->length;
        if (lead == 0) lead = (over + 1) / 2;
        drop(longer, over < lead ? over : lead);
    }
}

/* Holds bytes of a stream; of both streams at most so many, which is never more than one circle has space for. */
void hold_tail(struct tail *tail, const char *bytes, size_t length, uint64_t most)
{
    size_t kept = length < most ? length : (size_t)most;
    size_t space = TAIL_BYTES - tail->length;
    if (kept > space) drop(tail, kept - space);
    /* What does not fit is older than what does, and newer than all that is held. */
    if (kept < length) drop(tail, tail->length);
    tail->dropped += length - kept;
    bytes += length - kept;
    size_t end = (tail->start + tail->length) % TAIL_BYTES;
    size_t first = kept < TAIL_BYTES - end ? kept : TAIL_BYTES - end;
    memcpy(tail->bytes + end, bytes, first);
    memcpy(tail->bytes, bytes + first, kept - first);
    tail->length += kept;
    fit(most);
}

/* Takes the next bytes out of a circle; returns how many, 0 when it is empty. */
size_t next_of_tail(struct tail *tail, const char **bytes)
{
    size_t length = tail->length < TAIL_BYTES - tail->start ? tail->length : TAIL_BYTES - tail->start;
    *bytes = tail->bytes + tail->start;
    tail->start = (tail->start + length) % TAIL_BYTES;
    tail->length -= length;
    return length;
}

/* Bytes within a character of UTF-8 go with its beginning, which was dropped. */
void begin_at_character(struct tail *tail)
{
    for (int i = 0; i < 3 && tail->length > 0 && ((unsigned char)tail->bytes[tail->start] & 0xc0) == 0x80; i++)
        drop(tail, 1);
}
