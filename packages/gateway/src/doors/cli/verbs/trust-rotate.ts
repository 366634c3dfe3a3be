import { rotateTrust } from '../../../invoke/skills/trust.ts';
import { withGateway } from '../skill/operate/act.ts';
import { confirm, type Question, requireAnswerable } from '../skill/operate/confirm.ts';
import { keyDocument } from '../skill/operate/documents.ts';
import { expiryOf } from '../skill/operate/expiry.ts';
import { printFingerprint, readKeyFile, readPublisher } from '../skill/operate/key-file.ts';
import { shortKey } from '../skill/operate/key-reference.ts';
import type { Invocation } from '../verb.ts';

/** Trusts a new key of a publisher; the ones before install nothing new, and what they signed goes on. */
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
    const { added, retired } = await rotateTrust(gateway, { ...acting, publisher, document, expiresAtMs });
    if (print.json) print.document({ added: keyDocument(added, edge.clock.nowMs()), retired });
    else {
      print.note('rotated', 'green', `  ${shortKey(added.keyId)} signs for ${publisher} from now on`);
      for (const old of retired) print.note('retired', 'yellow', `  ${shortKey(old)} installs nothing new`);
    }
    return 0;
  });
}

function questionOf(publisher: string): Question {
  return {
    act: 'rotate the key',
    question: 'Type the name of the publisher to trust this key instead of those before',
    answer: publisher,
    needs: ['yes'],
  };
}
