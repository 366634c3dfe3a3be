/*
 * A strict reader of JSON in UTF-8: no duplicate keys, no lone surrogates, no invalid UTF-8, no number beyond a float,
 * nothing after the value, and nested no deeper than the gateway allows. Texts without escapes are not copied.
 */
#ifndef PALISADE_JSON_READ_H
#define PALISADE_JSON_READ_H

#include "memory.h"
#include "number.h"

#define PALISADE_MOST_DEEP 128

typedef enum {
  PALISADE_NULL,
  PALISADE_FALSE,
  PALISADE_TRUE,
  PALISADE_NUMBER,
  PALISADE_TEXT,
  PALISADE_LIST,
  PALISADE_OBJECT,
} palisade_kind;

typedef struct palisade_json {
  palisade_kind kind;
  /** The key, if it is a member of an object. */
  palisade_bytes key;
  palisade_bytes text;
  double number;
  /** Items or members. */
  struct palisade_json *first;
  struct palisade_json *next;
  uint32_t size;
} palisade_json;

/** A member of an object; NULL if it is not an object or has no such member. */
static inline const palisade_json *palisade_get(const palisade_json *value, palisade_bytes key) {
  if (!value || value->kind != PALISADE_OBJECT) return NULL;
  const palisade_json *member = value->first;
  while (member && !palisade_same(member->key, key)) member = member->next;
  return member;
}

static inline bool palisade_is(const palisade_json *value, palisade_kind kind) {
  return value && value->kind == kind;
}

typedef struct {
  const uint8_t *at;
  const uint8_t *end;
} palisade_cursor;

/** The next byte; -1 at the end. */
static inline int32_t palisade_peek(const palisade_cursor *cursor) {
  return cursor->at < cursor->end ? *cursor->at : -1;
}

static inline bool palisade_take(palisade_cursor *cursor, int32_t byte) {
  if (palisade_peek(cursor) != byte) return false;
  cursor->at++;
  return true;
}

static inline bool palisade_take_word(palisade_cursor *cursor, const char *word) {
  for (; *word != 0; word++)
    if (!palisade_take(cursor, *word)) return false;
  return true;
}

static inline bool palisade_is_digit(int32_t byte) {
  return byte >= '0' && byte <= '9';
}

static inline uint32_t palisade_take_digits(palisade_cursor *cursor) {
  const uint8_t *const from = cursor->at;
  while (palisade_is_digit(palisade_peek(cursor))) cursor->at++;
  return (uint32_t)(cursor->at - from);
}

static inline void palisade_skip_space(palisade_cursor *cursor) {
  for (int32_t byte = palisade_peek(cursor); byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
       byte = palisade_peek(cursor))
    cursor->at++;
}

/** The number of four hexadecimal digits; -1 if there are fewer. */
static inline int32_t palisade_take_hex(palisade_cursor *cursor) {
  int32_t unit = 0;
  for (int left = 4; left > 0; left--) {
    const int32_t byte = palisade_peek(cursor);
    if (byte < 0) return -1;
    const int32_t small = byte | 0x20;
    if (palisade_is_digit(byte)) unit = unit << 4 | (byte - '0');
    else if (small >= 'a' && small <= 'f') unit = unit << 4 | (small - 'a' + 10);
    else return -1;
    cursor->at++;
  }
  return unit;
}

/** The character of an escape after its backslash; -1 if it is invalid. */
static inline int32_t palisade_take_escape(palisade_cursor *cursor) {
  const int32_t letter = palisade_peek(cursor);
  if (letter < 0) return -1;
  cursor->at++;
  switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u': break;
    default: return -1;
  }
  const int32_t unit = palisade_take_hex(cursor);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  if (unit > 0xdbff || !palisade_take(cursor, '\\') || !palisade_take(cursor, 'u')) return -1;
  const int32_t low = palisade_take_hex(cursor);
  return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/** Reads a character of several bytes. */
static inline bool palisade_take_wide(palisade_cursor *cursor) {
  const uint8_t first = *cursor->at;
  const int32_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || cursor->end - cursor->at <= more) return false;
  const uint8_t second = cursor->at[1];
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return false;
  for (int32_t next = 2; next <= more; next++)
    if (cursor->at[next] >> 6 != 2) return false;
  cursor->at += 1 + more;
  return true;
}

/** Writes a character in UTF-8; returns the position after it. */
static inline uint8_t *palisade_put_character(uint8_t *buffer, uint32_t character) {
  if (character < 0x80) {
    *buffer = (uint8_t)character;
    return buffer + 1;
  }
  const int32_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  for (int32_t next = more; next > 0; next--, character >>= 6) buffer[next] = 0x80 | (character & 0x3f);
  *buffer = (uint8_t)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | character);
  return buffer + more + 1;
}

/** The text between quotes that was checked before. */
static inline palisade_bytes palisade_unescaped(palisade_cursor inside) {
  uint8_t *const room = palisade_alloc((uint32_t)(inside.end - inside.at));
  uint8_t *end = room;
  while (inside.at < inside.end) {
    if (palisade_take(&inside, '\\')) end = palisade_put_character(end, (uint32_t)palisade_take_escape(&inside));
    else *end++ = *inside.at++;
  }
  return (palisade_bytes){room, (uint32_t)(end - room)};
}

