/* Text: bounded, without libc's formatting, which is not safe between fork and exec. */
#pragma once

#include "launcher.h"

struct text {
    char *bytes;
    size_t size, length;
};
#define TEXT(name, capacity) \
    char name##_bytes[capacity]; \
    struct text name = {name##_bytes, sizeof name##_bytes, 0}

void add_byte(struct text *text, char byte);
void add(struct text *text, const char *string);
void add_number(struct text *text, uint64_t number);
void add_escaped(struct text *text, const char *string, char also);
const char *string_of(struct text *text);
const char *name_of_error(int number);
bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);
