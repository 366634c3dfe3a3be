/* What every kernel has: sizes of integers, one export, and numbers that look random and are the same each time. */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORT __attribute__((export_name("run"), visibility("default")))
/* Keeps a function that a real program would call from being folded into its only caller. */
#define CALLED __attribute__((noinline))

static inline u32 next_random(u32 *state) {
  u32 x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return *state = x;
}

static inline u32 mix(u32 sum, u32 value) {
  return (sum ^ value) * 0x01000193u;
}
