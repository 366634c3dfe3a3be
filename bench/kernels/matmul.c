#include "kernel.h"

/* The product of two n × n matrices of doubles, n at most 320; the second one is turned first. */

#define MOST 320

static double left[MOST * MOST], right[MOST * MOST], product[MOST * MOST];

static CALLED double row_by_row(const double *a, const double *b, u32 n) {
  double sum = 0;
  for (u32 k = 0; k < n; k++) sum += a[k] * b[k];
  return sum;
}

EXPORT u32 run(u32 n) {
  if (n > MOST) n = MOST;
  u32 seed = 7;
  for (u32 i = 0; i < n * n; i++) {
    left[i] = (double)(next_random(&seed) & 1023) / 64.0;
    right[i] = (double)(next_random(&seed) & 1023) / 64.0;
  }
  for (u32 i = 0; i < n; i++)
    for (u32 j = 0; j < n; j++) product[i * n + j] = row_by_row(left + i * n, right + j * n, n);
  u32 sum = 0;
  for (u32 i = 0; i < n * n; i++) sum = mix(sum, (u32)(long long)product[i]);
  return sum;
}
