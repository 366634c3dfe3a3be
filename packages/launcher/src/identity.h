/* The user of the command, which is never the root of the host. */
#pragma once

#include "launcher.h"

bool is_host_root(void);
void drop_capabilities(void);
void take_identity(void);
void require_no_host_root(void);
