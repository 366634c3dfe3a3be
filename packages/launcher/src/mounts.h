/* The mount table, and the file systems of control groups in it. */
#pragma once

#include "launcher.h"

/* A line of mountinfo. The point is written as the kernel writes it, with white space as \NNN. */
struct mount_line {
    char *device, *point, *type;
    bool is_read_only;
};

bool next_mount(struct mount_line *mount);
bool is_open_group(const struct mount_line *mount);
void close_groups(void);
