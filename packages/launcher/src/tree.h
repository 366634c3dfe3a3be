/* The tree: finding and ending what the command started. */
#pragma once

#include "launcher.h"

enum {
    /* Processes that one scan of the tree can hold; the next scan finds the others. */
    MAX_FOUND = 65536,
};
/* A stack: the children of one process lie above those of its parent. */
extern pid_t found_processes[MAX_FOUND];

struct branch {
    pid_t process;
    int handle, depth;
    size_t top;
};

size_t find_children(pid_t parent, size_t top);
void find_children_files(void);
void end_branch(pid_t process, const struct branch *parent);
void end_children(void);
