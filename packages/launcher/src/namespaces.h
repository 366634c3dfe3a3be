/* The namespaces of a run. */
#pragma once

#include "launcher.h"

bool put_map(const char *file, uint64_t inside, uint64_t outside);
void enter_namespaces(uid_t uid, gid_t gid);
void leave_network(void);
pid_t fork_into_namespaces(void);