/** Reads a text in quotes; false if there is none, or if it is not valid UTF-8. */
static inline bool palisade_read_text(palisade_cursor *cursor, palisade_bytes *text) {
  if (!palisade_take(cursor, '"')) return false;
  const uint8_t *const from = cursor->at;
  bool has_escape = false;
  for (int32_t byte; (byte = palisade_peek(cursor)) != '"';) {
    // True at the end (-1), too.
    if (byte < 0x20) return false;
    if (byte == '\\') {
      has_escape = true;
      cursor->at++;
      if (palisade_take_escape(cursor) < 0) return false;
    } else if (byte < 0x80) cursor->at++;
    else if (!palisade_take_wide(cursor)) return false;
  }
  const palisade_cursor inside = {from, cursor->at++};
  *text = has_escape ? palisade_unescaped(inside) : (palisade_bytes){from, (uint32_t)(inside.end - from)};
  return true;
}

/** Reads a number; false if there is none, or if it is larger than any float. */
PALISADE_APART bool palisade_read_number(palisade_cursor *cursor, double *number) {
  const bool is_negative = palisade_take(cursor, '-');
  const uint8_t *const from = cursor->at;
  const uint32_t whole = palisade_take_digits(cursor);
  if (whole == 0 || (*from == '0' && whole > 1)) return false;
  uint32_t part = 0;
  if (palisade_take(cursor, '.') && (part = palisade_take_digits(cursor)) == 0) return false;
  const uint8_t *const end = cursor->at;
  int32_t power = 0;
  if (palisade_take(cursor, 'e') || palisade_take(cursor, 'E')) {
    const bool is_small = palisade_take(cursor, '-');
    if (!is_small) palisade_take(cursor, '+');
    if (!palisade_is_digit(palisade_peek(cursor))) return false;
    for (; palisade_is_digit(palisade_peek(cursor)); cursor->at++)
      // Saturates beyond what the digits could compensate for.
      if (power < 100000000) power = power * 10 + (*cursor->at - '0');
    if (is_small) power = -power;
  }
  palisade_decimal decimal = {.count = 0, .point = (int32_t)whole, .has_more = false};
  uint64_t exact = 0;
  for (const uint8_t *at = from; at < end; at++) {
    if (*at == '.') continue;
    palisade_decimal_push(&decimal, *at - '0');
    if (decimal.count <= PALISADE_EXACT_DIGITS) exact = exact * 10 + (*at - '0');
  }
  decimal.point += power;
  const int32_t scale = power - (int32_t)part;
  const bool is_exact = decimal.count <= PALISADE_EXACT_DIGITS && scale >= -PALISADE_EXACT_POWER &&
                        scale <= PALISADE_EXACT_POWER;
  const double value = !is_exact    ? palisade_decimal_float(&decimal)
                       : scale >= 0 ? (double)exact * palisade_ten_to(scale)
                                    : (double)exact / palisade_ten_to(-scale);
  if (__builtin_isinf(value)) return false;
  *number = is_negative ? -value : value;
  return true;
}

static inline bool palisade_read_value(palisade_cursor *cursor, palisade_json *into, int32_t depth);

/** Reads items or members up to the end of a list or an object. */
static inline bool palisade_read_inside(palisade_cursor *cursor, palisade_json *into, int32_t depth) {
  const bool has_keys = into->kind == PALISADE_OBJECT;
  const int32_t close = has_keys ? '}' : ']';
  palisade_skip_space(cursor);
  if (palisade_take(cursor, close)) return true;
  palisade_json **last = &into->first;
  // Canonical keys are sorted: a key above all others cannot be a duplicate, so the others are not compared.
  palisade_bytes highest = palisade_none;
  do {
    palisade_json *const item = palisade_alloc(sizeof *item);
    *item = (palisade_json){0};
    if (has_keys) {
      palisade_skip_space(cursor);
      if (!palisade_read_text(cursor, &item->key)) return false;
      if (palisade_is_beyond(item->key, highest)) highest = item->key;
      else if (palisade_get(into, item->key)) return false;
      palisade_skip_space(cursor);
      if (!palisade_take(cursor, ':')) return false;
    }
    if (!palisade_read_value(cursor, item, depth)) return false;
    *last = item;
    last = &item->next;
    into->size++;
  } while (palisade_take(cursor, ','));
  return palisade_take(cursor, close);
}

static inline bool palisade_read_bare(palisade_cursor *cursor, palisade_json *into, int32_t depth) {
  switch (palisade_peek(cursor)) {
    case '{':
    case '[':
      into->kind = *cursor->at++ == '{' ? PALISADE_OBJECT : PALISADE_LIST;
      return depth < PALISADE_MOST_DEEP && palisade_read_inside(cursor, into, depth + 1);
    case '"': into->kind = PALISADE_TEXT; return palisade_read_text(cursor, &into->text);
    case 't': into->kind = PALISADE_TRUE; return palisade_take_word(cursor, "true");
    case 'f': into->kind = PALISADE_FALSE; return palisade_take_word(cursor, "false");
    case 'n': into->kind = PALISADE_NULL; return palisade_take_word(cursor, "null");
    default: into->kind = PALISADE_NUMBER; return palisade_read_number(cursor, &into->number);
  }
}

/** Reads a value and the space around it. */
static inline bool palisade_read_value(palisade_cursor *cursor, palisade_json *into, int32_t depth) {
  palisade_skip_space(cursor);
  const bool is_read = palisade_read_bare(cursor, into, depth);
  palisade_skip_space(cursor);
  return is_read;
}

/** Parses bytes; NULL if they are not JSON. The value refers to the bytes. */
static inline const palisade_json *palisade_parse(palisade_bytes bytes) {
  palisade_json *const value = palisade_alloc(sizeof *value);
  *value = (palisade_json){0};
  palisade_cursor cursor = {bytes.at, bytes.at + bytes.length};
  return palisade_read_value(&cursor, value, 0) && cursor.at == cursor.end ? value : NULL;
}

#endif
