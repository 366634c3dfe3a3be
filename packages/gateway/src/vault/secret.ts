import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../core/capability-name.ts';
import { misused } from './refusal.ts';
import { type Asker, formatScope, parseScope, SCOPE_SHAPE, type Scope } from './scope.ts';
import type { Binding } from './seal.ts';

/** What is known about a secret beside its value. */
export type SecretEntry = {
  readonly name: string;
  readonly scope: Scope;
  /** 1 for the first value, one more with each new one. */
  readonly version: number;
  /** When this value was set. */
  readonly createdAtMs: number;
  readonly usedAtMs: number | null;
  readonly bytes: number;
};

/** The secret that is meant when this asker says this name. */
export type SecretRef = {
  readonly name: string;
  readonly scope: Scope;
  readonly version: number;
  readonly asker: Asker;
};

export const MAX_VALUE_BYTES = 64 * 1024;
export const MAX_SECRETS = 10_000;

/** What a sealed value is bound to: moved to another name, scope or version, it does not open. */
export function bindingOf({ kind, subject }: Scope, name: string, version: number): Binding {
  return ['palisade-secret/v1', kind, subject, name, version];
}

/** Refuses a name that no secret can have. The message has nothing of it: people put the value there. */
export function checkName(name: string): void {
  if (isCapabilityName(name)) return;
  const remedy = 'Give the name alone; the value is asked for, or read from standard input.';
  throw misused(`Cannot use this name of a secret: it is no name, expected ${CAPABILITY_NAME_SHAPE}`, remedy);
}

export function checkScope(scope: Scope): void {
  const parsed = parseScope(formatScope(scope));
  // Boundary: two spellings of one scope would be two places for one secret.
  if (parsed?.kind === scope.kind && parsed.subject === scope.subject) return;
  throw misused(`Cannot use this scope: it is none, expected ${SCOPE_SHAPE}`);
}

export function checkValue(value: Uint8Array): void {
  const { length } = value;
  if (length >= 1 && length <= MAX_VALUE_BYTES) return;
  const is = length === 0 ? 'it is empty' : `it has over ${MAX_VALUE_BYTES} bytes`;
  throw misused(`Cannot use the value of the secret: ${is}, expected 1 to ${MAX_VALUE_BYTES} bytes`);
}
