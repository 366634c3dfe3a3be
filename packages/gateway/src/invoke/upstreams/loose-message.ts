import type { Json, JsonObject } from '../../core/json.ts';

/**
 * A message that is JSON and not strict, for what it is about: which question it answers, and what a list of tools says,
 * where a bound such as 2^63 is common and means "any". Numbers that a double cannot hold become the nearest that it can.
 * Null where it is no JSON at all, or too deep.
 */
export function looseMessage(line: Uint8Array, maxDepth: number): JsonObject | null {
  try {
    const value = clamped(JSON.parse(Buffer.from(line).toString('utf8')) as Json, maxDepth);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

function clamped(value: Json, depthLeft: number): Json {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
    return value > 0 ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
  }
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null) return value;
  // Boundary: what is nested deeper than the strict reader goes is not walked.
  if (depthLeft === 0) throw new TypeError('Cannot read the message: it is nested too deep');
  if (Array.isArray(value)) return value.map((each: Json) => clamped(each, depthLeft - 1));
  const entries = Object.entries(value).map(
    ([key, each]) => [wellFormed(key), clamped(each, depthLeft - 1)] as const,
  );
  return Object.fromEntries(entries);
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}
