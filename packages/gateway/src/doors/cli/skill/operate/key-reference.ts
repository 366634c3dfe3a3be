import { CodedError } from '../../../../core/coded-error.ts';
import { keysOf, type TrustedKey } from '../../../../skills/trust.ts';
import type { Reader } from '../../../../store/transaction.ts';
import { wrongUsage } from '../../input.ts';

/** Fewer digits could mean a key that is not meant. */
const LEAST_DIGITS = 8;
const KEY = /^(?:sha256:)?([0-9a-f]{1,64})$/;

/** The one key that an id, or its beginning, means. */
export function findKey(reader: Reader, raw: string): TrustedKey {
  const [, digits = ''] = KEY.exec(raw) ?? [];
  if (digits.length < LEAST_DIGITS)
    throw wrongUsage(
      `Cannot use "${raw}" as a key: expected its id, or at least the first ${LEAST_DIGITS} digits of it`,
    );
  const [key, other] = keysOf(reader).filter(({ keyId }) => keyId.startsWith(`sha256:${digits}`));
  // Boundary: what means two keys means none; the wrong one would be revoked.
  if (other !== undefined)
    throw wrongUsage(`Cannot use "${raw}" as a key: it means several, expected more digits`);
  if (key !== undefined) return key;
  throw new CodedError('skill/untrusted', `Cannot find the key "${raw}": no publisher has it`, {
    remedy: 'See the keys with `palisade trust list`.',
  });
}

/** The beginning of an id, long enough to name it. */
export function shortKey(keyId: string): string {
  return keyId.replace(/^sha256:/, '').slice(0, 16);
}
