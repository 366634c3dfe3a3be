import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import {
  CHECKPOINT_PAYLOAD_TYPE,
  canonicalize,
  type KeyRing,
  type Predicate,
  RECEIPT_PAYLOAD_TYPE,
  type Report,
  toUtf8,
  verifyReceipt,
  webPrimitives,
} from '../src/index.ts';
import { survivingFlips } from './flips.ts';
import {
  keyLine,
  makeStatement,
  nodePrimitives,
  ringOf,
  sealReceipt,
  sealText,
  signer,
  stranger,
  vectors,
} from './signer.ts';

let keys: KeyRing;
beforeAll(async () => {
  keys = await ringOf(vectors.keyFile);
});

const { input, output, proof, receipt } = vectors;

function withPredicate(change: Partial<Predicate>): string {
  const statement = makeStatement();
  return sealReceipt({ ...statement, predicate: { ...statement.predicate, ...change } });
}

function failures(report: Report): string[] {
  return report.checks.filter((check) => !check.ok).map(({ name, detail }) => `${name}: ${detail}`);
}

describe('verifyReceipt()', () => {
  test('verifies the published receipt with its input, output and proof, check by check', async () => {
    const report = await verifyReceipt(receipt, keys, { input, output, proof });
    expect(failures(report)).toEqual([]);
    expect(report.ok).toBe(true);
    expect(report.statement).toEqual(makeStatement());
    expect(report.checks.map(({ name }) => name)).toMatchInlineSnapshot(`
      [
        "The receipt is a DSSE envelope",
        "The key of the receipt is known",
        "The signature of the receipt is valid",
        "The payload of the receipt is canonical",
        "The payload is in the form of a receipt",
        "The key was in use when the call ended",
        "The status agrees with the code",
        "The execution agrees with the status",
        "The times are in order",
        "The output is described if and only if it is a subject",
        "The input is the one given",
        "The output is the one given",
        "The proof is well formed",
        "The proof holds a journal record",
        "The checkpoint is a DSSE envelope",
        "The key of the checkpoint is known",
        "The signature of the checkpoint is valid",
        "The payload of the checkpoint is canonical",
        "The payload is in the form of a checkpoint",
        "The key was in use at the checkpoint",
        "The checkpoint covers the record",
        "The record has the number that the receipt names",
        "The record follows the one that the receipt names",
        "The record is about the same call",
        "The record holds the digest of the receipt",
      ]
    `);
  });

  test.each([
    ['as bytes', toUtf8(receipt)],
    ['without its line feed', receipt.trimEnd()],
    ['re-indented', JSON.stringify(JSON.parse(receipt), null, 2)],
    [
      're-indented with tabs and carriage returns',
      JSON.stringify(JSON.parse(receipt), null, '\t').replaceAll('\n', '\r\n'),
    ],
    ['spaced as Python writes it', receipt.replaceAll('":', '": ').replaceAll(',"', ', "')],
  ])('verifies a receipt %s', async (_, raw) => {
    expect(failures(await verifyReceipt(raw, keys))).toEqual([]);
  });

  test('verifies with primitives that are handed in', async () => {
    const report = await verifyReceipt(receipt, keys, { input, output, proof }, nodePrimitives);
    expect(failures(report)).toEqual([]);
  });

  test('refuses every change of a single byte', async () => {
    const verifies = async (bytes: Uint8Array) => (await verifyReceipt(bytes, keys)).ok;
    expect(await survivingFlips(receipt, verifies)).toEqual([]);
  });

  test('refuses every cut and every repetition of a byte', async () => {
    const bytes = Buffer.from(receipt);
    for (let at = 0; at < bytes.length; at += 1) {
      const cut = bytes.subarray(0, at);
      const isWhole = at === bytes.length - 1;
      expect((await verifyReceipt(cut, keys)).ok).toBe(isWhole);
      const repeated = Buffer.concat([bytes.subarray(0, at + 1), bytes.subarray(at)]);
      expect((await verifyReceipt(repeated, keys)).ok).toBe(false);
    }
  });

  const envelope = receipt.trimEnd();
  test.each([
    ['two line feeds at the end', `${receipt}\n`, 'not the closing brace'],
    ['a space before it', ` ${receipt}`, 'byte 0'],
    ['a byte order mark', `\ufeff${receipt}`, 'byte 0'],
    ['a duplicate key', envelope.replace('"payloadType"', '"payloadType":"x","payloadType"'), 'canonical'],
    [
      'an escape for the same text',
      envelope.replace('application/', 'application\\/'),
      'canonical encoding from byte',
    ],
    [
      'an added field',
      envelope.replace('"signatures"', '"public":1,"signatures"'),
      'field "public" is present',
    ],
    [
      'an added __proto__ field',
      envelope.replace('{"payload"', '{"__proto__":{},"payload"'),
      '"__proto__" is present',
    ],
    [
      'no signature',
      envelope.replace(/"signatures":\[.*\]/, '"signatures":[]'),
      'a list of 0, expected a list of 1',
    ],
    ['two signatures', envelope.replace(/\[(.*)\]/, '[$1,$1]'), 'a list of 2, expected a list of 1'],
    ['a short signature', envelope.replace(/"sig":"[^"]*"/, '"sig":"AAAA"'), 'canonical base64 of 64 bytes'],
    ['base64 for URLs', envelope.replace(/"payload":"/, '"payload":"-_-_'), 'field "payload"'],
    [
      'another payload type',
      sealText(CHECKPOINT_PAYLOAD_TYPE, canonicalize(makeStatement())),
      'field "payloadType"',
    ],
    ['a text over 1 MiB', `${envelope}${' '.repeat(1024 * 1024)}`, 'expected at most 1048576'],
    ['bytes that are not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d), 'not valid UTF-8'],
    ['nesting without end', `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, 'nested deeper than 128'],
  ])('refuses an envelope with %s', async (_, raw, why) => {
    const report = await verifyReceipt(raw, keys);
    expect(report).toMatchObject({ ok: false, statement: null });
    expect(failures(report).join()).toContain(`The receipt is a DSSE envelope: `);
    expect(failures(report).join()).toContain(why);
  });

  test.each([
    ['has spaces', `${canonicalize(makeStatement())} `, 'canonical'],
    [
      'has its keys in another order',
      JSON.stringify(makeStatement(), ['predicateType', '_type']),
      'canonical',
    ],
    [
      'has a duplicate key',
      canonicalize(makeStatement()).replace('{"_type"', '{"_type":1,"_type"'),
      'canonical',
    ],
    ['is not an object', '[]', 'in the form of a receipt'],
    ['lacks its predicate', '{"_type":"https://in-toto.io/Statement/v1"}', 'field "subject" is missing'],
  ])('refuses a signed payload that %s', async (_, payload, why) => {
    const report = await verifyReceipt(sealText(RECEIPT_PAYLOAD_TYPE, payload), keys);
    expect(report).toMatchObject({ ok: false, statement: null });
    expect(failures(report).join()).toContain(why);
  });

  const { call, outcome } = makeStatement().predicate;
  test.each<[string, Partial<Predicate>, string]>([
    [
      'a status that its code denies',
      { outcome: { ...outcome, code: 'tier/timed-out' } },
      'The status agrees',
    ],
    [
      'a fault that calls itself ok',
      { outcome: { status: 'ok', code: 'gateway/fault' } },
      'The status agrees',
    ],
    ['a refusal that ran', { outcome: { status: 'refused', code: 'policy/denied' } }, 'The execution agrees'],
    ['an ok that ran nowhere', { execution: null }, 'The execution agrees'],
    ['an end before the start', { call: { ...call, endedAt: call.receivedAt } }, 'The times are in order'],
    ['a start before the call', { call: { ...call, startedAt: '2026-01-01T00:00:00.000Z' } }, 'The times'],
    ['an output that is not described', { output: null }, 'The output is described'],
    [
      'an end before its key',
      { call: { ...call, endedAt: '2025-12-31T23:59:59.999Z' } },
      'The key was in use',
    ],
  ])('refuses %s', async (_, change, name) => {
    const report = await verifyReceipt(withPredicate(change), keys);
    expect(report.ok).toBe(false);
    expect(failures(report).join()).toContain(name);
  });

  test('accepts a refusal, which leaves a receipt too', async () => {
    const statement = makeStatement();
    const predicate: Predicate = {
      ...statement.predicate,
      call: { ...call, startedAt: null },
      tool: { id: 'no.such', definition: null },
      outcome: { status: 'refused', code: 'registry/unknown-tool' },
      output: null,
      execution: null,
      limits: null,
    };
    const refused = sealReceipt({ ...statement, subject: statement.subject.slice(0, 1), predicate });
    expect(failures(await verifyReceipt(refused, keys, { input }))).toEqual([]);
    const report = await verifyReceipt(refused, keys, { output });
    expect(failures(report)).toEqual([
      expect.stringContaining('The output is the one given: the receipt names no'),
    ]);
  });

  test.each([
    ['input', { input: { ...(input as object), lines: 4 } }],
    ['input', { input: null }],
    ['input', { input: 1n }],
    ['output', { output: { text: 'one\n' } }],
  ])('refuses another %s', async (name, options) => {
    const report = await verifyReceipt(receipt, keys, options);
    expect(failures(report)).toEqual([expect.stringContaining(`The ${name} is the one given: `)]);
  });

  test.each<[string, Partial<Predicate>, string[]]>([
    ['another call', { call: { ...call, id: 'call-0004' } }, ['same call', 'digest of the receipt']],
    ['another number', { journal: { ...makeStatement().predicate.journal, seq: 5 } }, ['number', 'digest']],
    ['another place', { journal: { seq: 6, prev: 'a'.repeat(64) } }, ['follows', 'digest']],
    ['another tenant', { tenant: 'other' }, ['digest']],
  ])('refuses the proof of a receipt with %s', async (_, change, names) => {
    const report = await verifyReceipt(withPredicate(change), keys, { proof });
    expect(report.ok).toBe(false);
    expect(failures(report)).toEqual(names.map((name) => expect.stringContaining(name)));
  });

  test('refuses a proof that does not verify', async () => {
    const report = await verifyReceipt(receipt, keys, { proof: proof.replace('"path":["', '"path":["00') });
    expect(failures(report)).toEqual([expect.stringContaining('The proof is well formed: field "path.0"')]);
  });

  test('refuses a key it was not given, even one that takes the name of another', async () => {
    const strange = await verifyReceipt(sealReceipt(makeStatement(), stranger), keys);
    expect(failures(strange)).toEqual([expect.stringContaining('The key of the receipt is known')]);
    const posing = await verifyReceipt(
      sealReceipt(makeStatement(), { ...stranger, keyId: signer.keyId }),
      keys,
    );
    expect(failures(posing)).toEqual([expect.stringContaining('The signature of the receipt is valid')]);
  });

  test('refuses a receipt from after its key was retired and accepts one from the last instant', async () => {
    const { endedAt } = call;
    const early = await ringOf(keyLine(signer, { retiredAt: '2026-03-01T09:00:03.119Z' }));
    expect(failures(await verifyReceipt(receipt, early))).toEqual([
      expect.stringContaining('The key was in use'),
    ]);
    const exact = await ringOf(keyLine(signer, { retiredAt: endedAt }));
    expect(failures(await verifyReceipt(receipt, exact))).toEqual([]);
  });

  test('fails the check, without throwing, when the platform has no Ed25519', async () => {
    const verifyEd25519 = () => Promise.reject(new Error('Unrecognized name.'));
    const report = await verifyReceipt(receipt, keys, {}, { ...webPrimitives, verifyEd25519 });
    expect(failures(report)).toEqual([expect.stringContaining('Unrecognized name.')]);
  });

  test('leaves the prototype of objects alone', async () => {
    const statement = JSON.parse(
      JSON.stringify(makeStatement()).replace('"isolation":{', '"isolation":{"__proto__":"polluted",'),
    ) as unknown;
    const report = await verifyReceipt(sealReceipt(statement), keys);
    expect(failures(report)).toEqual([]);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('returns a failed report for any bytes', async () => {
    const anything = fc.oneof(fc.uint8Array(), fc.json(), fc.string({ unit: CHARACTER }));
    await fc.assert(
      fc.asyncProperty(anything, async (raw) => {
        expect(await verifyReceipt(raw, keys, { proof: raw })).toMatchObject({ ok: false, statement: null });
      }),
    );
  });

  test('gives a failed report for any signed payload of another shape', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (payload) => {
        expect((await verifyReceipt(sealText(RECEIPT_PAYLOAD_TYPE, payload), keys)).ok).toBe(false);
      }),
    );
  });
});
