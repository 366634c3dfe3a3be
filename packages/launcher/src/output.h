/*
 * The output of a run: copied from its pipes to the caller, up to the quota. With cut=1 a run that writes more goes on:
 * its first and its last bytes are passed on, and between them how many were left out. With flood=N it is ended once it
 * has written N bytes more than that.
 */
#pragma once

#include <poll.h>
#include "launcher.h"

enum { COPY_BYTES = 65536 };

/* One of the two outputs: a pipe from the command, and the launcher's own descriptor of that number. */
struct stream {
    int from, to;
    bool is_spliced, is_socket, is_blocked, is_past_head;
    size_t most, held, sent;
    char bytes[COPY_BYTES];
};
extern struct stream streams[2];
enum flow { FLOW_MOVED, FLOW_EMPTY, FLOW_BLOCKED, FLOW_ENDED };

void open_streams(int writers[2]);
enum flow serve(struct stream *stream);
size_t watch_streams(struct pollfd *watched);
void drain(void);
