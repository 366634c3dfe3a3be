/*
 * Exact conversion of decimal digits to floats and back: by long arithmetic on the digits, which are doubled and halved
 * until the exponent is known, and then rounded once.
 */
#ifndef PALISADE_NUMBER_H
#define PALISADE_NUMBER_H

#include "memory.h"

/** More digits than these never decide between two floats; a sticky digit records that more followed. */
#define PALISADE_MOST_DIGITS 800
/** The most bits that are shifted at once. */
#define PALISADE_STEP 27
#define PALISADE_MANTISSA_BITS 52
#define PALISADE_LEAST_EXPONENT -1022
#define PALISADE_MOST_EXPONENT 1023

/** Up to here whole numbers and powers of ten are exact as floats, and one operation on them rounds once. */
#define PALISADE_EXACT_DIGITS 15
#define PALISADE_EXACT_POWER 22

static inline double palisade_ten_to(int32_t power) {
  double value = 1;
  for (; power > 0; power--) value *= 10;
  return value;
}

/** Digits, with the point before the first one and moved by `point`: 0.d1 d2 d3 … × 10^point. */
typedef struct {
  uint8_t digits[PALISADE_MOST_DIGITS + 100];
  int32_t count;
  int32_t point;
  bool has_more;
} palisade_decimal;

static inline void palisade_decimal_trim(palisade_decimal *it) {
  while (it->count > 0 && it->digits[it->count - 1] == 0) it->count--;
}

/** Appends a digit; leading zeros only move the point. */
static inline void palisade_decimal_push(palisade_decimal *it, uint8_t digit) {
  if (it->count == 0 && digit == 0) it->point--;
  else if (it->count < PALISADE_MOST_DIGITS) it->digits[it->count++] = digit;
  else if (digit != 0) it->has_more = true;
}

static inline void palisade_decimal_double(palisade_decimal *it, int32_t bits) {
  uint64_t carry = 0;
  for (int32_t at = it->count - 1; at >= 0; at--) {
    carry += (uint64_t)it->digits[at] << bits;
    it->digits[at] = carry % 10;
    carry /= 10;
  }
  int32_t gained = 0;
  for (uint64_t rest = carry; rest > 0; rest /= 10) gained++;
  memmove(it->digits + gained, it->digits, (size_t)it->count);
  for (int32_t at = gained - 1; at >= 0; at--) {
    it->digits[at] = carry % 10;
    carry /= 10;
  }
  it->point += gained;
  it->count += gained;
  for (; it->count > PALISADE_MOST_DIGITS; it->count--)
    if (it->digits[it->count - 1] != 0) it->has_more = true;
  palisade_decimal_trim(it);
}

static inline void palisade_decimal_halve(palisade_decimal *it, int32_t bits) {
  const uint64_t mask = ((uint64_t)1 << bits) - 1;
  uint64_t rest = 0;
  int32_t written = 0;
  for (int32_t read = 0; read < it->count || rest != 0; read++) {
    rest = rest * 10 + (read < it->count ? it->digits[read] : 0);
    const uint8_t digit = (uint8_t)(rest >> bits);
    rest &= mask;
    if (written == 0 && digit == 0) it->point--;
    else if (written < PALISADE_MOST_DIGITS) it->digits[written++] = digit;
    else if (digit != 0) it->has_more = true;
  }
  it->count = written;
  palisade_decimal_trim(it);
}

/** Scales the value to at least a half and below one; returns the power of two that was removed. */
static inline int32_t palisade_decimal_scale(palisade_decimal *it) {
  int32_t exponent = 0;
  while (it->point > 0) {
    const int32_t bits = 3 * it->point < PALISADE_STEP ? 3 * it->point : PALISADE_STEP;
    palisade_decimal_halve(it, bits);
    exponent += bits;
  }
  while (it->point < 0 || it->digits[0] < 5) {
    const int32_t wanted = it->point == 0 ? 1 : -3 * it->point;
    const int32_t bits = wanted < PALISADE_STEP ? wanted : PALISADE_STEP;
    palisade_decimal_double(it, bits);
    exponent -= bits;
  }
  return exponent;
}

/** The nearest whole number; in a tie, the even one. */
static inline uint64_t palisade_decimal_whole(const palisade_decimal *it) {
  uint64_t whole = 0;
  for (int32_t at = 0; at < it->point; at++) whole = whole * 10 + (at < it->count ? it->digits[at] : 0);
  const uint8_t next = it->point >= 0 && it->point < it->count ? it->digits[it->point] : 0;
  const bool is_half = next == 5 && it->point == it->count - 1 && !it->has_more;
  return whole + (is_half ? (whole & 1) : next >= 5);
}

