/* The supervisor: waits for the command, keeps its limits and ends everything that it started. */
#pragma once

#include "launcher.h"

enum stop { STOP_NONE, STOP_CPU, STOP_WALL, STOP_OUTPUT };
struct run {
    pid_t command;
    bool ended, is_ending, cancelled;
    int status;
    uint64_t command_cpu_us, taken, delivered, excess, left;
    enum stop stop;
};
extern struct run run;

bool end_tree(void);
bool is_cancelled(short events);
int run_supervised(void);
