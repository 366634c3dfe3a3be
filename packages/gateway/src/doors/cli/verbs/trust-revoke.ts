import { revokeTrust } from '../../../invoke/skills/trust.ts';
import { trustedKeyDocument } from '../../../operations/trust.ts';
import { textOf, wrongUsage } from '../input.ts';
import { withGateway } from '../skill/operate/act.ts';
import { findKey, shortKey } from '../skill/operate/key-reference.ts';
import type { Invocation } from '../verb.ts';

/** Takes all trust from a key, for good; what it signed goes into quarantine with it. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const reason = textOf(invocation, 'reason')?.trim();
  if (!reason) throw wrongUsage('Cannot revoke the key: no reason is given, expected --reason TEXT');
  return withGateway(invocation, async (gateway, acting) => {
    const { keyId, publisher } = findKey(gateway.store, args[0] ?? '');
    const { key, quarantined } = await revokeTrust(gateway, { ...acting, keyId, reason });
    if (print.json) print.document({ key: trustedKeyDocument(key, edge.clock.nowMs()), quarantined });
    else {
      print.note('revoked', 'red', `  ${shortKey(keyId)} of ${publisher}: ${key.reason ?? reason}`);
      for (const skill of quarantined) print.note('in quarantine', 'yellow', `  ${skill}`);
    }
    return 0;
  });
}
