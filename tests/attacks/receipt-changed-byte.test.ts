import { parseKeyRing, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { callTool, openTestGateway, ringOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { survivingFlips } from '../../packages/sdk/test/flips.ts';

/* Somebody changes a single byte of a receipt that a real call left, or of the key file that it is verified with. */

const CALLS = [
  ['ended well', 'palisade.echo', '{"message":"hello"}', 'ok'],
  ['was refused', 'palisade.sleep', '{"ms":60000}', 'policy/approval-required'],
  ['failed', 'palisade.sleep', '{"ms":9000}', 'tier/timed-out'],
] as const;

async function receiptOf(tool: string, rawInput: string) {
  const gateway = await openTestGateway();
  const { outcome, receipt } = await callTool(gateway, tool, { rawInput, timeoutMs: 5 });
  return { gateway, receipt: receipt ?? '', code: outcome.code, ring: await ringOf(gateway) };
}

describe('a receipt with one byte changed', () => {
  test.each(CALLS)('of a call that %s never verifies', async (_, tool, rawInput, code) => {
    const made = await receiptOf(tool, rawInput);
    expect(made.code).toBe(code);
    const verifies = async (bytes: Uint8Array | string) =>
      (await verifyReceipt(bytes, made.ring, {}, webPrimitives)).ok;
    expect(await verifies(made.receipt)).toBe(true);
    expect(await survivingFlips(made.receipt, verifies)).toEqual([]);
  });

  test('in the key file is trusted no more', async () => {
    const { gateway, receipt } = await receiptOf('palisade.echo', '{}');
    const verifies = async (bytes: Uint8Array | string) => {
      const ring = await parseKeyRing(bytes, webPrimitives);
      return ring.ok && (await verifyReceipt(receipt, ring.keys, {}, webPrimitives)).ok;
    };
    const keyFile = gateway.keys.export();
    expect(await verifies(keyFile)).toBe(true);
    expect(await survivingFlips(keyFile, verifies)).toEqual([]);
  });
});
