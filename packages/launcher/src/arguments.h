/* Arguments that come on a descriptor. */
#pragma once

#include "launcher.h"

enum { MAX_FRAME = 8388608, MAX_ARGUMENTS = 262144 };
extern char frames[4 + MAX_FRAME];
extern char *listed_arguments[MAX_ARGUMENTS + 2];

uint32_t number_at(const char *bytes);
int list_arguments(char *text, size_t length);
int wait_for_arguments(const char *argument);
void wait_for_command(void);
