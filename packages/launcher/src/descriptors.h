/* The launcher's own descriptors, and files that it writes. */
#pragma once

#include "launcher.h"

bool is_unix_stream(int descriptor);
void hold_standard_streams(void);
void close_range_of(uint64_t from, uint64_t to);
void close_others(void);
void close_one(int *descriptor);
bool write_file(const char *path, const char *text);
void close_both(int ends[2]);
