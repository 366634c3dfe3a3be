import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { parseKeyRing, webPrimitives } from '../src/index.ts';
import { survivingFlips } from './flips.ts';
import { keyLine, makeSigner, signer, stranger, vectors } from './signer.ts';

const line = keyLine(signer);
const retired = keyLine(signer, { retiredAt: '2026-06-01T00:00:00.000Z' });

function changed(change: Record<string, unknown>): string {
  return JSON.stringify({ ...(JSON.parse(line) as object), ...change });
}

describe('parseKeyRing()', () => {
  test('reads the published key file', async () => {
    const result = await parseKeyRing(vectors.keyFile);
    expect(result.ok && [...result.keys.keys.keys()]).toContain(vectors.keyId);
    expect(result.ok && result.keys.keys.size).toBe(2);
  });

  test.each([
    ['with its line feed', `${line}\n`],
    ['without one', line],
    ['re-indented', `${JSON.stringify(JSON.parse(line), null, 2)}\n`],
    ['spaced out on one line', line.replaceAll('":', '": ').replaceAll(',"', ', "')],
  ])('reads one document %s', async (_, text) => {
    expect(await parseKeyRing(text)).toMatchObject({ ok: true });
  });

  test('refuses every change of a single byte', async () => {
    const verifies = async (bytes: Uint8Array) => (await parseKeyRing(bytes)).ok;
    expect(await verifies(Buffer.from(vectors.keyFile))).toBe(true);
    expect(await survivingFlips(vectors.keyFile, verifies)).toEqual([]);
  });

  test.each([
    ['an empty file', '', 1, 'not the opening brace'],
    ['an empty line', `${line}\n\n${line}\n`, 2, 'not the opening brace'],
    ['a carriage return', `${line}\r\n`, 1, 'not the closing brace'],
    ['a byte order mark', `\ufeff${line}`, 1, 'byte 0'],
    ['a space before a document', ` ${line}`, 1, 'byte 0'],
    ['a list of documents', `[${line}]`, 1, 'byte 0'],
    ['a bad second line', `${line}\n{}\n`, 2, 'field "algorithm" is missing'],
    ['another algorithm', changed({ algorithm: 'rsa' }), 1, 'field "algorithm" is "rsa", expected "ed25519"'],
    ['an instant of another form', changed({ createdAt: '2026-01-01' }), 1, 'field "createdAt"'],
    ['a short key', changed({ publicKey: 'AAAA' }), 1, 'field "publicKey" is not the canonical base64 of 32'],
    ['another key', changed({ publicKey: Buffer.alloc(32).toString('base64') }), 1, 'field "keyId" is'],
    [
      'a short signature',
      changed({ signature: '' }),
      1,
      'field "signature" is not the canonical base64 of 64',
    ],
    ['a key retired unsigned', changed({ retiredAt: '2026-06-01T00:00:00.000Z' }), 1, 'is not the signature'],
    [
      'a key retired before its time',
      keyLine(signer, { retiredAt: '2025-06-01T00:00:00.000Z' }),
      1,
      'no earlier',
    ],
    ['an added field', line.replace('"type"', '"trust":1,"type"'), 1, 'field "trust" is present'],
    [
      'a duplicate key',
      line.replace('"retiredAt":null', '"retiredAt":null,"retiredAt":null'),
      1,
      'canonical',
    ],
    [
      'keys in another order',
      changed({}).replace(/^\{("algorithm":"ed25519"),(.*)\}$/, '{$2,$1}'),
      1,
      'canonical',
    ],
    ['a text over 1 MiB', `{${' '.repeat(1024 * 1024)}}`, 1, 'expected at most 1048576'],
    [
      'two documents in use',
      `${line}\n${keyLine(signer, { createdAt: '2026-01-02T00:00:00.000Z' })}\n`,
      2,
      'two',
    ],
  ])('refuses %s and says where', async (_, text, at, why) => {
    expect(await parseKeyRing(text)).toEqual({ ok: false, line: at, why: expect.stringContaining(why) });
  });

  test('lets a retired document count, in any order, and refuses a second retirement', async () => {
    for (const file of [`${line}\n${retired}\n`, `${retired}\n${line}\n${line}\n`]) {
      const result = await parseKeyRing(file);
      expect(result.ok && result.keys.keys.get(signer.keyId)?.retiredAt).toBe('2026-06-01T00:00:00.000Z');
    }
    const again = keyLine(signer, { retiredAt: '2026-07-01T00:00:00.000Z' });
    expect(await parseKeyRing(`${retired}\n${again}\n${line}\n`)).toMatchObject({ ok: false, line: 2 });
  });

  test('refuses a document that another key signed', async () => {
    const forged = keyLine({ ...signer, sign: stranger.sign });
    expect(await parseKeyRing(forged)).toMatchObject({
      ok: false,
      why: expect.stringContaining('"signature"'),
    });
  });

  test('refuses, without throwing, when the platform has no Ed25519', async () => {
    const verifyEd25519 = () => Promise.reject(new Error('Unrecognized name.'));
    const result = await parseKeyRing(line, { ...webPrimitives, verifyEd25519 });
    expect(result).toMatchObject({ ok: false, why: expect.stringContaining('Unrecognized name.') });
  });

  test('holds more keys than are kept imported', async () => {
    const signers = Array.from({ length: 80 }, (_, index) => makeSigner(100 + index));
    const file = signers.map((each) => `${keyLine(each)}\n`).join('');
    for (let round = 0; round < 2; round += 1) {
      const result = await parseKeyRing(file);
      expect(result.ok && result.keys.keys.size).toBe(80);
    }
  });

  test('gives an answer for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.uint8Array(), fc.json(), fc.string({ unit: CHARACTER })), async (raw) => {
        expect((await parseKeyRing(raw)).ok).toBe(false);
      }),
    );
  });
});
