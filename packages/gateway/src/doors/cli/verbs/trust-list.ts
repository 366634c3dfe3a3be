import { isoTime } from '../../../core/clock.ts';
import { keyState, trustedKeyDocument } from '../../../operations/trust.ts';
import { keysOf } from '../../../skills/trust.ts';
import { readPublisher } from '../skill/operate/key-file.ts';
import { shortKey } from '../skill/operate/key-reference.ts';
import type { Invocation } from '../verb.ts';

export async function run({ args, print, edge, openRecords }: Invocation): Promise<number> {
  const publisher = args[0] === undefined ? undefined : readPublisher(args[0]);
  const nowMs = edge.clock.nowMs();
  const records = await openRecords();
  try {
    const keys = keysOf(records.store, publisher);
    if (print.json) print.document({ keys: keys.map((key) => trustedKeyDocument(key, nowMs)) });
    else if (keys.length === 0)
      print.line(publisher === undefined ? 'No publisher is trusted.' : `No key of "${publisher}" is known.`);
    else {
      print.table(
        ['PUBLISHER', 'KEY', 'STATE', 'BY', 'ADDED', 'EXPIRES', 'WHY'],
        keys.map((key) => [
          ...[key.publisher, shortKey(key.keyId), keyState(key, nowMs)],
          key.origin === 'operator' ? key.addedBy : 'first use',
          isoTime(key.addedAtMs),
          key.expiresAtMs === null ? 'never' : isoTime(key.expiresAtMs),
          key.reason ?? '-',
        ]),
      );
    }
    return 0;
  } finally {
    await records.close();
  }
}
