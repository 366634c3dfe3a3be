#include "kernel.h"

/* Encodes n KiB, at most 1,024, decodes the text again and compares. */

#define MOST (1024 * 1024)

static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static u8 bytes[MOST + 2], decoded[MOST + 2], text[MOST / 3 * 4 + 8], values[256];

static CALLED u32 encode(const u8 *from, u32 count, u8 *to) {
  u8 *start = to;
  for (; count >= 3; count -= 3, from += 3) {
    u32 three = (u32)from[0] << 16 | (u32)from[1] << 8 | from[2];
    *to++ = (u8)LETTERS[three >> 18];
    *to++ = (u8)LETTERS[three >> 12 & 63];
    *to++ = (u8)LETTERS[three >> 6 & 63];
    *to++ = (u8)LETTERS[three & 63];
  }
  if (count) {
    u32 rest = (u32)from[0] << 16 | (count == 2 ? (u32)from[1] << 8 : 0);
    *to++ = (u8)LETTERS[rest >> 18];
    *to++ = (u8)LETTERS[rest >> 12 & 63];
    *to++ = count == 2 ? (u8)LETTERS[rest >> 6 & 63] : '=';
    *to++ = '=';
  }
  return (u32)(to - start);
}

static CALLED u32 decode(const u8 *from, u32 count, u8 *to) {
  u8 *start = to;
  for (; count; count -= 4, from += 4) {
    u32 bad = (u32)(values[from[0]] | values[from[1]]) & 64;
    if (bad) return 0;
    u32 three = (u32)values[from[0]] << 18 | (u32)values[from[1]] << 12;
    *to++ = (u8)(three >> 16);
    if (from[2] == '=') break;
    three |= (u32)values[from[2]] << 6;
    *to++ = (u8)(three >> 8);
    if (from[3] == '=') break;
    three |= values[from[3]];
    *to++ = (u8)three;
  }
  return (u32)(to - start);
}

EXPORT u32 run(u32 kib) {
  u32 count = kib * 1024 > MOST ? MOST : kib * 1024;
  u32 seed = 5, sum = 0;
  for (u32 i = 0; i < 256; i++) values[i] = 64;
  for (u32 i = 0; i < 64; i++) values[(u8)LETTERS[i]] = (u8)i;
  for (u32 i = 0; i < count; i++) bytes[i] = (u8)(next_random(&seed) >> 11);
  for (int round = 0; round < 4; round++) {
    u32 written = encode(bytes, count, text);
    u32 back = decode(text, written, decoded);
    sum = mix(sum, back == count);
    for (u32 i = 0; i < count; i++) sum += bytes[i] ^ decoded[i];
    sum = mix(sum, text[written / 2]);
    bytes[round]++;
  }
  return sum;
}
