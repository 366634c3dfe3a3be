/* The files of the command: those that were judged, and no others, are executed and read. */
#pragma once

#include "launcher.h"

/* What is executed, in place of the path of the command; -1 if the path is executed. */
extern int executable;

/* Why a file of the command cannot be opened, as the kernel would say on its execution; or 0. */
extern int executable_error;

void hold_executable(void);
void require_held(void);
