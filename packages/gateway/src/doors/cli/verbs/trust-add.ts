import { addTrust } from '../../../invoke/skills/trust.ts';
import { trustedKeyDocument } from '../../../operations/trust.ts';
import { shortKey } from '../skill/operate/key-reference.ts';
import { takeKey } from '../skill/operate/offered-key.ts';
import type { Invocation } from '../verb.ts';

const QUESTION = { act: 'trust the key', question: 'Type the name of the publisher to trust this key' };

/** Trusts a key to sign for a publisher, with its fingerprint in front of whoever is asked. */
export function run(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  return takeKey(invocation, QUESTION, async (gateway, adding) => {
    const key = await addTrust(gateway, adding);
    if (print.json) print.document(trustedKeyDocument(key, edge.clock.nowMs()));
    else print.note('trusted', 'green', `  ${shortKey(key.keyId)} signs for ${adding.publisher}`);
  });
}
