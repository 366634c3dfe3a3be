/*
 * Connections into the network of the run. A socket belongs to the network in which it was created, and the supervisor is
 * in that of the run: for each request of the gateway it connects one to a port of loopback there, and passes it out over
 * sockets=FD. The ports are those of the plan (port=N), and nothing inside can ask for a connection or sees that socket.
 */
#pragma once

#include "launcher.h"

bool connect_port(size_t index);
