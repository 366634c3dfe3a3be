import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { encodeProof, type KeyRing, type ProofReport, verifyCheckpoint, verifyProof } from '../src/index.ts';
import { survivingFlips } from './flips.ts';
import { keyLine, makeRecords, ringOf, sealCheckpoint, signer, stranger, vectors } from './signer.ts';

let keys: KeyRing;
beforeAll(async () => {
  keys = await ringOf(vectors.keyFile);
});

const { proof } = vectors;
const parts = JSON.parse(proof) as { checkpoint: object; path: string[]; record: string };
const recordLines = vectors.journal.split('\n').slice(1, 12);

function failures(report: Pick<ProofReport, 'checks'>): string[] {
  return report.checks.filter((check) => !check.ok).map(({ name, detail }) => `${name}: ${detail}`);
}

function changed(change: Partial<typeof parts>): string {
  const { checkpoint, path, record } = { ...parts, ...change };
  return encodeProof({ checkpoint: JSON.stringify(checkpoint), path, record });
}

describe('verifyProof()', () => {
  test('verifies the published proof, re-indented too, and gives its record', async () => {
    for (const text of [proof, JSON.stringify(JSON.parse(proof), null, 4)]) {
      const report = await verifyProof(text, keys);
      expect(failures(report)).toEqual([]);
      expect(report).toMatchObject({ ok: true, record: { seq: 6, call: 'call-0003' } });
    }
    expect(changed({})).toBe(proof.trimEnd());
  });

  test('refuses every change of a single byte', async () => {
    const verifies = async (bytes: Uint8Array) => (await verifyProof(bytes, keys)).ok;
    expect(await survivingFlips(proof, verifies)).toEqual([]);
  });

  test.each([
    ['another record', changed({ record: recordLines[6] as string }), 'The checkpoint covers the record'],
    [
      'a shorter path',
      changed({ path: parts.path.slice(1) }),
      'a path of 3 hashes does not lead from record 6',
    ],
    ['a longer path', changed({ path: [...parts.path, 'a'.repeat(64)] }), 'a path of 5 hashes'],
    ['no path', changed({ path: [] }), 'a path of 0 hashes'],
    ['a record that is none', changed({ record: '{}' }), 'field "at" is missing'],
    ['a record with spaces', changed({ record: `${parts.record} ` }), 'not the canonical encoding'],
    ['a checkpoint that is none', changed({ checkpoint: {} }), 'field "payload" is missing'],
    [
      'a receipt as checkpoint',
      changed({ checkpoint: JSON.parse(vectors.receipt) as object }),
      'payloadType',
    ],
    [
      'an older checkpoint',
      changed({ checkpoint: JSON.parse(vectors.savedCheckpoint) as object }),
      'does not lead',
    ],
  ])('refuses %s', async (_, text, why) => {
    const report = await verifyProof(text, keys);
    expect(report).toMatchObject({ ok: false, record: null });
    expect(failures(report).join()).toContain(why);
  });

  test('returns a failed report for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.uint8Array(), fc.json(), fc.string({ unit: CHARACTER })), async (raw) => {
        expect(await verifyProof(raw, keys)).toMatchObject({ ok: false, record: null });
      }),
    );
  });
});

describe('verifyCheckpoint()', () => {
  test('verifies the published checkpoints', async () => {
    const report = await verifyCheckpoint(vectors.savedCheckpoint, keys);
    expect(failures(report)).toEqual([]);
    expect(report).toMatchObject({ ok: true, checkpoint: { size: 7 } });
  });

  test('refuses every change of a single byte', async () => {
    const verifies = async (bytes: Uint8Array) => (await verifyCheckpoint(bytes, keys)).ok;
    expect(await survivingFlips(vectors.checkpoint, verifies)).toEqual([]);
  });

  test('refuses another key, a retired key and another shape', async () => {
    const records = makeRecords(3);
    const strange = await verifyCheckpoint(await sealCheckpoint(records, {}, stranger), keys);
    expect(failures(strange).join()).toContain('The key of the checkpoint is known');
    const retired = await ringOf(keyLine(signer, { retiredAt: '2026-02-01T00:00:00.000Z' }));
    const late = await verifyCheckpoint(await sealCheckpoint(records), retired);
    expect(late).toMatchObject({ ok: false, checkpoint: null });
    expect(failures(late).join()).toContain('The key was in use at the checkpoint');
    const empty = await verifyCheckpoint(await sealCheckpoint(records, { size: 0 }), keys);
    expect(failures(empty).join()).toContain('field "size" is 0, expected a safe integer of at least 1');
  });
});
