/* The start of a service: a connection to its manager that outlives the exec. */
#pragma once

#include "launcher.h"

_Noreturn void become_service(int count, char **words);
