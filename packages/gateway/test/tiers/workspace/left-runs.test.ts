import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { readBaseline, takeProtectedSnapshot } from '../../../src/tiers/workspace/baseline.ts';
import { HeldDirectory, holdWorkspace } from '../../../src/tiers/workspace/held-directory.ts';
import { type LeftRun, LeftRuns, processIdentity } from '../../../src/tiers/workspace/left-runs.ts';
import { RunFiles, readRun, writeRun } from '../../../src/tiers/workspace/run-files.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

const MINE = 'export MINE=1\n';

/** A workspace in which a gateway that is dead by now has begun a run, which then planted something. */
async function bed({ starter = '', reason = null as string | null } = {}) {
  const base = realpathSync(tempDir());
  const [workspace, folder] = [join(base, 'work'), join(base, 'running')];
  mkdirSync(workspace);
  writeFileSync(join(workspace, '.envrc'), MINE);
  const held = holdWorkspace(workspace);
  const root = HeldDirectory.of(held.fd);
  const takenMs = Date.now();
  const snapshot = await takeProtectedSnapshot(root, { workspace });
  const baseline = readBaseline(root, snapshot, { workspace, nowMs: takenMs });
  const { identity, born } = held;
  const run = { call: 'call_1', workspace, identity, born, allowed: [], starter, takenMs, baseline };
  new RunFiles(folder, 'p_dead').keep(run);
  root.close();
  held.close();
  for (const path of ['.envrc', '.mcp.json']) writeFileSync(join(workspace, path), 'evil');
  const told: LeftRun[] = [];
  const left = new LeftRuns({
    files: new RunFiles(folder, 'p_own'),
    isGone: (instance) => instance === 'p_dead',
    forbidden: { againstWorkspace: () => reason },
    quarantine: join(base, 'quarantine'),
    endGroups: async () => undefined,
    onLeft: (each) => void told.push(each),
  });
  const [file = ''] = readdirSync(folder);
  const isPlanted = (at = workspace) =>
    existsSync(join(at, '.mcp.json')) && readFileSync(join(at, '.envrc'), 'utf8') === 'evil';
  return { base, workspace, folder, file: join(folder, file), run, told, left, isPlanted };
}

/** The file with the digest of its content, as someone would write it who knows the form. */
function sealed(text: string): string {
  const body = text.slice(text.indexOf('\n') + 1);
  return `${digestBytes(body)}\n${body}`;
}

describe('the run of a dead gateway', () => {
  test('is restored by the next one, once', async () => {
    const { workspace, folder, told, left, isPlanted } = await bed();
    expect(isPlanted()).toBe(true);
    await left.restoreAll();
    expect(readFileSync(join(workspace, '.envrc'), 'utf8')).toBe(MINE);
    expect(existsSync(join(workspace, '.mcp.json'))).toBe(false);
    expect(told).toMatchObject([{ kind: 'workspace-restored', call: 'call_1', workspace, isWhole: true }]);
    expect(readdirSync(folder)).toEqual([]);
    await left.restoreAll();
    expect(told).toHaveLength(1);
  });

  test('is not touched while its gateway lives', async () => {
    const { workspace, folder, left, told, isPlanted } = await bed();
    renameSync(join(folder, readdirSync(folder)[0] ?? ''), join(folder, 'p_live.1-1.call_1'));
    await left.restoreAll();
    expect([isPlanted(workspace), told]).toEqual([true, []]);
  });

  test('is restored only when the process that ends its processes is gone', async () => {
    const starter = spawn('sleep', ['600']);
    onTestFinished(() => void starter.kill('SIGKILL'));
    const { left, told, isPlanted } = await bed({ starter: processIdentity(starter.pid ?? null) });
    const restored = left.restoreAll();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([isPlanted(), told]).toEqual([true, []]);
    starter.kill('SIGKILL');
    await restored;
    expect(isPlanted()).toBe(false);
  });

  test('is restored where its workspace was moved to, before a run there', async () => {
    const { base, workspace, left, told, isPlanted } = await bed();
    const moved = join(base, 'moved');
    renameSync(workspace, moved);
    await left.restoreAll();
    expect(told).toMatchObject([{ kind: 'workspace-not-restored', why: expect.stringContaining('ENOENT') }]);
    expect(isPlanted(moved)).toBe(true);
    const held = holdWorkspace(moved);
    expect(await left.settle(held, moved)).toBeNull();
    held.close();
    expect(isPlanted(moved)).toBe(false);
  });

  test.each([
    ['became a forbidden place', 'is a home directory', () => undefined],
    [
      'is another directory',
      null,
      (workspace: string) => {
        renameSync(workspace, `${workspace}-old`);
        mkdirSync(workspace);
        for (const path of ['.envrc', '.mcp.json']) writeFileSync(join(workspace, path), 'evil');
      },
    ],
    [
      'is a link by now',
      null,
      (workspace: string) => {
        renameSync(workspace, `${workspace}-old`);
        symlinkSync(`${workspace}-old`, workspace);
      },
    ],
  ])('is reported and left where its workspace %s', async (_, reason, change) => {
    const { workspace, folder, left, told, isPlanted } = await bed({ reason });
    change(workspace);
    await left.restoreAll();
    expect(isPlanted()).toBe(true);
    expect(told).toMatchObject([{ kind: 'workspace-not-restored', call: 'call_1', workspace }]);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test('keeps a run out of its workspace where it cannot be restored', async () => {
    const { workspace, left } = await bed({ reason: 'is a home directory' });
    const held = holdWorkspace(workspace);
    onTestFinished(() => held.close());
    await expect(left.settle(held, workspace)).rejects.toMatchObject({
      code: 'tier/not-started',
      message: expect.stringContaining('is a home directory'),
    });
  });
});

describe('a file of a run that cannot be trusted', () => {
  test.each<[string, (file: string, text: string) => void]>([
    ['is empty', (file) => writeFileSync(file, '')],
    ['was cut off', (file, text) => writeFileSync(file, text.slice(0, -10))],
    ['was altered', (file, text) => writeFileSync(file, text.replace('call_1', 'call_2'))],
    [
      'names another workspace',
      (file, text) => writeFileSync(file, sealed(text.replace(/"workspace":"[^"]*"/, '"workspace":"/etc"'))),
    ],
    [
      'has an entry of an unknown kind',
      (file, text) => writeFileSync(file, sealed(text.replace('"kind":"file"', '"kind":"x"'))),
    ],
    ['can be read by others', (file) => chmodSync(file, 0o644)],
    [
      'is a link',
      (file, text) => {
        rmSync(file);
        writeFileSync(join(dirname(file), '../target'), text, { mode: 0o600 });
        symlinkSync('../target', file);
      },
    ],
  ])('because it %s is reported and left, and nothing is changed by it', async (_, spoil) => {
    const { file, folder, left, told, isPlanted } = await bed();
    spoil(file, readFileSync(file, 'utf8'));
    await left.restoreAll();
    expect(isPlanted()).toBe(true);
    expect(told).toMatchObject([{ kind: 'workspace-not-restored' }]);
    expect(readdirSync(folder).length).toBeGreaterThan(0);
  });
});

test('readRun() gives what writeRun() was given, and refuses other shapes', async () => {
  const { run } = await bed();
  const text = writeRun(run);
  expect(readRun(text)).toEqual(run);
  for (const part of ['"copies"', '"allowed"', '"kind"', '"starter"', '"mtimeNs"', '"version"']) {
    expect(() => readRun(sealed(text.replaceAll(part, '"other"'))), part).toThrow();
  }
});
