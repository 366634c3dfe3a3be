/* A writer of JSON, piece by piece; it adds commas itself. */
#ifndef PALISADE_JSON_WRITE_H
#define PALISADE_JSON_WRITE_H

#include "json-read.h"
#include "memory.h"
#include "number.h"

typedef struct {
  uint8_t *room;
  uint32_t size;
  uint32_t length;
  /** Whether the next value or key needs a comma before it. */
  bool has_before;
} palisade_writer;

static inline palisade_writer palisade_write(void) {
  return (palisade_writer){palisade_alloc(256), 256, 0, false};
}

/** What was written so far. */
static inline palisade_bytes palisade_written(const palisade_writer *writer) {
  return (palisade_bytes){writer->room, writer->length};
}

/** Appends bytes as they are. */
static inline void palisade_put_bytes(palisade_writer *writer, palisade_bytes bytes) {
  if (bytes.length > writer->size - writer->length) {
    uint32_t size = writer->size;
    while (bytes.length > size - writer->length) size *= 2;
    uint8_t *const room = palisade_alloc(size);
    memcpy(room, writer->room, writer->length);
    writer->room = room;
    writer->size = size;
  }
  memcpy(writer->room + writer->length, bytes.at, bytes.length);
  writer->length += bytes.length;
}

static inline void palisade_put_byte(palisade_writer *writer, uint8_t byte) {
  palisade_put_bytes(writer, (palisade_bytes){&byte, 1});
}

static inline void palisade_put_comma(palisade_writer *writer) {
  if (writer->has_before) palisade_put_byte(writer, ',');
  writer->has_before = true;
}

/** Begins an object or a list: '{' or '['. */
static inline void palisade_open(palisade_writer *writer, char bracket) {
  palisade_put_comma(writer);
  palisade_put_byte(writer, (uint8_t)bracket);
  writer->has_before = false;
}

/** Ends it: '}' or ']'. */
static inline void palisade_close(palisade_writer *writer, char bracket) {
  palisade_put_byte(writer, (uint8_t)bracket);
  writer->has_before = true;
}

static inline void palisade_put_escaped(palisade_writer *writer, uint8_t byte) {
  static const char letters[] = "btn\0fr";
  static const char hex[] = "0123456789abcdef";
  palisade_put_byte(writer, '\\');
  if (byte == '"' || byte == '\\') palisade_put_byte(writer, byte);
  else if (byte >= 8 && byte <= 13 && letters[byte - 8] != 0) palisade_put_byte(writer, (uint8_t)letters[byte - 8]);
  else {
    palisade_put_bytes(writer, palisade_text("u00"));
    palisade_put_byte(writer, (uint8_t)hex[byte >> 4]);
    palisade_put_byte(writer, (uint8_t)hex[byte & 15]);
  }
}

/** A text, which must be UTF-8: the gateway refuses an output that is not. */
static inline void palisade_put_text(palisade_writer *writer, palisade_bytes text) {
  palisade_put_comma(writer);
  palisade_put_byte(writer, '"');
  uint32_t from = 0;
  for (uint32_t at = 0; at < text.length; at++) {
    if (text.at[at] >= 0x20 && text.at[at] != '"' && text.at[at] != '\\') continue;
    palisade_put_bytes(writer, (palisade_bytes){text.at + from, at - from});
    palisade_put_escaped(writer, text.at[at]);
    from = at + 1;
  }
  palisade_put_bytes(writer, palisade_after(text, from));
  palisade_put_byte(writer, '"');
}

/** The key of the next value. */
static inline void palisade_put_key(palisade_writer *writer, palisade_bytes key) {
  palisade_put_text(writer, key);
  palisade_put_byte(writer, ':');
  writer->has_before = false;
}

/** Text that is already JSON: `true`, `null`, or the output of another writer. */
static inline void palisade_put_raw(palisade_writer *writer, palisade_bytes json) {
  palisade_put_comma(writer);
  palisade_put_bytes(writer, json);
}

static inline void palisade_put_bool(palisade_writer *writer, bool value) {
  palisade_put_raw(writer, value ? palisade_text("true") : palisade_text("false"));
}

/** The digits of a whole number. */
static inline palisade_bytes palisade_digits(int64_t value) {
  uint8_t *const buffer = palisade_alloc(20);
  uint32_t at = 20;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do buffer[--at] = '0' + (uint8_t)(rest % 10);
  while ((rest /= 10) > 0);
  if (value < 0) buffer[--at] = '-';
  return (palisade_bytes){buffer + at, 20 - at};
}

/** A whole number; the gateway accepts up to 2^53-1, positive or negative. */
static inline void palisade_put_int(palisade_writer *writer, int64_t value) {
  palisade_put_raw(writer, palisade_digits(value));
}

/** A number in the fewest digits that are read back as the same. Traps if it is not finite, which JSON cannot represent. */
PALISADE_APART void palisade_put_number(palisade_writer *writer, double value) {
  if (!__builtin_isfinite(value)) __builtin_trap();
  if (value > -9007199254740992.0 && value < 9007199254740992.0 && (double)(int64_t)value == value) {
    palisade_put_int(writer, (int64_t)value);
    return;
  }
  palisade_decimal decimal;
  palisade_decimal_shortest(&decimal, value < 0 ? -value : value);
  for (int32_t at = 0; at < decimal.count; at++) decimal.digits[at] += '0';
  palisade_put_raw(writer, value < 0 ? palisade_text("-") : palisade_none);
  palisade_put_byte(writer, decimal.digits[0]);
  if (decimal.count > 1) {
    palisade_put_byte(writer, '.');
    palisade_put_bytes(writer, (palisade_bytes){decimal.digits + 1, (uint32_t)decimal.count - 1});
  }
  if (decimal.point == 1) return;
  palisade_put_byte(writer, 'e');
  palisade_put_bytes(writer, palisade_digits(decimal.point - 1));
}

/* A literal key with its value. */

static inline void palisade_put_text_member(palisade_writer *writer, const char *key, palisade_bytes text) {
  palisade_put_key(writer, palisade_of(key));
  palisade_put_text(writer, text);
}

static inline void palisade_put_int_member(palisade_writer *writer, const char *key, int64_t value) {
  palisade_put_key(writer, palisade_of(key));
  palisade_put_int(writer, value);
}

static inline void palisade_put_bool_member(palisade_writer *writer, const char *key, bool value) {
  palisade_put_key(writer, palisade_of(key));
  palisade_put_bool(writer, value);
}

/** A value as it was read. */
static inline void palisade_put_json(palisade_writer *writer, const palisade_json *value) {
  const bool has_keys = value->kind == PALISADE_OBJECT;
  switch (value->kind) {
    case PALISADE_NULL: palisade_put_raw(writer, palisade_text("null")); return;
    case PALISADE_FALSE: palisade_put_bool(writer, false); return;
    case PALISADE_TRUE: palisade_put_bool(writer, true); return;
    case PALISADE_NUMBER: palisade_put_number(writer, value->number); return;
    case PALISADE_TEXT: palisade_put_text(writer, value->text); return;
    default: break;
  }
  palisade_open(writer, has_keys ? '{' : '[');
  for (const palisade_json *item = value->first; item; item = item->next) {
    if (has_keys) palisade_put_key(writer, item->key);
    palisade_put_json(writer, item);
  }
  palisade_close(writer, has_keys ? '}' : ']');
}

#endif
