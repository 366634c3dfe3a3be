import { CodedError } from '../core/coded-error.ts';
import { formatScope, type Scope } from './scope.ts';

/* What this room says when it says no. No message has a byte of a value, a key or a passphrase. */

/** A secret as messages call it. */
export function naming(name: string, scope: Scope): string {
  return `the secret "${name}" (${formatScope(scope)})`;
}

/** The key is not at hand. */
export function locked(what: string, remedy?: string): CodedError {
  return new CodedError(
    'vault/locked',
    `Cannot open the vault: ${what}`,
    remedy === undefined ? {} : { remedy },
  );
}

/** The key is at hand and what is stored does not open with it. */
export function unreadable(what: string, remedy?: string): CodedError {
  return new CodedError('vault/unreadable', what, remedy === undefined ? {} : { remedy });
}

/** There is no such secret. */
export function missing(what: string, remedy?: string): CodedError {
  return new CodedError('vault/missing', what, remedy === undefined ? {} : { remedy });
}

/** The words that it was asked with cannot be used. */
export function misused(what: string, remedy?: string): CodedError {
  return new CodedError('door/wrong-usage', what, remedy === undefined ? {} : { remedy });
}
