import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../../tests/volume/volume.ts';
import { readArchive } from '../../../../src/skills/package/archive.ts';
import { openPackage } from '../../../../src/skills/package/open-package.ts';
import type { SkillPackage } from '../../../../src/skills/package/skill-package.ts';
import { keyFrom, signedSample } from '../sample.ts';
import { fuzz } from './fuzz.ts';

const MEBIBYTE = 1024 * 1024;

/** All of them in a whole run, from the same seed; other seeds in each usual run. */
const CASES = volume(100_000);
const SEED = CASES === 100_000 ? 1 : Math.floor(Math.random() * 1_000_000);

describe('100,000 spoiled packages', () => {
  it('are refused with a code or opened as unsigned, and no memory stays behind', () => {
    const before = process.memoryUsage().rss;
    const { findings, cases, refused } = fuzz(SEED, CASES);
    expect(findings, `seed ${SEED}`).toEqual([]);
    expect(cases).toBe(CASES);
    // Without enough of each it would have proved little.
    expect(refused['skill/invalid-package']).toBeGreaterThan(CASES / 5);
    expect(refused['skill/bad-signature']).toBeGreaterThan(CASES / 5);
    expect(process.memoryUsage().rss - before).toBeLessThan(512 * MEBIBYTE);
  }, 180_000);

  it('are the same when the seed is the same', () => {
    expect(fuzz(5, 500)).toEqual(fuzz(5, 500));
    expect(fuzz(5, 500)).not.toEqual(fuzz(6, 500));
  });
});

describe('the fuzzer notices', () => {
  const { keyId, publicKey, createdAt } = keyFrom(1);
  const signer = { keyId, publicKey, createdAt };

  it.each<[string, (bytes: Uint8Array) => SkillPackage]>([
    ['a reader that takes a changed file for a signed one', (bytes) => ({ ...openUnsigned(bytes), signer })],
    ['a reader that throws what has no code', (bytes) => throwing(bytes)],
  ])('%s', (_, open) => {
    expect(fuzz(3, 2_000, open).findings.length).toBeGreaterThan(0);
  });
});

/** Opens what it can without looking at the signature. */
function openUnsigned(bytes: Uint8Array): SkillPackage {
  const entries = new Map(readArchive(bytes));
  return { ...openPackage(signedSample()), entries };
}

function throwing(bytes: Uint8Array): SkillPackage {
  try {
    return openPackage(bytes);
  } catch (error) {
    throw new RangeError(`${error}`);
  }
}
