/* Bytes, their allocation, and the functions of a C library that the compiler expects. */
#ifndef PALISADE_MEMORY_H
#define PALISADE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Borrowed bytes; texts are in UTF-8 and not terminated by a zero. */
typedef struct {
  const uint8_t *at;
  uint32_t length;
} palisade_bytes;

static const palisade_bytes palisade_none = {0, 0};

/** The bytes of a literal. */
#define palisade_text(literal) ((palisade_bytes){(const uint8_t *)("" literal), sizeof(literal) - 1})

/** For a function with a large stack frame, which must not be inlined into a recursive one. */
#define PALISADE_APART static __attribute__((noinline, unused))

#define PALISADE_PAGE 65536u
#define PALISADE_ALIGNMENT 16u

extern uint8_t __heap_base;

/** The address of the next allocation; zero before the first. */
__attribute__((weak)) uintptr_t palisade_next;

/** Allocates so many bytes, aligned for every type; traps if memory is exhausted. Nothing is ever freed. */
__attribute__((weak, export_name("palisade_alloc"))) void *palisade_alloc(uint32_t length) {
  const uintptr_t free = palisade_next ? palisade_next : (uintptr_t)&__heap_base;
  const uintptr_t address = (free + PALISADE_ALIGNMENT - 1) & ~(uintptr_t)(PALISADE_ALIGNMENT - 1);
  const uint64_t end = (uint64_t)address + length;
  const uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PALISADE_PAGE;
  if (end > have) {
    const uint64_t pages = (end - have + PALISADE_PAGE - 1) / PALISADE_PAGE;
    if (pages > PALISADE_PAGE || __builtin_wasm_memory_grow(0, (uint32_t)pages) == (size_t)-1)
      __builtin_trap();
  }
  palisade_next = (uintptr_t)end;
  return (void *)address;
}

/* The compiler must not turn the loops below into calls of the functions that they implement. */
#define PALISADE_PLAIN __attribute__((weak, no_builtin))

PALISADE_PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t length) {
  for (size_t at = 0; at < length; at++) ((uint8_t *)to)[at] = ((const uint8_t *)from)[at];
  return to;
}

PALISADE_PLAIN void *memmove(void *to, const void *from, size_t length) {
  uint8_t *const target = to;
  const uint8_t *const source = from;
  if (target < source)
    for (size_t at = 0; at < length; at++) target[at] = source[at];
  else
    for (size_t at = length; at > 0; at--) target[at - 1] = source[at - 1];
  return to;
}

PALISADE_PLAIN void *memset(void *to, int value, size_t length) {
  for (size_t at = 0; at < length; at++) ((uint8_t *)to)[at] = (uint8_t)value;
  return to;
}

PALISADE_PLAIN int memcmp(const void *one, const void *other, size_t length) {
  for (size_t at = 0; at < length; at++) {
    const int difference = ((const uint8_t *)one)[at] - ((const uint8_t *)other)[at];
    if (difference != 0) return difference;
  }
  return 0;
}

PALISADE_PLAIN size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

/** The bytes of a zero-terminated text. */
static inline palisade_bytes palisade_of(const char *text) {
  return (palisade_bytes){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static inline bool palisade_same(palisade_bytes one, palisade_bytes other) {
  return one.length == other.length && memcmp(one.at, other.at, one.length) == 0;
}

/** Whether one comes after another in the order of their bytes. */
static inline bool palisade_is_beyond(palisade_bytes one, palisade_bytes other) {
  const uint32_t length = one.length < other.length ? one.length : other.length;
  const int order = memcmp(one.at, other.at, length);
  return order > 0 || (order == 0 && one.length > other.length);
}

/** What follows the first so many bytes. */
static inline palisade_bytes palisade_after(palisade_bytes bytes, uint32_t length) {
  return (palisade_bytes){bytes.at + length, bytes.length - length};
}

/** Two texts concatenated, in newly allocated memory. */
static inline palisade_bytes palisade_join(palisade_bytes one, palisade_bytes other) {
  uint8_t *const buffer = palisade_alloc(one.length + other.length);
  memcpy(buffer, one.at, one.length);
  memcpy(buffer + one.length, other.at, other.length);
  return (palisade_bytes){buffer, one.length + other.length};
}

#endif
