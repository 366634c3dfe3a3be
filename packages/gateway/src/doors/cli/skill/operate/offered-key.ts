import type { Gateway, Opened } from '../../../../invoke/gateway.ts';
import type { Adding } from '../../../../invoke/skills/trust.ts';
import type { Invocation } from '../../verb.ts';
import { withGateway } from './act.ts';
import { confirm, requireAnswerable } from './confirm.ts';
import { expiryOf } from './expiry.ts';
import { printFingerprint, readKeyFile, readPublisher } from './key-file.ts';

/** What somebody is asked before a key is taken. */
export type KeyQuestion = { readonly act: string; readonly question: string };

type Take = (gateway: Opened<Gateway>, adding: Adding) => Promise<void>;

/** Shows the fingerprint of the key that the words name, asks for the name of its publisher, and takes it. */
export async function takeKey(
  invocation: Invocation,
  { act, question }: KeyQuestion,
  take: Take,
): Promise<number> {
  const [raw = '', path = ''] = invocation.args;
  const publisher = readPublisher(raw);
  const expiresAtMs = expiryOf(invocation);
  const asked = { act, question, answer: publisher, needs: ['yes'] } as const;
  requireAnswerable(invocation, asked);
  const { document, keyId } = await readKeyFile(invocation, path);
  return withGateway(invocation, async (gateway, acting) => {
    printFingerprint(invocation.print, publisher, keyId);
    await confirm(invocation, asked);
    await take(gateway, { ...acting, publisher, document, expiresAtMs });
    return 0;
  });
}
