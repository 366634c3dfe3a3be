import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  canonicalize,
  encodeEnvelope,
  type KeyRing,
  preAuthEncoding,
  RECEIPT_PAYLOAD_TYPE,
  type ReceiptOptions,
  toUtf8,
  verifyReceipt,
  webPrimitives,
} from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { rotateKey } from '../../packages/gateway/src/invoke/administer.ts';
import { proveRecord } from '../../packages/gateway/src/journal/search.ts';
import {
  callTool,
  GRACE,
  openTestGateway,
  recordsOf,
  ringOf,
  type TestGateway,
  testClock,
} from '../../packages/gateway/test/fixture/gateway.ts';

/* Somebody passes off the receipt of one call, gateway or key as that of another. */

async function called(gateway: TestGateway, message: string) {
  const { receipt, callId } = await callTool(gateway, 'palisade.echo', { input: { message } });
  const seq = recordsOf(gateway).find(({ kind, call }) => kind === 'ended' && call === callId)?.seq ?? 0;
  return { receipt: receipt ?? '', seq };
}

async function failedChecks(receipt: string, ring: KeyRing, options: ReceiptOptions = {}): Promise<string[]> {
  const { checks } = await verifyReceipt(receipt, ring, options, webPrimitives);
  return checks.filter(({ ok }) => !ok).map(({ name }) => name);
}

/** Signs any statement with the private key that lies in a state directory. */
function forge(pem: string, receipt: string, change: (payload: string) => string): string {
  const { payload, signatures } = JSON.parse(receipt);
  const bytes = toUtf8(change(Buffer.from(payload, 'base64').toString('utf8')));
  const key = createPrivateKey(pem.slice(pem.indexOf('-----')));
  const signature = sign(null, preAuthEncoding(RECEIPT_PAYLOAD_TYPE, bytes), key);
  return encodeEnvelope(RECEIPT_PAYLOAD_TYPE, bytes, signatures[0].keyid, signature);
}

describe('the receipt of another call', () => {
  test('does not fit the input, the output or the place of this one', async () => {
    const gateway = await openTestGateway();
    const [a, b] = [await called(gateway, 'a'), await called(gateway, 'b')];
    const ring = await ringOf(gateway);
    const facts = { input: { message: 'a' }, output: { message: 'a' }, proof: proveRecord(gateway, a.seq) };
    expect(await failedChecks(a.receipt, ring, facts)).toEqual([]);
    expect(await failedChecks(b.receipt, ring, { input: facts.input })).toEqual([
      'The input is the one given',
    ]);
    expect(await failedChecks(b.receipt, ring, { output: facts.output })).toEqual([
      'The output is the one given',
    ]);
    const misplaced = await failedChecks(b.receipt, ring, { proof: facts.proof });
    expect(misplaced).toContain('The record has the number that the receipt names');
    expect(misplaced).toContain('The record holds the digest of the receipt');
  });
});

describe('the receipt of another gateway', () => {
  test('is signed by a key that this one does not know', async () => {
    const [ours, theirs] = [await openTestGateway(), await openTestGateway()];
    const { receipt } = await called(theirs, 'a');
    expect(await failedChecks(receipt, await ringOf(theirs))).toEqual([]);
    expect(await failedChecks(receipt, await ringOf(ours))).toEqual(['The key of the receipt is known']);
  });

  test('does not become ours by putting our key id on it', async () => {
    const [ours, theirs] = [await openTestGateway(), await openTestGateway()];
    const { receipt } = await called(theirs, 'a');
    const { signatures, ...rest } = JSON.parse(receipt);
    const relabelled = canonicalize({
      ...rest,
      signatures: [{ ...signatures[0], keyid: ours.keys.currentId }],
    });
    expect(await failedChecks(relabelled, await ringOf(ours))).toEqual([
      'The signature of the receipt is valid',
    ]);
  });
});

describe('a stolen key that was retired', () => {
  test('signs nothing that was made after it was retired', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    const pem = readFileSync(join(gateway.stateDir, 'keys', 'current.pem'), 'utf8');
    const { receipt } = await called(gateway, 'a');
    clock.add(1000);
    rotateKey(gateway, GRACE, false);
    const ring = await ringOf(gateway);
    expect(
      await failedChecks(
        forge(pem, receipt, (payload) => payload),
        ring,
      ),
    ).toEqual([]);
    const later = forge(pem, receipt, (payload) =>
      payload.replaceAll('2026-05-01T12:00', '2026-05-01T13:00'),
    );
    expect(await failedChecks(later, ring)).toEqual(['The key was in use when the call ended']);
  });
});
