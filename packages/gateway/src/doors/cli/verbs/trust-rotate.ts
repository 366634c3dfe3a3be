import { rotateTrust } from '../../../invoke/skills/trust.ts';
import { trustedKeyDocument } from '../../../operations/trust.ts';
import { shortKey } from '../skill/operate/key-reference.ts';
import { takeKey } from '../skill/operate/offered-key.ts';
import type { Invocation } from '../verb.ts';

const QUESTION = {
  act: 'rotate the key',
  question: 'Type the name of the publisher to trust this key instead of those before',
};

/** Trusts a new key of a publisher; the ones before install nothing new, and what they signed goes on. */
export function run(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  return takeKey(invocation, QUESTION, async (gateway, adding) => {
    const { added, retired } = await rotateTrust(gateway, adding);
    if (print.json) {
      print.document({ added: trustedKeyDocument(added, edge.clock.nowMs()), retired });
      return;
    }
    print.note('rotated', 'green', `  ${shortKey(added.keyId)} signs for ${adding.publisher} from now on`);
    for (const old of retired) print.note('retired', 'yellow', `  ${shortKey(old)} installs nothing new`);
  });
}
