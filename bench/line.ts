import { left } from '../packages/gateway/src/budget/budget.ts';
import { admit } from '../packages/gateway/src/invoke/admit.ts';
import { begin } from '../packages/gateway/src/invoke/begin.ts';
import { finish } from '../packages/gateway/src/invoke/finish.ts';
import type { Gateway, Opened } from '../packages/gateway/src/invoke/gateway.ts';
import { invoke } from '../packages/gateway/src/invoke/invoke.ts';
import { authorize } from '../packages/gateway/src/policy/authorize.ts';
import { echoCall, never, openBed } from './bed.ts';
import { BareLog } from './disk.ts';
import { type BenchOptions, type Figure, quantile, single, spreadOf, timesOf } from './measure.ts';

/*
 * invoke() of palisade.echo with everything a real call has: policies, budgets, two durable transactions and a signed
 * receipt. The parts are timed one after the other by the functions that invoke() itself calls. A call can never be
 * faster than two flushes of the disk, so a bare append with fdatasync is timed in the same rounds.
 */

type Parts = Record<Part, number[]>;
type Part = (typeof PARTS)[number];

const PARTS = ['read and check the input', 'budget left', 'decision', 'begin', 'run', 'finish'] as const;
const CONCURRENCY = 64;
const BARE_RECORD = 'x'.repeat(2000);

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const gateway = await openBed(scratch);
  const bareLog = new BareLog(scratch, BARE_RECORD);
  try {
    await timesOf(quick ? 500 : 3000, () => echo(gateway));
    const rounds = quick ? 5 : 20;
    const [calls, flushes]: [number[], number[]] = [[], []];
    const parts = Object.fromEntries(PARTS.map((part) => [part, []])) as unknown as Parts;
    const rates: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      calls.push(...(await timesOf(200, () => echo(gateway))));
      flushes.push(...(await timesOf(100, () => bareLog.append())));
      for (let i = 0; i < 100; i += 1) await walk(gateway, parts);
      rates.push(await rateAt(gateway, CONCURRENCY, 640));
    }
    return figuresOf({ calls, flushes, parts, rates });
  } finally {
    bareLog.close();
    await gateway.close();
  }
}

type Measured = { calls: number[]; flushes: number[]; parts: Parts; rates: number[] };

function figuresOf({ calls, flushes, parts, rates }: Measured): Figure[] {
  const sorted = [...calls].sort((a, b) => a - b);
  const twoFlushes = 2 * spreadOf(flushes).median;
  return [
    {
      name: 'invoke palisade.echo, one at a time, p50',
      unit: 'ms',
      spread: spreadOf(calls),
      goal: { atMost: 1 },
    },
    { name: 'invoke, p95', unit: 'ms', spread: single(quantile(sorted, 0.95)) },
    { name: 'invoke, p99', unit: 'ms', spread: single(quantile(sorted, 0.99)) },
    {
      name: 'two bare append + fdatasync',
      unit: 'ms',
      spread: single(twoFlushes),
      note: 'the floor of the disk',
    },
    ...PARTS.map((part): Figure => ({ name: `part: ${part}`, unit: 'ms', spread: spreadOf(parts[part]) })),
    { name: `invoke, ${CONCURRENCY} at a time`, unit: 'per s', spread: spreadOf(rates) },
  ];
}

async function echo(gateway: Opened<Gateway>): Promise<void> {
  const { outcome } = await invoke(gateway, echoCall(), never());
  if (outcome.status !== 'ok') throw new Error(`Cannot measure line: the call ended with ${outcome.code}`);
}

/** One call, step by step. The decision is timed apart and then made once more by admit, untimed. */
async function walk(gateway: Opened<Gateway>, parts: Parts): Promise<void> {
  const call = echoCall();
  const nowMs = gateway.clock.nowMs();
  const checked = await timed(parts['read and check the input'], () => gateway.registry.check(call));
  if ('status' in checked) throw new Error(checked.message);
  const budgetLeft = await timed(parts['budget left'], () =>
    left(gateway.store, gateway.budgets, checked, nowMs),
  );
  await timed(parts.decision, () =>
    authorize(gateway.policy, checked, { budgetLeft, approval: null, nowMs }),
  );
  const admission = await admit(gateway, call);
  const begun = await timed(parts.begin, () => begin(gateway, call, admission));
  if (begun.kind !== 'begun') throw new Error('Cannot measure line: the call did not begin');
  const { grant, limits } = begun;
  const result = await timed(parts.run, async () => {
    const ran = await gateway.executors.builtin?.run(grant, limits, {
      signal: never(),
      stillPermitted: () => true,
    });
    if (ran === undefined) throw new Error('Cannot measure line: there is no builtin tier');
    await gateway.registry.outputProblem(grant.call.tool, ran.ending.output);
    return ran;
  });
  await timed(parts.finish, () => finish(gateway, begun, result));
}

async function timed<T>(times: number[], act: () => T | Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await act();
  times.push(performance.now() - startedMs);
  return result;
}

async function rateAt(gateway: Opened<Gateway>, concurrency: number, count: number): Promise<number> {
  const startedMs = performance.now();
  const loops = Array.from({ length: concurrency }, async () => {
    for (let i = 0; i < count / concurrency; i += 1) await echo(gateway);
  });
  await Promise.all(loops);
  return count / ((performance.now() - startedMs) / 1000);
}
