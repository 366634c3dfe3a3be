import { normalize } from 'node:path';
import type { SecretRule } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import type { BoundSecret } from '../egress/secrets.ts';
import { boundTo } from './host-lists.ts';
import { type Grounds, placeOf } from './place.ts';
import { resolvePath } from './resolve-path.ts';
import { readSecretFile } from './secret-file.ts';

/** A secret as the operator grants it. Its value is read when a run needs it and is kept nowhere. */
export type GrantedSecret = {
  readonly name: string;
  /** Where a run finds what stands for the value. */
  readonly variable: string;
  readonly isFor: BoundSecret['isFor'];
  /** Reads it from its file; null: the vault has it. */
  readonly read: (() => string) | null;
  /** Where the value lies: as it was written, and with the links of this moment followed; nowhere, if in the vault. */
  readonly paths: readonly string[];
};

export type GrantedSecrets = ReadonlyMap<string, GrantedSecret>;

/** The secrets of a configuration by their names; no file is opened. Throws a CodedError for hosts that cannot be read. */
export function grantSecrets(rules: readonly SecretRule[]): GrantedSecrets {
  const granted = rules.map(({ name, variable, hosts, file }, i) => ({
    name,
    variable,
    isFor: boundTo(hosts, `secret[${i}].hosts`),
    read: file === null ? null : () => readSecretFile(file),
    paths: file === null ? [] : [...new Set([normalize(file), resolvePath(file, '/').path])],
  }));
  return new Map(granted.map((secret) => [secret.name, secret]));
}

/** Refuses secrets that nobody grants, and those that would share a variable with another or with the caller. */
export function demandGranted(
  names: readonly string[],
  granted: GrantedSecrets,
  env: Readonly<Record<string, string>>,
): void {
  const taken = new Map<string, string>();
  for (const name of names) {
    const secret = granted.get(name);
    if (secret === undefined) throw unknownSecret(name);
    const { variable } = secret;
    const other = taken.get(variable);
    if (other !== undefined)
      throw sharedVariable(variable, `the secrets ${quote(other)} and ${quote(name)} are both in it`);
    // Boundary: what the caller sets would be taken for what stands for the secret, or the other way round.
    if (Object.hasOwn(env, variable))
      throw sharedVariable(variable, `the secret ${quote(name)} is in it and the call sets it, too`);
    taken.set(variable, name);
  }
}

/** Boundary: a command that can read the file of a secret has the value, and not what stands for it. */
export function demandHidden(granted: GrantedSecrets, grounds: Grounds): void {
  for (const { name, paths } of granted.values()) {
    if (paths.every((path) => placeOf(path, grounds) === 'outside')) continue;
    throw new CodedError(
      'runner/invalid-workspace',
      `Cannot use the workspace: the command could read the file of the secret ${quote(name)}, expected it elsewhere`,
      {
        remedy: 'Have the operator move the file out of the workspaces, the read-only paths and the system.',
      },
    );
  }
}

function unknownSecret(name: string): CodedError {
  return new CodedError(
    'runner/egress-denied',
    `Cannot run the command: there is no secret ${quote(name)}, expected one that the operator grants`,
    {
      remedy:
        'Name a [[secret]] of palisade.toml, or have the operator add it; `palisade config show` lists them.',
    },
  );
}

function sharedVariable(variable: string, what: string): CodedError {
  return new CodedError(
    'runner/environment',
    `Cannot set ${quote(variable)}: ${what}, expected a variable for each`,
  );
}
