import { isoTime } from '../../core/clock.ts';
import type { TrustedKey } from '../../skills/trust.ts';

/* What programs read of the keys of publishers. */

export type KeyState = 'trusted' | 'retired' | 'expired' | 'revoked';

/** What a key is good for at this moment; the gravest word wins. */
export function keyState({ revokedAtMs, expiresAtMs, retiredAtMs }: TrustedKey, nowMs: number): KeyState {
  if (revokedAtMs !== null) return 'revoked';
  if (expiresAtMs !== null && nowMs >= expiresAtMs) return 'expired';
  return retiredAtMs === null ? 'trusted' : 'retired';
}

export function keyDocument(key: TrustedKey, nowMs: number) {
  const timeOf = (ms: number | null) => (ms === null ? null : isoTime(ms));
  const { publisher, keyId, origin, addedBy, reason } = key;
  return {
    ...{ publisher, keyId, state: keyState(key, nowMs), origin, addedBy, reason },
    addedAt: isoTime(key.addedAtMs),
    expiresAt: timeOf(key.expiresAtMs),
    retiredAt: timeOf(key.retiredAtMs),
    revokedAt: timeOf(key.revokedAtMs),
  };
}
