import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { FileShelf } from '../../../src/store/file-shelf.ts';
import { type Form, Forms, parseForm } from '../../../src/tiers/a-wasm/modules.ts';

const MODULE = digestBytes(Buffer.from('a module'));

function sampleForm(code = 'metered'): Form {
  const seal = createHash('sha256').update(code).digest();
  return {
    digest: '11'.repeat(32),
    seal: seal.toString('hex'),
    isComponent: false,
    bytes: Buffer.concat([Buffer.from(code), seal]),
  };
}

function newHome() {
  const dir = mkdtempSync(join(tmpdir(), 'palisade-forms-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const open = (terms = 'terms') =>
    new Forms(new FileShelf(dir, { mostBytes: 1_000_000, tag: 't', nowMs: Date.now }), terms);
  return { dir, open };
}

describe('the form of a module', () => {
  it('is found again, also by the next process', async () => {
    const { open } = newHome();
    const forms = open();
    expect(await forms.find(MODULE)).toBeNull();
    await forms.keep(MODULE, sampleForm());
    expect(await forms.find(MODULE)).toEqual(sampleForm());
    expect(await open().find(MODULE)).toEqual(sampleForm());
    expect(await open().find(digestBytes(Buffer.from('another')))).toBeNull();
  });

  it('is that of its terms alone: another meter or another price finds none', async () => {
    const { open } = newHome();
    await open('meter 3').keep(MODULE, sampleForm());
    expect(await open('meter 4').find(MODULE)).toBeNull();
  });

  it('is as good as absent when a byte of its file is another, or some are missing', async () => {
    const { dir, open } = newHome();
    await open().keep(MODULE, sampleForm());
    const [name = ''] = readdirSync(dir);
    const whole = readFileSync(join(dir, name));
    expect(parseForm(whole)).toEqual(sampleForm());
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(whole);
        damaged[at] = (damaged[at] ?? 0) ^ change;
        expect(parseForm(damaged)).toBeNull();
        expect(parseForm(whole.subarray(0, at))).toBeNull();
      }),
    );
    writeFileSync(join(dir, name), whole.subarray(0, whole.length - 1));
    expect(await open().find(MODULE)).toBeNull();
  });
});
