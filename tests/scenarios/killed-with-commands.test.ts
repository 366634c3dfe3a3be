import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseKeyRing, type Usage } from '@palisade/sdk';
import { afterAll, describe, expect, test } from 'vitest';
import { nodePrimitives } from '../../packages/gateway/src/attest/primitives.ts';
import { balances } from '../../packages/gateway/src/budget/balances.ts';
import { UNITS } from '../../packages/gateway/src/budget/rule.ts';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { recordsFrom } from '../../packages/gateway/src/journal/search.ts';
import { verifyLive } from '../../packages/gateway/src/journal/verify.ts';
import { openGateway, openRecords } from '../../packages/gateway/src/open.ts';
import { reservations } from '../../packages/gateway/test/budget/reservations.ts';
import { bundle } from '../../packages/gateway/test/fixture/bundle.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { leftovers, NO_TRACES, traces } from '../fixtures/commands/leftovers.ts';

const RUNS = 50;
/** How many of them end by themselves before the kill. */
const THAT_END = 4;
const TOML = `
[[budget]]
name = "all"
per = "run"
calls = 100000
wall_ms = 1000000000000
cpu_ms = 1000000000000
fuel = 100000000000000
output_bytes = 1000000000000
egress_bytes = 1000000000000
`;

type Body = { readonly code?: string; readonly usage?: Usage };

/** The program in a place from which it finds the launcher as the built gateway does. */
async function makeProgram(base: string): Promise<string> {
  const directory = join(base, 'program/dist');
  mkdirSync(directory, { recursive: true });
  symlinkSync(fileURLToPath(new URL('../../packages/launcher', import.meta.url)), join(base, 'launcher'));
  return bundle(new URL('../fixtures/commands/many-commands.ts', import.meta.url), directory);
}

/** The commands of both tiers, and their daemons. */
const SLEEPERS = [/^\d+ sleep 661$/, /^\d+ sleep 662$/];

function sleepingIn({ processes }: ReturnType<typeof traces>, words: RegExp): number {
  return processes.filter((line) => words.test(line)).length;
}

type Place = { readonly stateDir: string; readonly workspace: string };

/** Starts the commands, kills the gateway while some of both tiers sleep, and gives what was there and acknowledged. */
async function killedInTheMiddle(program: string, { stateDir, workspace }: Place) {
  const child = spawn(process.execPath, [program, stateDir, workspace], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const lines = () => out.split('\n').filter((line) => line.startsWith('call_'));
  const tiersBegun = () =>
    new Set(readdirSync(workspace).map((name) => Number(name.slice('begun.'.length)) % 2));
  const until = async (isSo: () => boolean) => {
    while (!isSo()) {
      if (child.exitCode !== null) throw new Error(`Cannot go on: the gateway ended with ${child.exitCode}`);
      await sleep(50);
    }
  };
  await until(() => lines().length === THAT_END && tiersBegun().size === 2);
  const { journal, store, release } = await openRecords({
    stateDir,
    env: readEnvironment({}),
    version: '0.0.0',
  });
  await until(() => journal.openCalls(store).length === RUNS - THAT_END);
  release();
  // A command says that it has begun before its daemon sleeps.
  await until(() => SLEEPERS.every((words) => sleepingIn(traces(stateDir), words) >= 2));
  const alive = traces(stateDir);
  child.kill('SIGKILL');
  await closed;
  return { alive, acknowledged: new Map(lines().map((line) => line.split(' ') as [string, string])) };
}

describe('a gateway that is killed in the middle of 50 commands', async () => {
  const directories = makeDirectories(TOML);
  const { stateDir, workspace } = directories;
  const base = dirname(stateDir);
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  const program = await makeProgram(base);
  const before = traces(stateDir);
  const { alive, acknowledged } = await killedInTheMiddle(program, directories);

  test('had commands of both tiers running, with daemons', () => {
    for (const words of SLEEPERS) expect(sleepingIn(alive, words)).toBeGreaterThanOrEqual(2);
    expect([...acknowledged.values()]).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  test('takes every process and every mount with it, at once', async () => {
    // Where there are groups, somebody has to remove them; one more may have been made just before the kill.
    const { groups } = traces(stateDir);
    expect(groups).toEqual(expect.arrayContaining([...alive.groups]));
    expect(await leftovers(stateDir, { ...before, groups })).toEqual(NO_TRACES);
  });

  test('leaves nothing at all after the next start, an ending for every command, and budgets that balance', async () => {
    const gateway = await openGateway({
      stateDir,
      env: readEnvironment({}),
      version: '0.0.0',
      workspaces: [workspace],
    });
    expect(await leftovers(stateDir, before)).toEqual(NO_TRACES);

    const records = [...recordsFrom(gateway.segments, 1)];
    const bodies = records.map(({ call, kind, line }) => ({
      call,
      kind,
      body: JSON.parse(line).body as Body,
    }));
    const ended = bodies.filter(({ kind }) => kind === 'ended');
    const intents = records.filter(({ kind }) => kind === 'intent').map(({ call }) => call);
    expect(intents).toHaveLength(RUNS);
    expect(ended.map(({ call }) => call).sort()).toEqual(intents.sort());
    for (const { call, body } of ended) {
      expect(body.code, String(call)).toBe(acknowledged.get(call ?? '') ?? 'tier/unknown-ending');
    }
    const ring = await parseKeyRing(gateway.keys.export(), nodePrimitives);
    if (!ring.ok) throw new Error(ring.why);
    expect(await verifyLive(gateway, ring.keys, nodePrimitives)).toMatchObject({ ok: true, firstBad: null });

    expect(reservations(gateway.store)).toEqual([]);
    const [account] = balances(gateway.store, { rules: gateway.budgets, nowMs: Date.now(), limit: 10 });
    const spent = (unit: string) => account?.units.find((row) => row.unit === unit)?.spent;
    for (const { unit } of UNITS) {
      const used = ended.reduce((sum, { body }) => sum + (body.usage?.[unit] ?? 0), 0);
      expect({ unit, spent: spent(unit) }).toEqual({ unit, spent: used });
    }
    await gateway.close();
  });
});
