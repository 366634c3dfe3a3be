#include "kernel.h"

/* Primes below n, at most eight million, by Eratosthenes. */

#define MOST 8000000

static u8 composite[MOST];

EXPORT u32 run(u32 n) {
  if (n > MOST) n = MOST;
  u32 count = 0, last = 0;
  for (u32 i = 0; i < n; i++) composite[i] = 0;
  for (u32 i = 2; i < n; i++) {
    if (composite[i]) continue;
    count++;
    last = i;
    for (u64 j = (u64)i * i; j < n; j += i) composite[j] = 1;
  }
  return mix(count, last);
}
