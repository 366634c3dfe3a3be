/* The network of a run: nothing but lo, and on it the listeners that the gateway accepts on. */
#pragma once

#include "launcher.h"

ssize_t send_with(int socket, const char *bytes, size_t length, int descriptor);
void open_network(void);
