import { describe, expect, test, vi } from 'vitest';
import type { Exit, LiveChild } from '../../../src/tiers/child/child.ts';
import type { CommandPlan } from '../../../src/tiers/process/plan.ts';
import { type Box, runInBox, type Serve } from '../../../src/tiers/process/sandbox.ts';
import { sampleTerms } from '../terms.ts';

const PLAN: CommandPlan = {
  ...{ ok: true, words: [], args: [], told: ['word'], descriptors: [], missing: () => null },
  network: { listeners: [{ address: '127.0.0.1', port: 3128, door: null }], names: [] },
};
const KILLED: Exit = { exitCode: null, signal: 'SIGKILL', spawnError: null };

/** A launcher that has made its listeners and waits for words, or failed to make them; it ends when it is killed. */
function openBox(servers: LiveChild['servers']) {
  let exit: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => {
    exit = resolve;
  });
  const kill = vi.fn(() => exit(KILLED));
  const end = vi.fn();
  const ends = [{ end, destroy: () => undefined }];
  const child: LiveChild = { stdin: null, stdout: null, stderr: null, ends, servers, exited, kill };
  const box: Box = {
    ...{ child, group: null, cgroups: 0, identity: '', descriptors: [{ role: 'words' }], wordsIndex: 0 },
    close: async () => undefined,
  };
  return { box, kill, end, exit };
}

function run(box: Box, serve: Serve) {
  const watch = {
    signal: new AbortController().signal,
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
  };
  return runInBox(box, { plan: PLAN, terms: sampleTerms({}), serve }, watch);
}

describe('a command with a network', () => {
  test('is told to begin once its listeners are served', async () => {
    const { box, end, exit } = openBox(Promise.resolve([]));
    const serve = vi.fn(async () => expect(end).not.toHaveBeenCalled());
    const ended = run(box, serve);
    await vi.waitFor(() => expect(end).toHaveBeenCalledTimes(1));
    expect(serve).toHaveBeenCalledTimes(1);
    exit(KILLED);
    await ended;
  });

  test('does not begin without its listeners', async () => {
    const { box, end, exit } = openBox(Promise.resolve(null));
    const serve = vi.fn();
    const ended = run(box, serve);
    await new Promise((resolve) => setImmediate(resolve));
    exit(KILLED);
    await ended;
    expect(serve).not.toHaveBeenCalled();
    expect(end).not.toHaveBeenCalled();
  });

  test('does not begin, and is ended, when its listeners cannot be served', async () => {
    const { box, end, kill } = openBox(Promise.resolve([]));
    const ended = await run(box, () => {
      throw new Error('no memory');
    });
    expect(ended.signal).toBe('SIGKILL');
    expect(kill).toHaveBeenCalled();
    expect(end).not.toHaveBeenCalled();
  });
});
