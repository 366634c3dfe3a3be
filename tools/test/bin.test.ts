import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const gateway = join(import.meta.dirname, '../../packages/gateway');
const bin = join(gateway, 'bin/palisade.js');

describe('palisade --version', () => {
  test.each(['--version', '-V'])('answers %s with the version of the manifest', (word) => {
    const { version } = JSON.parse(readFileSync(join(gateway, 'package.json'), 'utf8'));
    expect(execFileSync(process.execPath, [bin, word], { encoding: 'utf8' })).toBe(`${version}\n`);
  });

  test('needs nothing but the manifest: the program itself is not loaded', () => {
    const directory = mkdtempSync(join(tmpdir(), 'palisade-bin-'));
    try {
      mkdirSync(join(directory, 'bin'));
      copyFileSync(bin, join(directory, 'bin/palisade.js'));
      copyFileSync(join(gateway, 'bin/package.json'), join(directory, 'bin/package.json'));
      writeFileSync(join(directory, 'package.json'), '{"type":"module","version":"1.2.3"}');
      const copy = join(directory, 'bin/palisade.js');
      expect(execFileSync(process.execPath, [copy, '--version'], { encoding: 'utf8' })).toBe('1.2.3\n');
      expect(spawnSync(process.execPath, [copy, 'doctor'], { encoding: 'utf8' }).status).toBe(70);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
