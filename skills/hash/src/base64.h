/* Base64 of RFC 4648, in both of its alphabets. What is read has one spelling for each value: no bit is left over. */
#ifndef BASE64_H
#define BASE64_H

#include <palisade.h>

static const char base64_plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static inline palisade_bytes base64_encode(palisade_bytes data, const char *letters, bool is_padded) {
  uint8_t *const place = palisade_alloc((data.length + 2) / 3 * 4);
  uint8_t *end = place;
  for (uint32_t at = 0; at < data.length; at += 3) {
    const uint32_t have = data.length - at < 3 ? data.length - at : 3;
    uint32_t bits = 0;
    for (uint32_t next = 0; next < 3; next++) bits = bits << 8 | (next < have ? data.at[at + next] : 0);
    for (uint32_t next = 0; next < 4; next++) {
      if (next <= have) *end++ = (uint8_t)letters[bits >> (18 - 6 * next) & 63];
      else if (is_padded) *end++ = '=';
    }
  }
  return (palisade_bytes){place, (uint32_t)(end - place)};
}

/** The value of a letter; -1 where it is none. */
static inline int32_t base64_value(uint8_t letter, const char *letters) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (palisade_is_digit(letter)) return letter - '0' + 52;
  if (letter == (uint8_t)letters[62]) return 62;
  return letter == (uint8_t)letters[63] ? 63 : -1;
}

/** With its padding or without it; a wrong one is refused. */
static inline bool base64_decode(palisade_bytes text, const char *letters, palisade_bytes *data) {
  uint32_t length = text.length;
  while (length > 0 && text.length - length < 2 && text.at[length - 1] == '=') length--;
  if (length % 4 == 1 || (length != text.length && text.length % 4 != 0)) return false;
  uint8_t *const place = palisade_alloc(length / 4 * 3 + 2);
  uint32_t written = 0, bits = 0;
  for (uint32_t at = 0; at < length; at++) {
    const int32_t value = base64_value(text.at[at], letters);
    if (value < 0) return false;
    bits = bits << 6 | (uint32_t)value;
    if (at % 4 != 0) place[written++] = (uint8_t)(bits >> (6 - at % 4 * 2));
  }
  const uint32_t left_over = length % 4 == 2 ? 0xf : length % 4 == 3 ? 0x3 : 0;
  if ((bits & left_over) != 0) return false;
  *data = (palisade_bytes){place, written};
  return true;
}

#endif
