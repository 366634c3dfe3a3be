/* The Unix sockets that a run may connect to: those of its own processes. */
#pragma once

#include <sys/socket.h>

#include "launcher.h"

/* In place of an error number: the answer is not known yet. */
enum { WAIT = -1 };

void look_at_own(void);
int open_target(pid_t caller, const char *path);
int connect_now(int file, const void *address, socklen_t length);
int judge_target(int file, int target);
int connect_to(int file, int target);
