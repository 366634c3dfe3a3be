import { existsSync } from 'node:fs';
import { type KeyRing, parseKeyRing } from '@palisade/sdk';
import { nodePrimitives } from '../../attest/primitives.ts';
import { CodedError } from '../../core/coded-error.ts';
import { readFileFlag, textOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

/** The keys to trust: those of --key, else those of the state directory. */
export async function trustedKeys(invocation: Invocation): Promise<KeyRing> {
  const path = textOf(invocation, 'key');
  const text = path === undefined ? await ownKeys(invocation) : await readFileFlag(path);
  const ring = await parseKeyRing(text, nodePrimitives);
  if (ring.ok) return ring.keys;
  throw new CodedError(
    'attest/unverified',
    `Cannot trust the keys of ${path ?? 'the state directory'}: ${ring.why} (line ${ring.line})`,
  );
}

async function ownKeys(invocation: Invocation): Promise<string> {
  const { path } = invocation.stateDir;
  // Opening would make a new state directory with a new key, and nothing is signed by that one.
  if (!existsSync(path))
    throw wrongUsage(`Cannot find keys to trust: there is no "${path}", expected --key FILE`);
  const records = await invocation.openRecords();
  try {
    return records.keys.export();
  } finally {
    await records.close();
  }
}
