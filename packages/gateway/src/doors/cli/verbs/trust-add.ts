import { addTrust } from '../../../invoke/skills/trust.ts';
import { withGateway } from '../skill/operate/act.ts';
import { confirm, type Question, requireAnswerable } from '../skill/operate/confirm.ts';
import { keyDocument } from '../skill/operate/documents.ts';
import { expiryOf } from '../skill/operate/expiry.ts';
import { printFingerprint, readKeyFile, readPublisher } from '../skill/operate/key-file.ts';
import { shortKey } from '../skill/operate/key-reference.ts';
import type { Invocation } from '../verb.ts';

/** Trusts a key to sign for a publisher, with its fingerprint in front of whoever is asked. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const [raw = '', path = ''] = args;
  const publisher = readPublisher(raw);
  const expiresAtMs = expiryOf(invocation);
  const asked = questionOf(publisher);
  requireAnswerable(invocation, asked);
  const { document, keyId } = await readKeyFile(invocation, path);
  return withGateway(invocation, async (gateway, acting) => {
    printFingerprint(print, publisher, keyId);
    await confirm(invocation, asked);
    const key = await addTrust(gateway, { ...acting, publisher, document, expiresAtMs });
    if (print.json) print.document(keyDocument(key, edge.clock.nowMs()));
    else print.note('trusted', 'green', `  ${shortKey(key.keyId)} signs for ${publisher}`);
    return 0;
  });
}

function questionOf(publisher: string): Question {
  return {
    act: 'trust the key',
    question: 'Type the name of the publisher to trust this key',
    answer: publisher,
    needs: ['yes'],
  };
}
