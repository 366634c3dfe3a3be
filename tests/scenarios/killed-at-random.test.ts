import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseKeyRing, type Usage, verifyReceipt } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { nodePrimitives } from '../../packages/gateway/src/attest/primitives.ts';
import { balances } from '../../packages/gateway/src/budget/balances.ts';
import { UNITS } from '../../packages/gateway/src/budget/rule.ts';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import type { Gateway } from '../../packages/gateway/src/invoke/gateway.ts';
import { recordsFrom } from '../../packages/gateway/src/journal/search.ts';
import { verifyLive } from '../../packages/gateway/src/journal/verify.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import { reservations } from '../../packages/gateway/test/budget/reservations.ts';
import { bundle } from '../../packages/gateway/test/fixture/bundle.ts';
import { scratch } from '../fixtures/cli.ts';
import { volume } from '../volume/volume.ts';

const ROUNDS = volume(20, 2);
const TOML = `
[[budget]]
name = "crash-run"
per = "run"
calls = 100000
wall_ms = 1000000000000
cpu_ms = 1000000000000
fuel = 100000000000000
output_bytes = 1000000000000
egress_bytes = 1000000000000
`;

type Body = { code?: string; usage?: Usage; envelope?: unknown };

/** When a round is killed: once this many calls are acknowledged, and a little later. */
type Moment = { readonly acknowledged: number; readonly laterMs: number };

/** One round: 200 calls at once, killed at some point; gives what was acknowledged by then. */
async function killedRound(program: string, stateDir: string, moment: Moment): Promise<string[]> {
  const child = spawn(process.execPath, [program, stateDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const lines = () => out.split('\n').filter((line) => line.startsWith('call_'));
  while (!out.includes('ready\n') || lines().length < moment.acknowledged) {
    if (child.exitCode !== null)
      throw new Error(`Cannot start the calls: the process ended with ${child.exitCode}`);
    await sleep(1);
  }
  await sleep(moment.laterMs);
  child.kill('SIGKILL');
  await closed;
  return lines();
}

/** Every other round dies among the first transactions, the others anywhere up to the last endings. */
function momentOf(round: number): Moment {
  const acknowledged = round % 2 === 0 ? 0 : Math.floor(Math.random() * 190);
  return { acknowledged, laterMs: Math.random() * 30 };
}

function hasUnknownEnding({ segments }: Gateway): boolean {
  return [...recordsFrom(segments, 1)].some(({ line }) => line.includes('tier/unknown-ending'));
}

describe('a gateway that is killed at random points of 200 concurrent calls, again and again', async () => {
  const stateDir = scratch();
  writeFileSync(join(stateDir, 'palisade.toml'), TOML);
  const program = await bundle(new URL('../fixtures/many-calls.ts', import.meta.url), scratch());
  const acknowledged = new Map<string, string>();
  const kill = async (round: number) => {
    for (const line of await killedRound(program, stateDir, momentOf(round))) {
      const [call = '', code = ''] = line.split(' ');
      acknowledged.set(call, code);
    }
  };
  const open = () => openGateway({ stateDir, env: readEnvironment({}), version: 'test' });
  for (let round = 0; round < ROUNDS; round++) await kill(round);
  let gateway = await open();
  // All rounds may have been killed before or after their calls; then there are more until one is killed among them.
  for (let round = 0; !hasUnknownEnding(gateway); round++) {
    await gateway.close();
    await kill(round);
    gateway = await open();
  }
  const records = [...recordsFrom(gateway.segments, 1)].map((row) => ({
    ...row,
    body: JSON.parse(row.line).body as Body,
  }));
  const endings = new Map(records.filter(({ kind }) => kind === 'ended').map((row) => [row.call, row.body]));
  const ring = await parseKeyRing(gateway.keys.export(), nodePrimitives);
  if (!ring.ok) throw new Error(ring.why);

  test('was killed in the middle of its work at least once', () => {
    expect([...endings.values()].map(({ code }) => code)).toContain('tier/unknown-ending');
    expect(acknowledged.size).toBeGreaterThan(0);
  });

  test('leaves a journal that verifies', async () => {
    const report = await verifyLive(gateway, ring.keys, nodePrimitives);
    expect(report.firstBad).toBeNull();
    expect(report.ok).toBe(true);
  });

  test('has the ending of every call that it acknowledged, with the acknowledged code', () => {
    for (const [call, code] of acknowledged) expect(endings.get(call)?.code, call).toBe(code);
  });

  test('records every intent without an ending as unknown, once, with a receipt that verifies', async () => {
    const intents = records.filter(({ kind }) => kind === 'intent').map(({ call }) => call);
    expect(new Set(intents).size).toBe(intents.length);
    expect(records.filter(({ kind }) => kind === 'ended')).toHaveLength(intents.length);
    for (const call of intents) expect(endings.has(call), call ?? '').toBe(true);
    for (const { code, envelope } of endings.values()) {
      if (code !== 'tier/unknown-ending') continue;
      const report = await verifyReceipt(JSON.stringify(envelope), ring.keys, {}, nodePrimitives);
      expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    }
  });

  test('has budgets that balance to the unit', async () => {
    expect(reservations(gateway.store)).toEqual([]);
    // One for each of the principals, whose calls are sessions of their own.
    const accounts = balances(gateway.store, { rules: gateway.budgets, nowMs: Date.now(), limit: 10 });
    expect(accounts).toHaveLength(7);
    for (const { unit } of UNITS) {
      const used = [...endings.values()].reduce((sum, { usage }) => sum + (usage?.[unit] ?? 0), 0);
      const rows = accounts.flatMap(({ units }) => units.filter((row) => row.unit === unit));
      const sumOf = (amount: 'spent' | 'reserved') => rows.reduce((sum, row) => sum + row[amount], 0);
      expect({ unit, spent: sumOf('spent'), reserved: sumOf('reserved') }).toEqual({
        unit,
        spent: used,
        reserved: 0,
      });
    }
    await gateway.close();
  });
});
