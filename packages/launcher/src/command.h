/* The command's process, up to its exec. */
#pragma once

#include <sys/types.h>

_Noreturn void become_command(int outer_proc, pid_t parent);
