import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileSystems } from '../../../src/tiers/process/file-systems.ts';
import type { Trial } from '../../../src/tiers/process/trial.ts';

const HOLDS: Trial = { ok: true, facts: {} };
const failsAt = (step: string): Trial => ({
  ...{ ok: false, why: `it failed at "${step}" with EINVAL`, fix: 'Move it.', facts: null },
  fault: { step, said: 'EINVAL', errno: 'EINVAL' },
});

/** In memory, where the number of the file system says nothing. */
function inMemory(): string {
  const directory = mkdtempSync('/dev/shm/palisade-test-');
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('FileSystems tries a file system once where it holds, and again and again where it does not', async () => {
  const directory = inMemory();
  mkdirSync(join(directory, 'other'));
  const time = { ms: 0 };
  const systems = new FileSystems({ nowMs: () => 0, monotonicMs: () => time.ms });
  const answers = [failsAt('workspace-idmap'), failsAt('workspace-idmap'), HOLDS];
  const asked: string[] = [];
  const lackOf = (workspace: string) =>
    systems.lackOf(workspace, async () => {
      asked.push(workspace);
      return answers.shift() ?? failsAt('workspace-idmap');
    });
  expect(await lackOf(directory)).toEqual({
    ok: false,
    why: `"${directory}" cannot be given to another user: it failed at "workspace-idmap" with EINVAL`,
    fix: 'Move it.',
  });
  // Many at once, or soon after, are answered by one trial.
  for (const lack of await Promise.all([1, 2, 3].map(() => lackOf(directory)))) expect(lack).not.toBeNull();
  expect(asked).toHaveLength(1);
  time.ms += 5_000;
  expect(await lackOf(directory)).not.toBeNull();
  time.ms += 5_000;
  expect(await lackOf(directory)).toBeNull();
  time.ms += 500_000;
  expect(await lackOf(join(directory, 'other'))).toBeNull();
  expect(asked).toHaveLength(3);
});

test('FileSystems leaves other faults, and directories that are not there, to the run', async () => {
  const time = { ms: 0 };
  const systems = new FileSystems({ nowMs: () => 0, monotonicMs: () => time.ms });
  const directory = inMemory();
  expect(await systems.lackOf(directory, async () => failsAt('seccomp'))).toBeNull();
  // Such a trial has shown nothing of the file system: the next one is heard.
  time.ms += 5_000;
  expect(await systems.lackOf(directory, async () => failsAt('workspace-idmap'))).not.toBeNull();
  const none = join(tmpdir(), 'palisade-nowhere');
  expect(await systems.lackOf(none, () => Promise.reject(new Error('asked')))).toBeNull();
});
