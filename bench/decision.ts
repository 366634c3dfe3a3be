import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckedCall } from '../packages/gateway/src/core/checked-call.ts';
import { DEFAULT_LIMITS, LIMIT_CEILINGS } from '../packages/gateway/src/core/limits.ts';
import type { Tool } from '../packages/gateway/src/core/tool.ts';
import { systemClock } from '../packages/gateway/src/open.ts';
import { authorize, type CallFacts } from '../packages/gateway/src/policy/authorize.ts';
import { type Cedar, loadCedar } from '../packages/gateway/src/policy/cedar.ts';
import { PolicyEngine } from '../packages/gateway/src/policy/engine.ts';
import { policyMigrations } from '../packages/gateway/src/policy/memory.ts';
import { STARTER_POLICIES } from '../packages/gateway/src/policy/starter.table.ts';
import { BUILTIN_TOOLS } from '../packages/gateway/src/registry/builtin.table.ts';
import { Registry } from '../packages/gateway/src/registry/registry.ts';
import { Schemas } from '../packages/gateway/src/registry/schema.ts';
import { Store } from '../packages/gateway/src/store/store.ts';
import { echoCall } from './bed.ts';
import { type BenchOptions, compare, type Figure, scaled, spreadOf, timesOf } from './measure.ts';

/*
 * authorize() against the very call of Cedar that it makes: the same instance, the same arguments, in turns. What is
 * between the two is ours: writing the call down as a question, reading the answer, making the grant.
 */

type Question = Parameters<Cedar['statefulIsAuthorized']>[0];
type Bare = { ask: () => unknown };

const STARTERS = 13;
const SETS = [STARTERS, 100, 1000];
const LEFT = { calls: 1e6, wallMs: 1e6, cpuMs: 1e6, fuel: 1e9, outputBytes: 1e9, egressBytes: 1e9 };

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const checked = await checkedEcho();
  const figures: Figure[] = [];
  for (const [at, size] of SETS.entries()) {
    const { engine, bare, close } = openSet(scratch, size);
    const facts: CallFacts = { budgetLeft: LEFT, approval: null, nowMs: systemClock.nowMs() };
    const { verdict } = authorize(engine, checked, facts);
    if (verdict !== 'allow') throw new Error(`Cannot measure decision: it is "${verdict}", expected "allow"`);
    const count = size >= 1000 ? 10 : 50;
    const anew = anotherEachTime(checked);
    const act = () => authorize(engine, anew(), facts);
    const { ours, bare: peer, ratio } = await compare(quick ? 30 : 120, count, act, () => bare.ask());
    const again = await timesOf(quick ? 500 : 2_000, () => authorize(engine, checked, facts));
    close();
    const set = at === 0 ? 'starter policies' : `${size} policies`;
    figures.push({ name: `authorize / bare Cedar, ${set}`, unit: 'x', spread: ratio, goal: { atMost: 1.3 } });
    figures.push({ name: `authorize, ${set}`, unit: 'us', spread: scaled(ours, 1000) });
    figures.push({ name: `bare Cedar, ${set}`, unit: 'us', spread: scaled(peer, 1000) });
    figures.push({
      name: `authorize, asked before, ${set}`,
      unit: 'us',
      spread: scaled(spreadOf(again), 1000),
    });
  }
  return figures;
}

/** The same call of another principal each time, so that no answer is known from before. */
function anotherEachTime(checked: CheckedCall): () => CheckedCall {
  let count = 0;
  return () => {
    count += 1;
    const principal = { kind: 'agent', name: `agent-${count}` } as const;
    return { ...checked, call: { ...checked.call, principal } };
  };
}

async function checkedEcho(): Promise<CheckedCall> {
  const registry = new Registry({
    tools: BUILTIN_TOOLS,
    input: { maxBytes: 131_072, maxDepth: 64 },
    limits: DEFAULT_LIMITS,
    ceilings: LIMIT_CEILINGS,
    loadSchemas: async () => new Schemas(),
  });
  const checked = await registry.check(echoCall());
  if ('status' in checked) throw new Error(checked.message);
  return checked;
}

/** An engine on `size` policies whose Cedar lets us see the arguments it was asked with. */
function openSet(scratch: string, size: number): { engine: PolicyEngine; bare: Bare; close: () => void } {
  const state = mkdtempSync(join(scratch, 'policy-'));
  const directory = join(state, 'policies');
  mkdirSync(directory, { mode: 0o700 });
  for (const [name, text] of Object.entries(STARTER_POLICIES)) writeFileSync(join(directory, name), text);
  const more = Array.from({ length: size - STARTERS }, (_, i) => policyText(i));
  for (let i = 0; i < more.length; i += 200) {
    writeFileSync(join(directory, `50-more-${i}.cedar`), more.slice(i, i + 200).join('\n'));
  }
  const store = new Store({ directory: state, migrations: policyMigrations, busyTimeoutMs: 1000, nowMs: 0 });
  const bare: Bare = { ask: () => undefined };
  const tools = (): readonly Tool[] => BUILTIN_TOOLS;
  const engine = new PolicyEngine({
    directory,
    store,
    tools,
    groups: new Map(),
    clock: systemClock,
    reloadMs: 250,
    onEvent: () => undefined,
    load: () => watched(loadCedar(), bare),
  });
  const found = engine.set?.policies.length;
  if (found !== size)
    throw new Error(`Cannot measure decision: the set has ${found} policies, expected ${size}`);
  return { engine, bare, close: () => store.close() };
}

function watched(cedar: Cedar, bare: Bare): Cedar {
  const statefulIsAuthorized = (question: Question) => {
    bare.ask = () => cedar.statefulIsAuthorized(question);
    return cedar.statefulIsAuthorized(question);
  };
  return { ...cedar, statefulIsAuthorized };
}

/** Policies of the kinds operators write: by principal, by group, by argument, by host. */
function policyText(index: number): string {
  const kinds = [
    `permit (principal == Agent::"worker-${index}", action == Action::"call", resource in Category::"text");`,
    `permit (principal in Group::"team-${index}", action == Action::"call", resource) when { resource.risk == "low" };`,
    `forbid (principal == Agent::"worker-${index}", action == Action::"call", resource) when { context.hour < 8 };`,
    `forbid (principal, action == Action::"call", resource) when { context.hosts.contains("host-${index}.example.com") };`,
  ];
  return `@id("more-${index}")\n${kinds[index % kinds.length]}\n`;
}
