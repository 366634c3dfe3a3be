import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const gateway = join(import.meta.dirname, '../../packages/gateway');
const bin = join(gateway, 'bin/palisade.js');

/** The fastest of some runs: what the machine does besides can only make a run slower. */
function fastestMs(words: readonly string[]): number {
  const runs = Array.from({ length: 12 }, () => {
    const began = performance.now();
    execFileSync(process.execPath, words);
    return performance.now() - began;
  });
  return Math.min(...runs);
}

describe('palisade --version', () => {
  test.each(['--version', '-V'])('answers %s with the version of the manifest', (word) => {
    const { version } = JSON.parse(readFileSync(join(gateway, 'package.json'), 'utf8'));
    expect(execFileSync(process.execPath, [bin, word], { encoding: 'utf8' })).toBe(`${version}\n`);
  });

  test('costs at most one and a half times an empty Node', () => {
    expect(fastestMs([bin, '--version'])).toBeLessThan(1.5 * fastestMs(['-e', '0']));
  });
});
