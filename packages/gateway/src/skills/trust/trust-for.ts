import { isoTime } from '../../core/clock.ts';
import type { TrustedKey } from './keys.ts';
import type { TrustVerdict } from './verdict.ts';

export type TrustAsked = {
  /** That the manifest names. */
  readonly publisher: string;
  /** That signed; null: nobody did. */
  readonly keyId: string | null;
  readonly nowMs: number;
  /** Whether something new is to come in, or what is here is to run. */
  readonly use: 'install' | 'load';
  /** What the operator says of publishers that never had a key. Left out: they are refused. */
  readonly firstUse?: 'refuse' | 'trust';
};

/** Whether a key may speak for a publisher at a moment. Keys of other publishers among those given speak for nobody here. */
export function trustFor(keys: readonly TrustedKey[], asked: TrustAsked): TrustVerdict {
  const { publisher, keyId, nowMs, use } = asked;
  if (keyId === null) return { ok: false, code: 'skill/unsigned', why: 'it has no signature' };
  const key = keys.find((each) => each.keyId === keyId);
  if (key === undefined) return judgeUnknown(keys, asked);
  const problem = problemOf(key, { publisher, nowMs, use });
  if (problem === null) return { ok: true, how: key.origin };
  return untrusted(`the key ${keyId} ${problem}`);
}

type Judging = Pick<TrustAsked, 'publisher' | 'nowMs' | 'use'>;

function problemOf(key: TrustedKey, { publisher, nowMs, use }: Judging): string | null {
  const { expiresAtMs, retiredAtMs, revokedAtMs, reason } = key;
  // Boundary: a key speaks for one publisher; whoever has it cannot speak for another.
  if (key.publisher !== publisher)
    return `is that of the publisher "${key.publisher}", expected one of "${publisher}"`;
  // That it was revoked or retired counts, not when: no clock that is put back brings it to life.
  if (revokedAtMs !== null) {
    return `was revoked at ${isoTime(revokedAtMs)}${reason === null ? '' : ` (${reason})`}, expected another`;
  }
  if (expiresAtMs !== null && nowMs >= expiresAtMs)
    return `expired at ${isoTime(expiresAtMs)}, expected one that is valid now`;
  if (retiredAtMs !== null && use === 'install') {
    return `was retired at ${isoTime(retiredAtMs)}, expected the one that took its place`;
  }
  return null;
}

function judgeUnknown(keys: readonly TrustedKey[], asked: TrustAsked): TrustVerdict {
  const { publisher, keyId, use, firstUse } = asked;
  // Boundary: a publisher that ever had a key, also one that was revoked, has lost its first use.
  const hasHadKey = keys.some((key) => key.publisher === publisher);
  if (!hasHadKey && use === 'install' && firstUse === 'trust') return { ok: true, how: 'first-use' };
  return untrusted(
    hasHadKey
      ? `the key ${keyId} is none of the publisher "${publisher}", expected one that is trusted for it`
      : `the publisher "${publisher}" has no trusted key, expected ${keyId} to be added first`,
  );
}

function untrusted(why: string): TrustVerdict {
  return { ok: false, code: 'skill/untrusted', why };
}
