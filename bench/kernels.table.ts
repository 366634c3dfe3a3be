/** A kernel of ./kernels: how much it is asked to do in one call, a few milliseconds of it, and what it answers. */
export type Kernel = { readonly name: string; readonly n: number; readonly sum: number };

export const KERNELS: readonly Kernel[] = [
  { name: 'sha256', n: 700, sum: -922_358_805 },
  { name: 'matmul', n: 160, sum: 1_662_597_980 },
  { name: 'quicksort', n: 70_000, sum: 188_299_686 },
  { name: 'fib', n: 29, sum: 514_229 },
  { name: 'json', n: 4000, sum: 548_346_106 },
  { name: 'interpreter', n: 1700, sum: 374_342_089 },
  { name: 'mandelbrot', n: 180, sum: -1_675_280_248 },
  { name: 'sieve', n: 1_300_000, sum: -1_126_896_672 },
  { name: 'base64', n: 340, sum: 483_276_032 },
  { name: 'nbody', n: 50_000, sum: -1_748_368_888 },
  { name: 'hash-map', n: 70_000, sum: 1_176_665_074 },
  { name: 'dijkstra', n: 11_000, sum: 1_891_901_611 },
  { name: 'lz', n: 420, sum: 363_459_632 },
];
