import { canonicalize } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { digestBytes } from '../../src/core/digest.ts';
import type { Json } from '../../src/core/json.ts';
import { bodyOf, openTestGateway, PERMIT_ALL, recordsOf } from '../fixture/gateway.ts';
import { endCall } from '../journal/ending.ts';

const SECRET = 'sk-live-7Hq2mZ9xW4';

/** The facts of isolation in a receipt. */
function isolationIn(receipt: string): Readonly<Record<string, unknown>> {
  const { payload } = JSON.parse(receipt) as { payload: string };
  return JSON.parse(Buffer.from(payload, 'base64').toString()).predicate.execution.isolation;
}

async function end(egress: Json) {
  const gateway = await openTestGateway({ policies: PERMIT_ALL, env: { DEPLOY_TOKEN: SECRET } });
  const { store, journal, presence } = gateway;
  const about = { call: 'call_1', principal: 'agent:ada', tool: 'palisade.echo', tenant: 'default' };
  const receipt = store.transact((tx) => {
    journal.append(tx, { ...about, kind: 'intent', body: {}, opens: presence.id });
    return endCall(gateway, tx, about.call, egress);
  });
  const [ended] = recordsOf(gateway).filter(({ kind }) => kind === 'ended');
  if (ended === undefined) throw new Error('nothing has ended');
  return { isolation: isolationIn(receipt), written: bodyOf(ended).egress as Json | undefined };
}

describe('the receipt of a run with a network', () => {
  test.each([
    ['as it was told', 'a.test'],
    ['without a secret that a name had', `${SECRET}.a.test`],
  ])('has the digest of what the journal has, %s', async (_, host) => {
    const { isolation, written } = await end({ requests: 1, decisions: [{ host }] });
    expect(JSON.stringify(written)).toContain('a.test');
    expect(JSON.stringify(written)).not.toContain(SECRET);
    expect(isolation.egressRecord).toBe(digestBytes(canonicalize(written ?? null)));
  });

  test('has none where there was no network', async () => {
    const { isolation, written } = await end(null);
    expect(written).toBeUndefined();
    expect(isolation).not.toHaveProperty('egressRecord');
  });
});
