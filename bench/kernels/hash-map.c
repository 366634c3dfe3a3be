#include "kernel.h"

/* Counts n generated words in an open-addressed map of strings: hash, probe, compare. */

#define SLOTS 32768
#define WORDS 12000
#define LONGEST 24

static char words[WORDS][LONGEST];
static u32 lengths[WORDS];
static u32 slots[SLOTS], counts[SLOTS];

static CALLED u32 hash_of(const char *word, u32 length) {
  u32 hash = 2166136261u;
  for (u32 i = 0; i < length; i++) hash = mix(hash, (u8)word[i]);
  return hash ^ hash >> 15;
}

static int same(const char *a, const char *b, u32 length) {
  for (u32 i = 0; i < length; i++)
    if (a[i] != b[i]) return 0;
  return 1;
}

static CALLED u32 find(const char *word, u32 length) {
  u32 slot = hash_of(word, length) & (SLOTS - 1);
  while (slots[slot]) {
    u32 other = slots[slot] - 1;
    if (lengths[other] == length && same(words[other], word, length)) return slot;
    slot = (slot + 1) & (SLOTS - 1);
  }
  return slot;
}

EXPORT u32 run(u32 n) {
  u32 seed = 17, sum = 0, distinct = 0;
  for (u32 i = 0; i < SLOTS; i++) slots[i] = counts[i] = 0;
  for (u32 i = 0; i < WORDS; i++) {
    lengths[i] = 3 + next_random(&seed) % (LONGEST - 3);
    for (u32 j = 0; j < lengths[i]; j++) words[i][j] = (char)('a' + next_random(&seed) % 26);
  }
  for (u32 i = 0; i < n; i++) {
    u32 word = next_random(&seed) % WORDS;
    u32 slot = find(words[word], lengths[word]);
    if (!slots[slot]) {
      slots[slot] = word + 1;
      distinct++;
    }
    counts[slot]++;
  }
  for (u32 i = 0; i < SLOTS; i++) sum = mix(sum, counts[i]);
  return mix(sum, distinct);
}
