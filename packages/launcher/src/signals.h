/* Signals: those that the launcher handles, and those that a command starts with. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* A signalfd for SIGCHLD and the termination signals, or -1. */
extern int signal_source;

void reset_signals(void);
bool is_order(int number, int code, pid_t sender);
bool take_signals(void);
void block_signals(sigset_t *set);
