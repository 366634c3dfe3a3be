/* The processor time of the tree. */
#pragma once

#include "launcher.h"

uint64_t tree_cpu_us(void);
uint64_t close_account(void);
