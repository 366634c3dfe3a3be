/*
 * Connections of sockets. With connects=1 the command may have Unix sockets, which can be named by any path that it sees,
 * also by one of a socket that a process of the host listens on. So its connects are not made by the kernel but sent
 * here, to the supervisor, which makes them for it: between the processes of the run, and on the network of the run.
 *
 * The caller is hostile, and so are its other threads: while it waits, they can change the address, put another socket
 * in place of the descriptor and swap what a path leads to. So nothing is judged that is not then used itself: the socket
 * is taken out of the caller, the address is copied once, the path is opened once. No call is ever let through.
 *
 * A socket in a file system that the run alone has (own=DIR) was made inside. For any other, a connection of our own comes
 * first: the kernel says which process listens, and one outside of this pid namespace has no number in it.
 *
 * The supervisor never waits for a connection: it makes each without blocking, and tries again for a caller that blocks.
 */
#pragma once

#include <poll.h>

#include "launcher.h"

/* Where connects arrive, or -1. */
extern int connect_source;
/* How many of them led out of the run, where there is nothing: to other addresses than loopback, or to a name server. */
extern uint64_t outward_connects;

void open_connects(void);
void send_connects(void);
void receive_connects(void);
void answer_connects(short events);
int retry_connects(int timeout);
