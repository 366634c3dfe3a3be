#include "kernel.h"

/* Fibonacci by recursion: nothing but calls. */

static CALLED u32 fib(u32 n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

EXPORT u32 run(u32 n) {
  return fib(n);
}
