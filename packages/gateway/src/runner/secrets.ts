import { isUtf8 } from 'node:buffer';
import { normalize } from 'node:path';
import type { SecretRule } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { type BoundSecret, problemWithSecret } from '../egress/secrets.ts';
import { readPrivateFile, UnfitFile } from '../store/private-file.ts';
import { boundTo } from './host-lists.ts';
import { resolvePath } from './resolve-path.ts';
import { type ZoneRoots, zoneOf } from './workspace.ts';

/** A secret as the operator grants it. Its value is read when a run needs it and is never stored. */
export type GrantedSecret = {
  readonly name: string;
  /** Where a run finds the placeholder. */
  readonly variable: string;
  readonly isFor: BoundSecret['isFor'];
  /** Reads it from its file; null: the vault has it. */
  readonly read: (() => string) | null;
  /** The path of the value: as written, and with the current links resolved; none if it is in the vault. */
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

/** Refuses secrets that are not granted, and those that would share a variable with another or with the caller. */
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
    // Boundary: a variable of the caller would be confused with the placeholder of the secret.
    if (Object.hasOwn(env, variable))
      throw sharedVariable(variable, `the secret ${quote(name)} is in it and the call sets it, too`);
    taken.set(variable, name);
  }
}

/** Boundary: a command that can read the file of a secret has the value, not just the placeholder. */
export function demandHidden(granted: GrantedSecrets, roots: ZoneRoots): void {
  for (const { name, paths } of granted.values()) {
    if (paths.every((path) => zoneOf(path, roots) === 'outside')) continue;
    throw new CodedError(
      'runner/invalid-workspace',
      `Cannot use the workspace: the command could read the file of the secret ${quote(name)}, expected it elsewhere`,
      {
        remedy:
          'Move the file out of process.workspaces and process.read_only of palisade.toml, and out of the system directories.',
      },
    );
  }
}

function unknownSecret(name: string): CodedError {
  return new CodedError(
    'runner/egress-denied',
    `Cannot run the command: the secret ${quote(name)} does not exist, expected one that the operator grants`,
    {
      remedy: 'Name a [[secret]] of palisade.toml, or add one there; "palisade config show" lists them.',
    },
  );
}

function sharedVariable(variable: string, what: string): CodedError {
  return new CodedError(
    'runner/environment',
    `Cannot set ${quote(variable)}: ${what}, expected a variable for each`,
  );
}

/*
 * A file with one secret in it. It is the operator's, but whatever is at its path may not be: the file is opened once
 * and judged by its descriptor, so that what was judged is what is read. No message contains a byte of it.
 */

const MAX_BYTES = 64 * 1024;

/** The first line of a file that only the user of the gateway can read; throws a CodedError for any other. */
export function readSecretFile(path: string): string {
  const bytes = readBytes(path);
  if (!isUtf8(bytes)) throw unfit(path, 'it is not UTF-8, expected UTF-8 text');
  const [line = ''] = new TextDecoder().decode(bytes).split('\n', 1);
  const value = line.replace(/\r$/, '');
  const problem = problemWithSecret(value);
  if (problem !== null) throw unfit(path, problem);
  return value;
}

function readBytes(path: string): Uint8Array {
  try {
    const bytes = readPrivateFile(path, MAX_BYTES);
    if (bytes !== null) return bytes;
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    throw unfit(path, error.message);
  }
  throw unfit(path, 'it does not exist, expected a readable file');
}

function unfit(path: string, is: string): CodedError {
  return new CodedError('config/invalid', `Cannot use the secret file ${quote(path)}: ${is}`, {
    remedy: 'Put the value alone into a file of your own with mode 0600, and name it in palisade.toml.',
  });
}
