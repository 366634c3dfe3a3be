import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyRing, parseKeyRing } from '@palisade/sdk';
import { Keys } from '../../attest/keys.ts';
import { nodePrimitives } from '../../attest/primitives.ts';
import { CodedError } from '../../core/coded-error.ts';
import { storeErrorOf } from '../../store/fault-of.ts';
import { readFileFlag, textOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

/** The keys to trust: those of --key, else those of the state directory. */
export async function trustedKeys(invocation: Invocation): Promise<KeyRing> {
  const path = textOf(invocation, 'key');
  const text = path === undefined ? ownKeys(invocation) : await readFileFlag(path);
  const ring = await parseKeyRing(text, nodePrimitives);
  if (ring.ok) return ring.keys;
  throw new CodedError(
    'attest/unverified',
    `Cannot trust the keys of ${path ?? 'the state directory'}: ${ring.why} (line ${ring.line})`,
  );
}

/** Refuses where there are no keys to trust yet; opening would make a new key, and nothing is signed by that one. */
export function requireKeys(invocation: Invocation): void {
  if (textOf(invocation, 'key') !== undefined || existsSync(directoryOf(invocation))) return;
  const { path } = invocation.stateDir;
  throw wrongUsage(`Cannot find keys to trust: there are none in "${path}", expected --key FILE`);
}

/** Boundary: read as they lie there. Opening the records and closing them would sign what is still to be verified. */
function ownKeys(invocation: Invocation): string {
  requireKeys(invocation);
  const directory = directoryOf(invocation);
  try {
    return new Keys(directory).export();
  } catch (error) {
    throw storeErrorOf(error, `read the keys in "${directory}"`);
  }
}

function directoryOf({ stateDir }: Invocation): string {
  return join(stateDir.path, 'keys');
}
