#include "kernel.h"

/* Escape times of an n × n picture, at most 200 steps a point. */

static CALLED u32 escape(double re, double im) {
  double x = 0, y = 0;
  u32 steps = 0;
  while (steps < 200) {
    double xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = 2 * x * y + im;
    x = xx - yy + re;
    steps++;
  }
  return steps;
}

EXPORT u32 run(u32 n) {
  u32 sum = 0;
  for (u32 row = 0; row < n; row++)
    for (u32 column = 0; column < n; column++)
      sum = mix(sum, escape(-2.2 + 3.2 * column / n, -1.6 + 3.2 * row / n));
  return sum;
}
