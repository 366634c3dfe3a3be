#include "kernel.h"

/* Five bodies that attract each other, n steps. */

#define BODIES 5

static double x[BODIES], y[BODIES], z[BODIES], vx[BODIES], vy[BODIES], vz[BODIES], mass[BODIES];

static CALLED void advance(double step) {
  for (int i = 0; i < BODIES; i++) {
    for (int j = i + 1; j < BODIES; j++) {
      double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      double square = dx * dx + dy * dy + dz * dz;
      double pull = step / (square * __builtin_sqrt(square));
      vx[i] -= dx * mass[j] * pull, vy[i] -= dy * mass[j] * pull, vz[i] -= dz * mass[j] * pull;
      vx[j] += dx * mass[i] * pull, vy[j] += dy * mass[i] * pull, vz[j] += dz * mass[i] * pull;
    }
  }
  for (int i = 0; i < BODIES; i++) x[i] += step * vx[i], y[i] += step * vy[i], z[i] += step * vz[i];
}

EXPORT u32 run(u32 n) {
  u32 seed = 3;
  for (int i = 0; i < BODIES; i++) {
    x[i] = (double)(int)(next_random(&seed) % 2001) / 100 - 10;
    y[i] = (double)(int)(next_random(&seed) % 2001) / 100 - 10;
    z[i] = (double)(int)(next_random(&seed) % 2001) / 100 - 10;
    vx[i] = vy[i] = vz[i] = 0;
    mass[i] = 1 + i * 0.25;
  }
  for (u32 i = 0; i < n; i++) advance(0.001);
  u32 sum = 0;
  for (int i = 0; i < BODIES; i++) sum = mix(sum, (u32)(int)(x[i] * 1e6 + y[i] * 1e5 + z[i] * 1e4));
  return sum;
}
