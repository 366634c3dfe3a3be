/* Signals: those that the launcher takes, and those that a command begins with. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* A signalfd for SIGCHLD and the orders to end, or -1. */
extern int signal_source;

void reset_signals(void);
bool take_signals(void);
void block_signals(sigset_t *set);
