import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { parsePrefix } from '../../packages/gateway/src/core/storage-key.ts';
import { Space } from '../../packages/gateway/src/storage/space.ts';
import { findAccount, storageMigrations } from '../../packages/gateway/src/storage/tables.ts';
import { Store } from '../../packages/gateway/src/store/store.ts';
import { bundle } from '../../packages/gateway/test/fixture/bundle.ts';
import { scratch } from '../fixtures/cli.ts';
import { volume } from '../volume/volume.ts';

const ROUNDS = volume(12, 3);
const HOME = { tenant: 'acme', skill: 'notebook' } as const;
const DIGEST_BYTES = 32;

/** The acknowledged version of each key that was ever written; null where it was deleted. */
type Versions = Map<string, number | null>;

/** What the writers were doing when they died: the act on each key that had no answer yet. */
type CutOff = ReadonlyMap<string, 'put' | 'delete'>;

/** Lets the writers write, kills them in the middle of it, and gives the lines they printed until then. */
async function killedRound(program: string, directory: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [program, directory, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const acknowledged = Math.floor(Math.random() * 60) + 1;
  while (out.split('\ndone').length <= acknowledged) {
    if (child.exitCode !== null) throw new Error(`Cannot go on: the writers ended with ${child.exitCode}`);
    await sleep(1);
  }
  await sleep(Math.random() * 15);
  child.kill('SIGKILL');
  await closed;
  return out.split('\n').filter((line) => /^(asked|done) /.test(line));
}

/** Takes over what was acknowledged, and gives what was not. A writer does one thing at a time, on keys of its own. */
function follow(versions: Versions, lines: readonly string[]): CutOff {
  const open = new Map<string, 'put' | 'delete'>();
  for (const line of lines) {
    const [stage, act, key = '', version] = line.split(' ');
    if (stage === 'asked') open.set(key, act === 'put' ? 'put' : 'delete');
    if (stage !== 'done') continue;
    open.delete(key);
    versions.set(key, act === 'put' ? Number(version) : null);
  }
  return open;
}

async function look(space: Space, key: string): Promise<number | null> {
  const got = await space.get(key);
  if (!got.ok) throw new Error(got.message);
  if (got.found === null) return null;
  const value = Buffer.from(got.found.value);
  const digest = createHash('sha256').update(value.subarray(DIGEST_BYTES)).digest();
  expect(value.subarray(0, DIGEST_BYTES).equals(digest), `the value of ${key} is whole`).toBe(true);
  return got.found.version;
}

/** Compares what is there with what was acknowledged; what was cut off is there as a whole or not at all. */
async function compare(space: Space, versions: Versions, cutOff: CutOff): Promise<void> {
  const last = Math.max(0, ...[...versions.values()].map((version) => version ?? 0));
  for (const key of new Set([...versions.keys(), ...cutOff.keys()])) {
    const [before = null, found] = [versions.get(key), await look(space, key)];
    const act = cutOff.get(key);
    const isDone = act === 'put' ? (found ?? 0) > (before ?? 0) : act === 'delete' && found === null;
    if (!isDone) expect(found, key).toBe(before);
    versions.set(key, found);
  }
  const put = await space.put('probe', Buffer.alloc(DIGEST_BYTES));
  expect(put.ok && put.version > last).toBe(true);
  await space.delete('probe');
}

async function compareTotals(store: Store, space: Space, versions: Versions): Promise<void> {
  const listed = await space.list('/', { limit: 1_000 });
  if (!listed.ok) throw new Error(listed.message);
  const alive = [...versions].filter(([, version]) => version !== null);
  expect(new Map(listed.entries.map(({ key, version }) => [key, version]))).toEqual(new Map(alive));
  expect(new Set(alive.map(([, version]) => version)).size).toBe(alive.length);
  const bytes = listed.entries.reduce((sum, entry) => sum + Buffer.byteLength(entry.key) + entry.bytes, 0);
  expect(findAccount(store, HOME)).toMatchObject({ bytes, keys: alive.length });
}

test('storage killed in the middle of writing has all it acknowledged, nothing by half, and exact totals', async () => {
  const directory = scratch();
  const program = await bundle(new URL('../fixtures/storage-writes.ts', import.meta.url), scratch());
  const all = parsePrefix('/');
  if (!all.ok) throw new Error(all.problem.is);
  const grants = { read: [all.value], write: [all.value] };
  const versions: Versions = new Map();
  let cutOffs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const cutOff = follow(versions, await killedRound(program, directory, round));
    cutOffs += cutOff.size;
    const store = new Store({ directory, migrations: storageMigrations, busyTimeoutMs: 60_000, nowMs: 0 });
    const space = new Space(store, { ...HOME, grants });
    await compare(space, versions, cutOff);
    await compareTotals(store, space, versions);
    store.close();
  }
  expect(cutOffs).toBeGreaterThan(0);
  expect(versions.size).toBeGreaterThan(10);
});
