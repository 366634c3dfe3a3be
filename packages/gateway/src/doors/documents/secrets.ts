import { isoTime } from '../../core/clock.ts';
import { formatScope, type SecretEntry } from '../../vault/secret.ts';

/** What programs read of a secret: everything but its value. */
export function secretDocument({ name, scope, version, bytes, createdAtMs, usedAtMs }: SecretEntry) {
  const usedAt = usedAtMs === null ? null : isoTime(usedAtMs);
  return { name, scope: formatScope(scope), version, bytes, createdAt: isoTime(createdAtMs), usedAt };
}
