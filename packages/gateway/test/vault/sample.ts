import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { VaultConfig } from '../../src/config/config.ts';
import { CodedError } from '../../src/core/coded-error.ts';
import type { Principal } from '../../src/core/principal.ts';
import { Store } from '../../src/store/store.ts';
import { keyFileIn } from '../../src/vault/keys.ts';
import {
  GLOBAL,
  parseScope,
  type VaultCaller,
  type VaultEvent,
  type VaultScope,
} from '../../src/vault/secret.ts';
import { vaultMigrations } from '../../src/vault/tables.ts';
import { Vault } from '../../src/vault/vault.ts';
import { GRACE, type TestClock, testClock } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

export const VALUE = 'correct-horse-battery-staple';
export const NO_CALL = { call: null, tool: null } as const;
const ADA: Principal = { kind: 'agent', name: 'ada' };
/** Who asks in a test that does not care. */
export const ASKER: VaultCaller = { tenant: 'default', principal: ADA, skill: null };

type Wishes = { readonly directory?: string; readonly settings?: Partial<VaultConfig> };
export type TestVault = {
  readonly vault: Vault;
  readonly store: Store;
  readonly events: VaultEvent[];
  readonly clock: TestClock;
  readonly directory: string;
  readonly keyPath: string;
};

/** A vault on a database of its own, closed and gone with the test. */
export function openVault(wishes: Wishes = {}): TestVault {
  const { directory = tempDir(), settings = {} } = wishes;
  const store = new Store({ directory, migrations: vaultMigrations, busyTimeoutMs: 30_000, nowMs: 0 });
  onTestFinished(() => store.close());
  const [events, clock] = [[] as VaultEvent[], testClock()];
  const vault = new Vault({
    store,
    keys: keyFileIn(join(directory, 'keys')),
    settings: { key: 'file', passphraseFile: null, ...settings },
    clock,
    random: { bytes: (count) => randomBytes(count) },
    onEvent: (_, event) => void events.push(event),
  });
  return { vault, store, events, clock, directory, keyPath: join(directory, 'keys', 'vault.key') };
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

/** A scope as it is written. */
export function scoped(text: string): VaultScope {
  const scope = parseScope(text);
  if (scope === null) throw new Error(`Cannot read the scope "${text}"`);
  return scope;
}

export async function put(
  vault: Vault,
  name: string,
  value: string,
  scope: VaultScope = GLOBAL,
): Promise<void> {
  await vault.set(name, scope, bytes(value), GRACE);
}

/** The value as text, or undefined where there is none for this asker. */
export async function valueIn(
  vault: Vault,
  name: string,
  asker: VaultCaller = ASKER,
): Promise<string | undefined> {
  const ref = vault.find(name, asker);
  return ref === null ? undefined : Buffer.from(await vault.reveal(ref, NO_CALL)).toString();
}

/** The coded error that an act ends with; anything else fails the test. */
export async function refusal(act: () => Promise<unknown>): Promise<CodedError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error('Cannot find the refusal: nothing was thrown');
}

export const PASSPHRASE = 'seven brave otters sing';

/** The same vault, as a process finds it that starts now. */
export function again({ directory }: TestVault, settings = {}): TestVault {
  return openVault({ directory, settings });
}

/** A vault with a secret, locked with the passphrase. */
export async function lockedByPassphrase(settings = {}): Promise<TestVault> {
  const opened = openVault({ settings: { key: 'passphrase', ...settings } });
  opened.vault.givePassphrase(PASSPHRASE);
  await put(opened.vault, 'db', VALUE);
  return opened;
}
