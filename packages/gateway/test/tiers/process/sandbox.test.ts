import { describe, expect, test, vi } from 'vitest';
import type { Exit, LiveChild } from '../../../src/tiers/child/child.ts';
import type { CommandPlan } from '../../../src/tiers/process/plan.ts';
import { checkMounts, runInSandbox, type Sandbox, type Serve } from '../../../src/tiers/process/sandbox.ts';
import { sampleTerms } from '../terms.ts';

const PLAN: CommandPlan = {
  ...{
    ok: true,
    words: [],
    args: [],
    gate: ['expect=nnp=1'],
    told: ['word'],
    descriptors: [],
    missing: () => null,
  },
  network: { listeners: [{ address: '127.0.0.1', port: 3128, door: null }], names: [] },
};
const KILLED: Exit = { exitCode: null, signal: 'SIGKILL', spawnError: null };

/** A launcher that has made its listeners and waits for words, or failed to make them; it ends when it is killed. */
function openSandbox(servers: LiveChild['servers']) {
  let exit: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => {
    exit = resolve;
  });
  const kill = vi.fn(() => exit(KILLED));
  const end = vi.fn();
  const ends = [{ end, destroy: () => undefined, write: () => undefined }];
  const connect = async () => null;
  const child: LiveChild = { stdin: null, stdout: null, stderr: null, ends, servers, exited, kill, connect };
  const sandbox: Sandbox = {
    ...{ child, group: null, cgroups: 0, identity: '', descriptors: [{ role: 'words' }], wordsIndex: 0 },
    close: async () => undefined,
  };
  return { sandbox, kill, end, exit };
}

function run(sandbox: Sandbox, serve: Serve) {
  const watch = {
    signal: new AbortController().signal,
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
  };
  return runInSandbox(sandbox, { plan: PLAN, terms: sampleTerms({}), serve }, watch);
}

describe('a command with a network', () => {
  test('is told to begin once its listeners are served', async () => {
    const { sandbox, end, exit } = openSandbox(Promise.resolve([]));
    const serve = vi.fn(async () => expect(end).not.toHaveBeenCalled());
    const ended = run(sandbox, serve);
    await vi.waitFor(() => expect(end).toHaveBeenCalledTimes(1));
    expect(serve).toHaveBeenCalledTimes(1);
    exit(KILLED);
    await ended;
  });

  test('does not begin without its listeners', async () => {
    const { sandbox, end, exit } = openSandbox(Promise.resolve(null));
    const serve = vi.fn();
    const ended = run(sandbox, serve);
    await new Promise((resolve) => setImmediate(resolve));
    exit(KILLED);
    await ended;
    expect(serve).not.toHaveBeenCalled();
    expect(end).not.toHaveBeenCalled();
  });

  test('does not begin, and is ended, when its listeners cannot be served', async () => {
    const { sandbox, end, kill } = openSandbox(Promise.resolve([]));
    const ended = await run(sandbox, () => {
      throw new Error('no memory');
    });
    expect(ended.signal).toBe('SIGKILL');
    expect(kill).toHaveBeenCalled();
    expect(end).not.toHaveBeenCalled();
  });
});

const line = (point: string) => `36 27 0:33 / ${point} rw,relatime - ext4 /dev/vda rw`;

describe('checkMounts()', () => {
  const mounts = line('/project/inner');
  const root = { runAs: { uid: 61_000, gid: 61_000 } };

  test.each([
    ['/project/inner', '/project/inner'],
    ['/project/a/b/c', '/project/a/b/c'],
    ['/project/a\\040b', '/project/a b'],
    ['/project/é', '/project/é'],
  ])('finds %s', (point, found) => {
    expect(checkMounts({ name: 'c' }, root, '/project', `${line('/')}\n${line(point)}`)?.message).toContain(
      `"${found}" is a mount point`,
    );
  });

  test.each(['/', '/project', '/workspace', '/other/project', ''])('passes over %j', (point) => {
    expect(checkMounts({ name: 'c' }, root, '/project', `${line(point)}\n`)).toBeNull();
  });

  test.each<['b' | 'c', typeof root | { runAs: null }]>([
    ['c', { runAs: null }],
    ['c', root],
    ['b', root],
  ])('refuses it in tier %s where the run would see something else, as %j', (name, kit) => {
    expect(checkMounts({ name }, kit, '/project', mounts)).toMatchObject({
      code: 'tier/unenforceable',
      message: expect.stringContaining('"/project/inner" is a mount point'),
    });
    expect(checkMounts({ name }, kit, '/other', mounts)).toBeNull();
  });

  test('accepts it where the command sees the machine as its user does', () => {
    expect(checkMounts({ name: 'b' }, { runAs: null }, '/project', mounts)).toBeNull();
  });
});
