import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldName, nameBytes, nameText } from '../../../src/tiers/workspace/names.ts';

const anyName = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => Buffer.from(text)),
);

describe('nameText()', () => {
  it('loses no byte of any name', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        expect(nameBytes(nameText(name)).equals(name)).toBe(true);
      }),
    );
  });

  it('gives text that is valid, on one line and without control or direction characters', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        const text = nameText(name);
        expect(Buffer.from(text).toString()).toBe(text);
        expect(text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it.each([
    ['plain.txt', 'plain.txt'],
    ['grün – 木', 'grün – 木'],
    ['a\nb\x1b[2J', 'a\\x0ab\\x1b[2J'],
    ['back\\slash', 'back\\x5cslash'],
    ['gpj.\u202etxt', 'gpj.\\xe2\\x80\\xaetxt'],
    [Buffer.from([0x66, 0xff, 0xc3, 0xa9]), 'f\\xff\\xc3\\xa9'],
  ])('writes %j as %s', (name, text) => {
    expect(nameText(Buffer.from(name as string))).toBe(text);
  });
});

describe('foldName()', () => {
  it.each(['.GIT', '.Git', '.g\u200cit', '.ｇit'])('takes %j for .git', (name) => {
    expect(foldName(nameText(Buffer.from(name)))).toBe('.git');
  });

  it.each(['ma\u212aefile', 'MAKEFILE'])('takes %j for makefile', (name) => {
    expect(foldName(nameText(Buffer.from(name)))).toBe('makefile');
  });

  it('leaves other names apart', () => {
    expect(foldName('.gite')).not.toBe(foldName('.git'));
  });
});
