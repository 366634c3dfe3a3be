/* Files of /proc: one buffer, no heap. */
#pragma once

#include <sys/time.h>

#include "text.h"

/* The parent of a process, when it began, and the ticks that it and the children that it waited for have used. */
struct process_stat {
    pid_t parent;
    uint64_t start, own_ticks, waited_ticks;
};

const char *path_of(struct text *path, pid_t process, const char *name);
void read_from(int file);
char *next_line(void);
char *next_word(char **line);
int open_of(pid_t process, uint64_t thread, const char *name, int flags);
bool look_at(pid_t process, struct process_stat *stat_of);
uint64_t microseconds_of(struct timeval time);
uint64_t now_us(void);
