import type { Actor } from '../../../core/principal.ts';
import { administrator } from '../../../invoke/administer.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import type { LockSource } from '../../../vault/lock.ts';
import { MIN_SCRUBBED_BYTES } from '../../../vault/scrub.ts';
import {
  checkName,
  formatScope,
  GLOBAL,
  MAX_VALUE_BYTES,
  parseScope,
  SCOPE_SHAPE,
} from '../../../vault/secret.ts';
import type { Vault } from '../../../vault/vault.ts';
import { askHidden, isAtTerminal } from '../ask.ts';
import { type Bound, choiceOf, parsedOf, principalOf, readNamed, wrongUsage } from '../input.ts';
import { withGateway } from '../opened.ts';
import { operateOn } from '../operate.ts';
import type { Invocation } from '../verb.ts';

/** The longest value and a line end, so that it is the vault that refuses a value that is too long. */
const TOO_LONG = `it has more than ${MAX_VALUE_BYTES} bytes, expected 1 to ${MAX_VALUE_BYTES}`;
const BOUND: Bound = {
  maxBytes: MAX_VALUE_BYTES + 2,
  refuse: () => wrongUsage(`Cannot use the value of the secret: ${TOO_LONG}`),
};
const LOCKS: readonly LockSource[] = ['passphrase', 'file'];

export async function set(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const { name, scope } = secretOf(invocation);
  return administerVault(invocation, async (gateway) => {
    await unlock(invocation, gateway.vault);
    const value = await readValue(invocation, name);
    const kept = await operateOn(invocation, gateway, 'setSecret', { name, scope, value });
    const { version, bytes } = kept;
    return print.result(kept, () => {
      print.note('set', 'green', `  ${name} (${scope}), version ${version}, ${bytes} bytes`);
      if (bytes < MIN_SCRUBBED_BYTES)
        print.note('!', 'yellow', ' it is too short to be removed from the output of tools');
      noteLock(invocation, gateway);
    });
  });
}

/** From the terminal without an echo, else from standard input; never from the command line, which others can read. */
async function readValue(invocation: Invocation, name: string): Promise<Uint8Array> {
  if (isAtTerminal(invocation)) return Buffer.from(await askHidden(invocation, `Value of ${name}`));
  const bytes = Buffer.from(await readNamed(invocation, '-', BOUND));
  if (invocation.flags.exact === true) return bytes;
  // The line end that `echo` and editors put behind the last line is not part of the value.
  const end = bytes.at(-1) !== 0x0a ? 0 : bytes.at(-2) === 0x0d ? 2 : 1;
  return bytes.subarray(0, bytes.length - end);
}

export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return administerVault(invocation, async (gateway) => {
    const listed = await operateOn(invocation, gateway, 'listSecrets', {});
    return print.result(listed, () => {
      print.table(
        ['NAME', 'SCOPE', 'VERSION', 'BYTES', 'SET', 'USED'],
        listed.secrets.map(({ name, scope, version, bytes, createdAt, usedAt }) => [
          ...[name, scope, version, bytes, createdAt, usedAt ?? 'never'],
        ]),
        'The vault has no secrets.',
      );
      noteLock(invocation, gateway);
    });
  });
}

export async function remove(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const { name, scope } = secretOf(invocation);
  return administerVault(invocation, async (gateway) => {
    const { vault } = gateway;
    if (vault.lockedWith !== null) await unlock(invocation, vault);
    const removed = await operateOn(invocation, gateway, 'removeSecret', { name, scope });
    return print.result(removed, () => print.note('removed', 'green', `  ${name} (${scope})`));
  });
}

/** The passphrase that locks the vault is typed at this machine and never travels, so no operation rotates it. */
export async function rotate(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const target = choiceOf(invocation, 'to', LOCKS);
  const lost = flags.lost === true;
  return administerVault(invocation, async (gateway, by) => {
    const { vault } = gateway;
    const settings = gateway.config.vault;
    if (!lost && vault.lockedWith !== null) await unlock(invocation, vault);
    // Asked for where a person can choose one: the file of the operator comes first, and a script has no terminal.
    const isTyped = settings.passphraseFile === null && isAtTerminal(invocation);
    const isAsked = isTyped && (target ?? vault.lockedWith ?? settings.key) === 'passphrase';
    const passphrase = isAsked ? { passphrase: await askNewPassphrase(invocation) } : {};
    const to = target === undefined ? {} : { to: target };
    const rotation = await vault.rotate(by, { ...to, ...passphrase, lost });
    return print.result({ ...rotation, lost }, () => {
      const { secrets, to: lock } = rotation;
      if (lost) print.note('started over', 'yellow', `  secrets removed: ${secrets}`);
      else {
        print.note('rotated', 'green', `  secrets encrypted again: ${secrets}; locked with a ${lock}`);
        print.next('older copies of the database need the old key, which is gone');
      }
    });
  });
}

/** Opens the gateway and asks the policies whether the caller may administer it, before anything is typed. */
function administerVault(
  invocation: Invocation,
  act: (gateway: Opened<Gateway>, by: Actor) => Promise<number>,
): Promise<number> {
  const by = principalOf(invocation);
  return withGateway(invocation, (gateway) =>
    act(gateway, administrator(gateway, { by, tenant: gateway.config.gateway.tenant })),
  );
}

/** The secret that a command line names, before anyone types a value for a name that cannot be used. */
function secretOf(invocation: Invocation) {
  const [name = ''] = invocation.args;
  checkName(name);
  const scope = parsedOf(invocation, 'scope', parseScope, SCOPE_SHAPE) ?? GLOBAL;
  return { name, scope: formatScope(scope) };
}

/** Asks for the passphrase where a person can type it; elsewhere the vault reports what is missing. */
async function unlock(invocation: Invocation, vault: Vault): Promise<void> {
  if (!vault.needsPassphrase || !isAtTerminal(invocation)) return;
  const isNew = vault.lockedWith === null;
  const ask = () => askHidden(invocation, 'Passphrase of the vault');
  vault.givePassphrase(isNew ? await askNewPassphrase(invocation) : await ask());
  // A wrong one is reported before a value is typed.
  await vault.open();
}

async function askNewPassphrase(invocation: Invocation): Promise<string> {
  const passphrase = await askHidden(invocation, 'New passphrase of the vault');
  const again = await askHidden(invocation, 'Repeat the passphrase');
  if (passphrase !== again) throw wrongUsage('Cannot use the passphrase: the two entries differ');
  return passphrase;
}

function noteLock({ print }: Invocation, { vault, config: { vault: settings } }: Opened<Gateway>): void {
  const { lockedWith } = vault;
  // A keychain is not supported yet; the vault reports that where it is needed.
  if (lockedWith === null || lockedWith === settings.key || settings.key === 'keychain') return;
  const is = ` the vault is locked with a ${lockedWith}, palisade.toml says "${settings.key}"`;
  print.note('!', 'yellow', is);
  print.next(`palisade secrets rotate --to ${settings.key}`);
}
