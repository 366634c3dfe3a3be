import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { race } from '../budget/race.ts';
import { openVault, valueIn } from './sample.ts';

const RACERS = volume(25, 10);

it('a vault that many processes set secrets in at once, none of which is there yet, has all of them', async () => {
  const { vault, keyPath, directory } = openVault();
  const argsOf = Array.from({ length: RACERS }, (_, i) => [directory, String(i)]);
  const results = await race(new URL('./fixtures/set-once.ts', import.meta.url), argsOf);
  const shared = results.map((result) => Number(result.split(' ')[1])).sort((a, b) => a - b);
  expect(shared).toEqual(Array.from({ length: RACERS }, (_, i) => i + 1));
  for (const [i, result] of results.entries()) {
    expect(result).toMatch(/^1 /);
    expect(await valueIn(vault, `own-${i}`)).toBe(`value ${i}`);
  }
  const last = results.findIndex((result) => result.endsWith(` ${RACERS}`));
  expect(await valueIn(vault, 'shared')).toBe(`value ${last}`);
  expect(vault.list()).toHaveLength(RACERS + 1);
  // One of them has made the vault, and only its key is there.
  expect(readFileSync(keyPath, 'utf8').trim().split('\n')).toHaveLength(1);
}, 120_000);
