import type { EngineFacts } from '../../core/recording.ts';
import type { DoneHead, GuestLimits, Refused } from './engine-words.ts';
import { type Form, isSealed, readFormHead } from './forms.ts';

const ENDINGS: ReadonlySet<unknown> = new Set(['returned', 'failed', 'trapped']);
const FORM = /^[a-z]{1,16}$/;

/**
 * What an engine says of the end of a call, or null where it makes no sense. Boundary: budgets are settled and receipts
 * signed with these numbers, so they are whole, and no more was used than there was.
 */
export function readDoneHead(raw: unknown, limits: GuestLimits): DoneHead | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const { ending, code, message, detail, fuelUsed, isExact, peakMemoryBytes, isLogCut, engine } =
    raw as Partial<Record<keyof DoneHead, unknown>>;
  const isSound =
    ENDINGS.has(ending) &&
    [code, message, detail].every((text) => text === undefined || typeof text === 'string') &&
    isWhole(fuelUsed) &&
    fuelUsed <= limits.fuel &&
    isWhole(peakMemoryBytes) &&
    peakMemoryBytes <= limits.memoryBytes &&
    [isExact, isLogCut].every((flag) => typeof flag === 'boolean') &&
    (engine === undefined || isEngineFacts(engine));
  return isSound ? (raw as DoneHead) : null;
}

/** What an engine made of a module, or null where it makes no sense. */
export function readPrepared(
  raw: unknown,
  bytes: Uint8Array,
):
  | { readonly kind: 'prepared'; readonly form: Form }
  | { readonly kind: 'refused'; readonly refused: Refused }
  | null {
  const refused = readRefused((raw as { readonly refused?: unknown } | null)?.refused);
  if (refused !== null) return { kind: 'refused', refused };
  const head = readFormHead(raw);
  // Boundary: what is kept for all calls is what it says it is, to the byte.
  return head !== null && isSealed(head, bytes) ? { kind: 'prepared', form: { ...head, bytes } } : null;
}

function readRefused(raw: unknown): Refused | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const { code, message, detail } = raw as Partial<Record<keyof Refused, unknown>>;
  if (typeof code !== 'string' || typeof message !== 'string') return null;
  return { code, message, ...(typeof detail === 'string' ? { detail } : {}) };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Boundary: they go into the recording as they are, so there is nothing else in them. */
function isEngineFacts(raw: unknown): boolean {
  if (typeof raw !== 'object' || raw === null || Object.keys(raw).length !== 3) return false;
  const { meter, form, isDeterministic } = raw as Partial<Record<keyof EngineFacts, unknown>>;
  return (
    isWhole(meter) && typeof form === 'string' && FORM.test(form) && typeof isDeterministic === 'boolean'
  );
}
