import type { Outline } from './outline.ts';
import type { ValueName } from './value.ts';

const KINDS: ReadonlySet<unknown> = new Set(['table', 'memory', 'global']);
const VALUES: ReadonlySet<unknown> = new Set<ValueName>([
  ...(['i32', 'i64', 'f32', 'f64', 'v128', 'funcref', 'externref'] as const),
]);

/** An outline as it was written; null for anything else. Whether it belongs to the code is proved by the seal. */
export function readOutline(raw: unknown): Outline | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const { types, imports, exports, startOwed, functions, copies, guestMemory, memories, images, bytes } =
    raw as Readonly<Record<string, unknown>>;
  if (!isListOf(types, isSignature)) return null;
  const isKind = (value: unknown) => KINDS.has(value) || (isCount(value) && value < types.length);
  const isSound =
    isListOf(imports, (each) => isRow(each, [isText, isText, isKind])) &&
    isListOf(exports, (each) => isRow(each, [isText, isKind, isCount])) &&
    isListOf(memories, (each) => isRow(each, [isCount, isCount])) &&
    (images === null || isListOf(images, (each) => isRow(each, [isCount, isCount, isCount, isCount]))) &&
    isListOf(copies, (each) => isRow(each, [isCount, isCount])) &&
    [startOwed, functions, guestMemory, bytes].every(isCount);
  return isSound ? (raw as Outline) : null;
}

type Check = (value: unknown) => boolean;

function isSignature(raw: unknown): boolean {
  const { params, results } = (raw ?? {}) as Readonly<Record<string, unknown>>;
  return isListOf(params, (each) => VALUES.has(each)) && isListOf(results, (each) => VALUES.has(each));
}

function isRow(raw: unknown, checks: readonly Check[]): boolean {
  return Array.isArray(raw) && raw.length === checks.length && checks.every((check, at) => check(raw[at]));
}

function isListOf(raw: unknown, check: Check): raw is readonly unknown[] {
  return Array.isArray(raw) && raw.every(check);
}

function isText(raw: unknown): boolean {
  return typeof raw === 'string';
}

function isCount(raw: unknown): raw is number {
  return Number.isSafeInteger(raw) && (raw as number) >= 0;
}
