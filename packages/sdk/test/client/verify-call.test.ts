import { describe, expect, test } from 'vitest';
import type { ToldCall } from '../../src/client/verify-call.ts';
import { verifyCall } from '../../src/index.ts';
import { keyLine, ringOf, stranger, vectors } from '../signer.ts';

const { predicate } = JSON.parse(
  Buffer.from(JSON.parse(vectors.receipt).payload, 'base64').toString('utf8'),
) as { predicate: { call: { id: string }; outcome: { status: 'ok'; code: string } } };

const told: ToldCall = {
  callId: predicate.call.id,
  ...predicate.outcome,
  ...{ input: vectors.input, output: vectors.output as ToldCall['output'] },
  receipt: JSON.parse(vectors.receipt),
};

describe('verifyCall()', () => {
  test('passes for what the receipt states, with and without the input', async () => {
    const keys = await ringOf(vectors.keyFile);
    const report = await verifyCall(told, keys);
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(report).toMatchObject({ ok: true, statement: { predicate } });
    const { input: _, ...withoutInput } = told;
    expect(await verifyCall(withoutInput, keys)).toMatchObject({ ok: true });
  });

  test.each<[string, Partial<ToldCall>]>([
    ['another call', { callId: 'call_other' }],
    ['another input', { input: { other: 1 } }],
    ['another output', { output: { other: 1 } }],
    ['no output', { output: null }],
    ['another status', { status: 'failed' }],
    ['another code', { code: 'tier/timeout' }],
    ['no receipt', { receipt: null }],
    ['a receipt without a signature', { receipt: { payload: '', payloadType: '', signatures: [] } }],
  ])('does not hold for %s', async (_, other) => {
    const report = await verifyCall({ ...told, ...other }, await ringOf(vectors.keyFile));
    expect(report.ok).toBe(false);
    expect(report.checks.filter(({ ok }) => !ok)).toHaveLength(1);
  });

  test('does not hold under keys that are not trusted', async () => {
    expect(await verifyCall(told, await ringOf(keyLine(stranger)))).toMatchObject({
      ok: false,
      statement: null,
    });
  });
});
