import { isoTime } from '../../../core/clock.ts';
import { formatScope } from '../../../vault/scope.ts';
import type { SecretEntry } from '../../../vault/secret.ts';
import { administerVault, noteLock } from '../administered-vault.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return administerVault(invocation, async (administered) => {
    const { vault } = administered;
    const secrets = vault.list().map(shown);
    if (print.json) print.document({ lockedWith: vault.lockedWith, secrets });
    else if (secrets.length === 0) print.line('The vault has no secrets.');
    else {
      print.table(
        ['NAME', 'SCOPE', 'VERSION', 'BYTES', 'SET', 'USED'],
        secrets.map(({ name, scope, version, bytes, createdAt, usedAt }) => [
          ...[name, scope, String(version), String(bytes), createdAt, usedAt ?? 'never'],
        ]),
      );
    }
    noteLock(invocation, administered);
    return 0;
  });
}

function shown({ name, scope, version, bytes, createdAtMs, usedAtMs }: SecretEntry) {
  const usedAt = usedAtMs === null ? null : isoTime(usedAtMs);
  return { name, scope: formatScope(scope), version, bytes, createdAt: isoTime(createdAtMs), usedAt };
}
