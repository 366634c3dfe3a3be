import { beforeAll, describe, expect, test } from 'vitest';
import { type KeyRing, type Predicate, verifyJournal } from '../src/index.ts';
import {
  type Ending,
  keyLine,
  makeEndings,
  makeExport,
  makeExportFrom,
  nodePrimitives,
  ringOf,
  signer,
  stranger,
  vectors,
} from './signer.ts';

const CHECK = 'Every ending holds its receipt';
const BAD = 7;

let keys: KeyRing;
beforeAll(async () => {
  keys = await ringOf(vectors.keyFile);
});

const withRecord =
  (fields: object, body: object = {}) =>
  ({ record }: Ending) => ({
    record: { ...record, ...fields, body: { ...(record.body as object), ...body } },
  });
const withPredicate =
  (fields: Partial<Predicate>) =>
  ({ statement }: Ending) => ({
    statement: { ...statement, predicate: { ...statement.predicate, ...fields } },
  });

/** A chain and a checkpoint that hold, and one record that does not say what its receipt says. */
const lies: readonly [string, (ending: Ending) => object, string][] = [
  ['the digest of another receipt', withRecord({}, { receipt: 'a'.repeat(64) }), 'field "body.receipt"'],
  ['another call', withRecord({ call: 'c6' }), 'field "call" is "c6", its receipt says "c7"'],
  ['another principal', withRecord({ principal: 'agent:eve' }), 'field "principal"'],
  ['another tool', withRecord({ tool: 'notes.tail' }), 'field "tool"'],
  ['another tenant', withRecord({ tenant: 'other' }), 'field "tenant"'],
  ['another time', withRecord({ at: '2026-03-01T09:00:01.000Z' }), 'field "at"'],
  ['another kind', withRecord({ kind: 'refused' }), 'field "kind"'],
  ['another status', withRecord({}, { status: 'failed' }), 'field "body.status"'],
  ['another code', withRecord({}, { code: 'tier/timeout' }), 'field "body.code"'],
  [
    'a place that is not its own',
    withPredicate({ journal: { seq: 6, prev: 'a'.repeat(64) } }),
    'field "seq"',
  ],
  ['a receipt signed by a stranger', () => ({ by: stranger }), 'expected one of the 2 keys'],
  ['a receipt by one that poses', () => ({ by: { ...stranger, keyId: signer.keyId } }), 'does not fit'],
  ['an envelope that is none', withRecord({}, { envelope: {} }), 'its receipt does not verify'],
  ['an envelope of nothing', withRecord({}, { envelope: null }), 'its receipt does not verify'],
  [
    'a receipt that contradicts itself',
    withPredicate({ outcome: { status: 'failed', code: 'ok' } }),
    'expected status "ok"',
  ],
];

const lying = (change: (ending: Ending) => object) =>
  makeEndings(12, (ending) => (ending.record.seq === BAD ? change(ending) : {}));

describe('verifyJournal() on records that hold receipts', () => {
  test.each([1, 12, 300])('verifies %i of them', async (count) => {
    const report = await verifyJournal(await makeExport(makeEndings(count)), keys, {}, nodePrimitives);
    expect(report).toMatchObject({ ok: true, firstBad: null });
    expect(report.checks.find(({ name }) => name === CHECK)?.detail).toBe(`${count} receipts`);
  });

  test.each(lies)('names the record with %s', async (_, change, why) => {
    const records = lying(change);
    const whole = await verifyJournal(await makeExport(records), keys);
    expect(whole).toMatchObject({
      ok: false,
      firstBad: { line: BAD + 1, seq: BAD, why: expect.stringContaining(why) },
    });
    expect(whole.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([CHECK]);
    const partial = await verifyJournal(await makeExportFrom(records, 5), keys);
    expect(partial).toMatchObject({ ok: false, firstBad: { line: 4, seq: BAD } });
  });

  test('names what comes first, a false ending or a broken chain', async () => {
    const lines = await makeExport(lying(withRecord({ tool: 'notes.tail' })));
    const cutAfter = lines.filter((_, index) => index !== 10);
    expect((await verifyJournal(cutAfter, keys)).firstBad).toMatchObject({ line: BAD + 1, seq: BAD });
    const cutBefore = lines.filter((_, index) => index !== 3);
    expect((await verifyJournal(cutBefore, keys)).firstBad).toMatchObject({ line: 4, seq: 3 });
  });

  test('refuses a receipt from after its key was retired', async () => {
    const retired = await ringOf(keyLine(signer, { retiredAt: '2026-02-01T00:00:00.000Z' }));
    const report = await verifyJournal(await makeExport(makeEndings(3)), retired);
    expect(report.firstBad).toMatchObject({
      seq: 1,
      why: expect.stringContaining('after the key was retired'),
    });
  });
});
