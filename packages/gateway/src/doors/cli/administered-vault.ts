import type { VaultConfig } from '../../config/config.ts';
import type { Principal } from '../../core/principal.ts';
import { requireAdministrator } from '../../invoke/administer.ts';
import { GLOBAL, parseScope, SCOPE_SHAPE, type VaultScope } from '../../vault/secret.ts';
import type { Vault } from '../../vault/vault.ts';
import { askHidden, isAtTerminal } from './ask-hidden.ts';
import { principalOf, textOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

/** The vault in the hands of somebody who may administer it. */
export type Administered = {
  readonly vault: Vault;
  readonly by: Principal;
  readonly settings: VaultConfig;
};

/** Opens the gateway, asks the policies, and hands the vault over. */
export async function administerVault(
  invocation: Invocation,
  act: (administered: Administered) => Promise<number>,
): Promise<number> {
  const by = principalOf(invocation);
  const gateway = await invocation.openGateway();
  try {
    requireAdministrator(gateway, by, gateway.config.gateway.tenant);
    return await act({ vault: gateway.vault, by, settings: gateway.config.vault });
  } finally {
    await gateway.close();
  }
}

/** The scope of --scope; for everybody when it is left out. */
export function scopeOf(invocation: Invocation): VaultScope {
  const raw = textOf(invocation, 'scope');
  const scope = raw === undefined ? GLOBAL : parseScope(raw);
  if (scope !== null) return scope;
  throw wrongUsage(`Cannot use the scope "${raw}": it is none, expected ${SCOPE_SHAPE}`);
}

/** Asks for the passphrase where only a person can give it; elsewhere the vault says what is missing. */
export async function unlock(invocation: Invocation, vault: Vault): Promise<void> {
  if (!vault.needsPassphrase || !isAtTerminal(invocation)) return;
  const isNew = vault.lockedWith === null;
  const ask = () => askHidden(invocation, 'Passphrase of the vault');
  vault.givePassphrase(isNew ? await askNewPassphrase(invocation) : await ask());
  // A wrong one is told before a value is typed.
  await vault.open();
}

/** A new passphrase, typed twice. */
export async function askNewPassphrase(invocation: Invocation): Promise<string> {
  const passphrase = await askHidden(invocation, 'New passphrase of the vault');
  const again = await askHidden(invocation, 'The same once more');
  if (passphrase !== again) throw wrongUsage('Cannot use the passphrase: the two are not the same');
  return passphrase;
}

/** Says when the vault is locked otherwise than palisade.toml wants it. */
export function noteLock({ print }: Invocation, { vault, settings }: Administered): void {
  const { lockedWith } = vault;
  // What cannot be had yet is told where it is wanted.
  if (lockedWith === null || lockedWith === settings.key || settings.key === 'keychain' || print.json) return;
  print.note(
    '!',
    'yellow',
    ` the vault is locked with a ${lockedWith}, palisade.toml says "${settings.key}"`,
  );
  print.note('→', 'cyan', ` palisade secrets rotate --to ${settings.key}`);
}
