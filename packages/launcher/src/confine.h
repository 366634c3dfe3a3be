/* What the command's process sets on itself: its directory, and restrictions of system calls, files and resources. */
#pragma once

/* The version of the Landlock ABI that is in force, or 0. */
extern int landlock_applied;

void read_filter(void);
void enter_directory(void);
void restrict_files(void);
void limit_resources(void);
void apply_filter(void);