static inline double palisade_float_of_bits(uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/** The nearest float; infinity if it is larger than all of them. */
static inline double palisade_decimal_float(palisade_decimal *it) {
  palisade_decimal_trim(it);
  if (it->count == 0 || it->point < -330) return 0;
  if (it->point > 310) return __builtin_inf();
  int32_t exponent = palisade_decimal_scale(it) - 1;
  for (; exponent < PALISADE_LEAST_EXPONENT; exponent += PALISADE_STEP) {
    const int32_t left = PALISADE_LEAST_EXPONENT - exponent;
    palisade_decimal_halve(it, left < PALISADE_STEP ? left : PALISADE_STEP);
    if (left < PALISADE_STEP) exponent -= PALISADE_STEP - left;
  }
  palisade_decimal_double(it, PALISADE_STEP - 1);
  palisade_decimal_double(it, PALISADE_STEP);
  uint64_t mantissa = palisade_decimal_whole(it);
  if (mantissa >> (PALISADE_MANTISSA_BITS + 1) != 0) {
    mantissa >>= 1;
    exponent++;
  }
  if (exponent > PALISADE_MOST_EXPONENT) return __builtin_inf();
  if (mantissa >> PALISADE_MANTISSA_BITS == 0) return palisade_float_of_bits(mantissa);
  const uint64_t biased = (uint64_t)(exponent + PALISADE_MOST_EXPONENT);
  const uint64_t fraction = mantissa & (((uint64_t)1 << PALISADE_MANTISSA_BITS) - 1);
  return palisade_float_of_bits(biased << PALISADE_MANTISSA_BITS | fraction);
}

/** All digits of a positive finite float. */
static inline void palisade_decimal_of(palisade_decimal *it, double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const int32_t biased = (int32_t)(bits >> PALISADE_MANTISSA_BITS);
  uint64_t mantissa = bits & (((uint64_t)1 << PALISADE_MANTISSA_BITS) - 1);
  if (biased != 0) mantissa |= (uint64_t)1 << PALISADE_MANTISSA_BITS;
  int32_t exponent = (biased == 0 ? 1 : biased) - PALISADE_MOST_EXPONENT - PALISADE_MANTISSA_BITS;
  it->count = it->point = 20;
  it->has_more = false;
  for (int32_t at = it->count - 1; at >= 0; at--, mantissa /= 10) it->digits[at] = mantissa % 10;
  int32_t zeros = 0;
  while (it->digits[zeros] == 0) zeros++;
  memmove(it->digits, it->digits + zeros, (size_t)(it->count - zeros));
  it->count -= zeros;
  it->point -= zeros;
  palisade_decimal_trim(it);
  for (int32_t bits_left = exponent; bits_left > 0; bits_left -= PALISADE_STEP)
    palisade_decimal_double(it, bits_left < PALISADE_STEP ? bits_left : PALISADE_STEP);
  for (int32_t bits_left = -exponent; bits_left > 0; bits_left -= PALISADE_STEP)
    palisade_decimal_halve(it, bits_left < PALISADE_STEP ? bits_left : PALISADE_STEP);
}

/** Rounds to so many digits; in a tie, to the even number. */
static inline void palisade_decimal_round(palisade_decimal *it, int32_t count) {
  if (it->count <= count) return;
  const uint8_t next = it->digits[count];
  const bool is_half = next == 5 && it->count == count + 1 && !it->has_more;
  bool goes_up = is_half ? (it->digits[count - 1] & 1) != 0 : next >= 5;
  it->count = count;
  it->has_more = false;
  for (int32_t at = count - 1; goes_up && at >= 0; at--) {
    goes_up = it->digits[at] == 9;
    it->digits[at] = goes_up ? 0 : it->digits[at] + 1;
  }
  if (goes_up) {
    it->digits[0] = 1;
    it->count = 1;
    it->point++;
  }
  palisade_decimal_trim(it);
}

/** The fewest digits that are read back as this float, which is positive and finite. */
static inline void palisade_decimal_shortest(palisade_decimal *it, double value) {
  palisade_decimal exact, tried;
  palisade_decimal_of(&exact, value);
  // Fifteen digits always survive in a normal float; in a subnormal one fewer do.
  const bool is_subnormal = value < 2.2250738585072014e-308;
  for (int32_t count = is_subnormal ? 1 : 15; count < 18; count++) {
    *it = exact;
    palisade_decimal_round(it, count);
    tried = *it;
    if (palisade_decimal_float(&tried) == value) return;
  }
}

#endif
