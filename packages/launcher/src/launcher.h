/* What all parts of the launcher share: exit statuses and common bounds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Exit statuses of the launcher itself, those of env(1) and timeout(1). */
enum { EXIT_SETUP = 125, EXIT_EXEC = 126, EXIT_ABSENT = 127 };

enum {
    MAX_DESCRIPTORS = 64,
    MAX_DESCRIPTOR = 1048576,
    /* How long to wait at the end for a reader that does not read. */
    DRAIN_TIMEOUT_MS = 5000,
};

static const uint64_t MOST_NUMBER = UINT64_C(1) << 53;
