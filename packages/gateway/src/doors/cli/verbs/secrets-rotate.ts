import type { LockSource } from '../../../vault/lock.ts';
import { type Administered, administerVault, askNewPassphrase, unlock } from '../administered-vault.ts';
import { isAtTerminal } from '../ask-hidden.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

const SOURCES: readonly LockSource[] = ['passphrase', 'file'];

export async function run(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const to = targetOf(invocation);
  const lost = flags.lost === true;
  return administerVault(invocation, async (administered) => {
    const { vault, by } = administered;
    if (!lost && vault.lockedWith !== null) await unlock(invocation, vault);
    const passphrase = await newPassphrase(invocation, administered, to);
    const rotation = await vault.rotate(by, { ...to, ...passphrase, lost });
    if (print.json) print.document({ ...rotation, lost });
    else if (lost) print.note('started anew', 'yellow', `  secrets removed: ${rotation.secrets}`);
    else {
      const { secrets, to: lock } = rotation;
      print.note('rotated', 'green', `  secrets sealed anew: ${secrets}; locked with a ${lock}`);
      print.note('→', 'cyan', ' copies of the database from before need the old key, which is gone');
    }
    return 0;
  });
}

function targetOf(invocation: Invocation): { readonly to?: LockSource } {
  const raw = textOf(invocation, 'to');
  if (raw === undefined) return {};
  const to = SOURCES.find((source) => source === raw);
  if (to === undefined) throw wrongUsage(`Cannot rotate to "${raw}": expected one of ${SOURCES.join(', ')}`);
  return { to };
}

/** Asked for where a person is to choose one: the file of the operator comes first, and without a terminal nobody can. */
async function newPassphrase(
  invocation: Invocation,
  { vault, settings }: Administered,
  { to }: { readonly to?: LockSource },
): Promise<{ readonly passphrase?: string }> {
  const target = to ?? vault.lockedWith ?? settings.key;
  if (target !== 'passphrase' || settings.passphraseFile !== null || !isAtTerminal(invocation)) return {};
  return { passphrase: await askNewPassphrase(invocation) };
}
