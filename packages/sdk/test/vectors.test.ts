import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  encodeExportCheckpoint,
  linesOf,
  parseKeyRing,
  toUtf8,
  verifyJournal,
  verifyProof,
  verifyReceipt,
} from '../src/index.ts';
import { keyLine, makeStatement, readVectors, sealReceipt, signer, vectors } from './signer.ts';

const { makeVectors } = (await import(new URL('../vectors/make-vectors.mjs', import.meta.url).href)) as {
  makeVectors: () => Record<string, unknown>;
};
const made = makeVectors();
const document = readFileSync(new URL('../../../docs/attestation.md', import.meta.url), 'utf8');

describe('the published vectors', () => {
  test.each(Object.keys(made))('%s is what the generator makes', (name) => {
    expect(readVectors(name)).toEqual(made[name]);
  });

  test('are reproduced byte for byte by the encoders', () => {
    expect(`${keyLine(signer)}\n${vectors.keyFile.split('\n')[1]}\n`).toBe(vectors.keyFile);
    expect(`${sealReceipt(makeStatement())}\n`).toBe(vectors.receipt);
    expect(`${encodeExportCheckpoint(vectors.checkpoint)}\n`).toBe(`${vectors.journal.split('\n').at(-2)}\n`);
  });

  test('all verify together', async () => {
    const ring = await parseKeyRing(vectors.keyFile);
    if (!ring.ok) throw new Error(ring.why);
    const { input, output, proof } = vectors;
    const lines = linesOf([toUtf8(vectors.journal)]);
    const reports = await Promise.all([
      verifyReceipt(vectors.receipt, ring.keys, { input, output, proof }),
      verifyProof(proof, ring.keys),
      verifyJournal(lines, ring.keys, { knownCheckpoint: vectors.savedCheckpoint }),
    ]);
    expect(reports.map(({ ok }) => ok)).toEqual([true, true, true]);
    const named = reports.flatMap(({ checks }) => checks.map(({ name }) => name));
    const undocumented = named.filter(
      (name) => !name.includes('saved checkpoint') && !document.includes(name),
    );
    expect(undocumented).toEqual([]);
  });

  test('are the worked example of the documentation', () => {
    const { payload } = JSON.parse(vectors.receipt) as { payload: string };
    const digest = createHash('sha256').update(Buffer.from(payload, 'base64')).digest('hex');
    for (const part of [vectors.keyId, digest, vectors.journal.split('\n')[6] as string]) {
      expect(document).toContain(part);
    }
  });
});
