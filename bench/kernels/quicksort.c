#include "kernel.h"

/* Sorts n integers, at most a million: quicksort with a middle pivot, insertion for short runs. */

#define MOST 1000000

static int numbers[MOST];

static void insert(int *low, int *high) {
  for (int *at = low + 1; at <= high; at++) {
    int value = *at, *hole = at;
    while (hole > low && hole[-1] > value) {
      *hole = hole[-1];
      hole--;
    }
    *hole = value;
  }
}

static void sort(int *low, int *high) {
  while (high - low > 12) {
    int pivot = low[(high - low) / 2];
    int *i = low, *j = high;
    while (i <= j) {
      while (*i < pivot) i++;
      while (*j > pivot) j--;
      if (i <= j) {
        int other = *i;
        *i++ = *j;
        *j-- = other;
      }
    }
    if (j - low < high - i) {
      sort(low, j);
      low = i;
    } else {
      sort(i, high);
      high = j;
    }
  }
  insert(low, high);
}

EXPORT u32 run(u32 n) {
  if (n > MOST) n = MOST;
  u32 seed = 12345, sum = 0;
  for (u32 i = 0; i < n; i++) numbers[i] = (int)next_random(&seed);
  sort(numbers, numbers + n - 1);
  for (u32 i = 0; i < n; i += 97) sum = mix(sum, (u32)numbers[i]);
  for (u32 i = 1; i < n; i++) sum += numbers[i - 1] > numbers[i];
  return sum;
}
