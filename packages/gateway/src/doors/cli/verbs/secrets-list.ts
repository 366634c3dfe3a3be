import { secretDocument } from '../../../operations/secrets.ts';
import { administerVault, noteLock } from '../administered-vault.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return administerVault(invocation, async (administered) => {
    const { vault } = administered;
    const secrets = vault.list().map(secretDocument);
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
