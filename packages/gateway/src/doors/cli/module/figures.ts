/** Numbers as people read them. */

/** `1.2 KB`; decimal, like the rates of machines. */
export function writeBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${rounded(bytes / 1_000)} KB` : `${rounded(bytes / 1_000_000)} MB`;
}

const TIMES = [
  [1_000, 's', 1_000],
  [1, 'ms', 1],
  [0.001, 'µs', 0.001],
] as const;

/** `1.23 ms`, in the unit that fits. */
export function writeTime(ms: number): string {
  for (const [from, unit, divisor] of TIMES) if (ms >= from) return `${rounded(ms / divisor)} ${unit}`;
  return `${rounded(ms * 1_000_000)} ns`;
}

/** `12,345`; below ten with two digits behind the point. */
export function rounded(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}
