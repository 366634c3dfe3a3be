/* Two hexadecimal digits for each byte. */
#ifndef HEX_H
#define HEX_H

#include <palisade.h>

static inline palisade_bytes hex_encode(palisade_bytes data) {
  static const char digits[] = "0123456789abcdef";
  uint8_t *const place = palisade_alloc(data.length * 2);
  for (uint32_t at = 0; at < data.length; at++) {
    place[2 * at] = (uint8_t)digits[data.at[at] >> 4];
    place[2 * at + 1] = (uint8_t)digits[data.at[at] & 15];
  }
  return (palisade_bytes){place, data.length * 2};
}

/** The value of a digit, small or large; -1 where it is none. */
static inline int32_t hex_value(uint8_t digit) {
  if (palisade_is_digit(digit)) return digit - '0';
  const uint8_t small = digit | 0x20;
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

static inline bool hex_decode(palisade_bytes text, palisade_bytes *data) {
  if (text.length % 2 != 0) return false;
  uint8_t *const place = palisade_alloc(text.length / 2);
  for (uint32_t at = 0; at < text.length; at += 2) {
    const int32_t high = hex_value(text.at[at]), low = hex_value(text.at[at + 1]);
    if (high < 0 || low < 0) return false;
    place[at / 2] = (uint8_t)(high << 4 | low);
  }
  *data = (palisade_bytes){place, text.length / 2};
  return true;
}

#endif
