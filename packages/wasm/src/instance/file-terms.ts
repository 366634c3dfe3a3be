import { type Limits, narrowLimits } from '../limits.ts';
import { refusal } from './disk-form.ts';
import type { Price } from './host.ts';
import type { KeyParts } from './key.ts';
import type { Outline } from './outline.ts';
import { readOutline } from './read-outline.ts';

/** What a disk form says about the module in it, beside the code. */
export type FileTerms = KeyParts & {
  readonly hostCharged: readonly string[];
  readonly outline: Outline;
};

export function writeFileTerms(terms: FileTerms): string {
  const { moduleDigest, limits, form, isDeterministic, prices, hostCharged, outline } = terms;
  return JSON.stringify({ moduleDigest, limits, form, isDeterministic, prices, hostCharged, outline });
}

/** Reads terms that fit an engine with such limits, or refuses them as 'malformed'. */
export function readFileTerms(text: string, most: Limits): FileTerms {
  const raw = parseObject(text);
  const { moduleDigest, form, isDeterministic } = raw;
  if (typeof moduleDigest !== 'string') throw unfit('moduleDigest', moduleDigest);
  if (form !== 'local' && form !== 'thread') throw unfit('form', form);
  if (typeof isDeterministic !== 'boolean') throw unfit('isDeterministic', isDeterministic);
  const limits = readLimits(raw.limits, most);
  const prices = readList(raw.prices, 'prices', isPrice);
  const hostCharged = readList(raw.hostCharged, 'hostCharged', isText);
  const outline = readOutline(raw.outline);
  if (outline === null) throw unfit('outline', raw.outline);
  return { moduleDigest, limits, form, isDeterministic, prices, hostCharged, outline };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const raw: unknown = JSON.parse(text);
    if (typeof raw === 'object' && raw !== null) return { ...raw };
  } catch (cause) {
    throw refusal('its terms are not JSON', 'some that were written here', undefined, cause);
  }
  throw unfit('terms', text);
}

function readLimits(raw: unknown, most: Limits): Limits {
  if (typeof raw !== 'object' || raw === null) throw unfit('limits', raw);
  try {
    // Boundary: a file compiled under wider limits than this engine's is refused.
    const limits = narrowLimits(most, raw);
    if (Object.keys(raw).length === Object.keys(limits).length) return limits;
  } catch (cause) {
    throw refusal('its limits are not ours', "limits within the engine's", undefined, cause);
  }
  throw refusal('some of its limits are missing', 'all of them');
}

function readList<T>(raw: unknown, name: string, isItem: (item: unknown) => item is T): readonly T[] {
  if (!Array.isArray(raw) || !raw.every(isItem)) throw unfit(name, raw);
  return raw;
}

function isText(raw: unknown): raw is string {
  return typeof raw === 'string';
}

function isPrice(raw: unknown): raw is Price {
  if (!Array.isArray(raw) || raw.length !== 3) return false;
  return isText(raw[0]) && isText(raw[1]) && Number.isSafeInteger(raw[2]) && Number(raw[2]) >= 0;
}

function unfit(name: string, value: unknown): Error {
  return refusal(`its ${name} is of type ${typeof value}`, 'one that was written here');
}
