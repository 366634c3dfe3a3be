import './fixtures/cheap-scrypt.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { bundle } from '../fixture/bundle.ts';
import { Child } from '../fixture/child.ts';
import { GRACE } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { PASSPHRASE } from './fixtures/vault-in.ts';
import { openVault, put, type TestVault, VALUE, valueIn } from './sample.ts';

const ROUNDS = volume(12, 4);

function fixture(name: string): Promise<string> {
  return bundle(new URL(`./fixtures/${name}`, import.meta.url), tempDir());
}

/** The vault of a directory as the next process finds it. */
function next(directory: string): TestVault {
  const opened = openVault({ directory });
  opened.vault.givePassphrase(PASSPHRASE);
  return opened;
}

function keysIn(keyPath: string): number {
  if (statSync(keyPath, { throwIfNoEntry: false }) === undefined) return 0;
  return readFileSync(keyPath, 'utf8').trim().split('\n').length;
}

describe('a rotation that is killed', () => {
  it.each([
    // Five steps keep the new key, one is the record before the commit, five take the old key away.
    ['file', 'file', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ['passphrase', 'file', [0, 5, 6, 11]],
    ['file', 'passphrase', [0, 1, 2, 3]],
    ['passphrase', 'passphrase', [0, 1]],
  ] as const)(
    'from %s to %s, before any of its steps, leaves a vault that opens and can be rotated',
    async (from, to, steps) => {
      const program = await fixture('rotate-and-die.ts');
      const locks: string[] = [];
      for (const step of steps) {
        const { directory, keyPath, vault } = next(tempDir());
        await vault.rotate(GRACE, { to: from });
        await put(vault, 'db', VALUE);
        await put(vault, 'mail', 'another value');
        const status = await new Child(program, [directory, to, String(step)]).ended();
        // The last one is told to die after its last step, and so ends by itself.
        expect([step, status]).toEqual([step, step === steps.at(-1) ? 0 : null]);
        const after = next(directory).vault;
        expect([step, await valueIn(after, 'db')]).toEqual([step, VALUE]);
        expect(await valueIn(after, 'mail')).toBe('another value');
        locks.push(`${after.lockedWith}`);
        // Whoever had it open before goes on with the new key.
        expect(await valueIn(vault, 'db')).toBe(VALUE);
        if (step !== steps.at(-1)) await after.rotate(GRACE, { to });
        expect([step, keysIn(keyPath)]).toEqual([step, to === 'file' ? 1 : 0]);
        expect(await valueIn(next(directory).vault, 'db')).toBe(VALUE);
      }
      expect([locks[0], locks.at(-1)]).toEqual([from, to]);
    },
    120_000,
  );
});

describe('a process that is killed while it sets and rotates, again and again', () => {
  it('loses nothing that it had acknowledged, and mixes nothing up', async () => {
    const program = await fixture('sets-and-rotates.ts');
    const directory = tempDir();
    const acknowledged = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round++) {
      const child = spawn(process.execPath, [program, directory, String(round)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const closed = once(child, 'close');
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      while (!out.includes(`s0 ${round}.`)) {
        if (child.exitCode !== null)
          throw new Error(`Cannot go on: the process ended with ${child.exitCode}`);
        await sleep(1);
      }
      await sleep(Math.random() * 40);
      child.kill('SIGKILL');
      await closed;
      const before = acknowledged.size;
      for (const [, name = '', at = ''] of out.matchAll(/^(s\d) (\S+)$/gm)) acknowledged.set(name, at);
      expect(acknowledged.size).toBeGreaterThanOrEqual(Math.max(before, 3));
      const { vault } = openVault({ directory });
      for (const [name, at] of acknowledged) {
        const value = await valueIn(vault, name);
        // What was not acknowledged any more may have been written all the same.
        expect(value).toMatch(new RegExp(`^\\d+\\.\\d+ in ${name}$`));
        expect(orderOf(value ?? '')).toBeGreaterThanOrEqual(orderOf(at));
      }
      expect(vault.list().length).toBeGreaterThanOrEqual(acknowledged.size);
    }
    expect(keysIn(join(directory, 'keys', 'vault.key'))).toBeGreaterThanOrEqual(1);
  }, 120_000);
});

/** Rounds count for more than steps. */
function orderOf(text: string): number {
  const [, round, step] = /^(\d+)\.(\d+)/.exec(text) ?? [];
  return Number(round) * 1e6 + Number(step);
}
