#include "kernel.h"

/* Compresses n KiB of text, at most 1,024, by back references found through a hash of four bytes; unpacks and compares. */

#define MOST (1024 * 1024)
#define HASHES 16384

static u8 plain[MOST], packed[MOST * 2], unpacked[MOST];
static u32 heads[HASHES];

static inline u32 four(const u8 *at) {
  return (u32)at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24;
}

static void generate(u32 count) {
  static const char *const WORDS[16] = {"the ", "quick ", "brown ", "fox ", "jumps ", "over ", "a ", "lazy ",
                                        "dog, ", "while ", "nobody ", "looks ", "at ", "it. ", "And ", "so on "};
  u32 seed = 31;
  for (u32 i = 0; i < count;) {
    const char *word = WORDS[next_random(&seed) >> 7 & 15];
    while (*word && i < count) plain[i++] = (u8)*word++;
    if ((seed & 7) == 0 && i < count) plain[i++] = (u8)(seed >> 9);
  }
}

/* Tokens: a byte below 128 says how many literals follow, less one; above, a length less 128 + 4 and two bytes of distance. */
static CALLED u32 literals(const u8 *from, u32 count, u8 *to) {
  u8 *start = to;
  while (count) {
    u32 part = count < 128 ? count : 128;
    *to++ = (u8)(part - 1);
    for (u32 i = 0; i < part; i++) *to++ = *from++;
    count -= part;
  }
  return (u32)(to - start);
}

static CALLED u32 pack(u32 count) {
  u8 *to = packed;
  u32 pending = 0, at = 0;
  for (u32 i = 0; i < HASHES; i++) heads[i] = 0;
  while (at + 4 < count) {
    u32 value = four(plain + at);
    u32 *head = &heads[(value * 2654435761u) >> 18];
    u32 before = *head;
    *head = at + 1;
    if (!before || at + 1 - before > 65535 || four(plain + before - 1) != value) {
      at++;
      continue;
    }
    u32 length = 4;
    while (length < 131 && at + length < count && plain[before - 1 + length] == plain[at + length]) length++;
    to += literals(plain + pending, at - pending, to);
    u32 distance = at + 1 - before;
    *to++ = (u8)(128 + length - 4);
    *to++ = (u8)distance;
    *to++ = (u8)(distance >> 8);
    at += length;
    pending = at;
  }
  to += literals(plain + pending, count - pending, to);
  return (u32)(to - packed);
}

static CALLED u32 unpack(u32 count) {
  const u8 *from = packed, *end = packed + count;
  u8 *to = unpacked;
  while (from < end) {
    u32 token = *from++;
    if (token < 128) {
      for (u32 i = 0; i <= token; i++) *to++ = *from++;
    } else {
      const u8 *source = to - ((u32)from[0] | (u32)from[1] << 8);
      from += 2;
      for (u32 i = 0; i < token - 128 + 4; i++) *to++ = *source++;
    }
  }
  return (u32)(to - unpacked);
}

EXPORT u32 run(u32 kib) {
  u32 count = kib * 1024 > MOST ? MOST : kib * 1024;
  generate(count);
  u32 size = pack(count);
  u32 sum = mix(size, unpack(size) == count);
  for (u32 i = 0; i < count; i++) sum += plain[i] ^ unpacked[i];
  return sum;
}
