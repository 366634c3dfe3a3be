/**
 * What the launcher reports from inside, compared with what the plan promises. The launcher compares first and does not
 * start a command that lacks a promise; the gateway compares again what it reads.
 */

import { Duplex } from 'node:stream';
import { CodedError } from '../../core/coded-error.ts';
import type { Refused } from '../../core/outcome.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { accept, type Result } from '../../core/result.ts';
import type { RunGroup } from '../cgroup/run-group.ts';
import type { End } from '../child/child.ts';
import { parseStatus } from '../child/status.ts';
import { SAMPLE_PASS } from '../network/plan.ts';
import { holdWorkspace } from '../workspace/held-directory.ts';
import type { CommandPlan, CommandTier, Expectation, TierPlan } from './plan.ts';
import type { CommandKit } from './run.ts';
import { openSandbox, runInSandbox, type Sandbox } from './sandbox.ts';
import type { Facts } from './tier.ts';

/** A fact that does not prove what the plan promises, and how it differs. */
export type IsolationGap = { readonly fact: string; readonly text: string };

/** The plan with the check of what is reported from inside; a tier can add its own. */
export function proving(plan: Result<TierPlan, Refused>, ownNamespaces: Facts): Result<CommandPlan, Refused> {
  if (!plan.ok) return plan;
  const { expected, ...rest } = plan.value;
  const missing: CommandPlan['missing'] = (facts) =>
    missingFact(facts, expected.equal) ??
    sharedNamespace(facts, expected.newNamespaces, ownNamespaces) ??
    sameFact(facts, expected.other ?? {}) ??
    otherItem(facts, expected.within ?? {});
  return accept({ ...rest, gate: gateWords(expected, ownNamespaces), missing });
}

/** The launcher's arguments for the same checks. */
function gateWords({ equal, newNamespaces, other, within }: Expectation, own: Facts): readonly string[] {
  return [
    ...Object.entries(equal).map(([name, value]) => `expect=${name}=${value}`),
    ...newNamespaces.map((name) => `differ=ns.${name}=${own[name] ?? ''}`),
    ...Object.entries(other ?? {}).map(([name, value]) => `differ=${name}=${value}`),
    ...Object.entries(within ?? {}).map(([name, items]) => `within=${name}=${items.join(',')}`),
  ];
}

/** The first fact that is not as expected; null when all are. */
export function missingFact(facts: Facts, equal: Facts): IsolationGap | null {
  for (const [name, expected] of Object.entries(equal)) {
    const is = facts[name];
    if (is !== expected)
      return { fact: name, text: `${name} is ${is ?? 'not reported'}, expected ${expected}` };
  }
  return null;
}

/** Which namespace is the gateway's own although the plan has a new one; null when none is. */
export function sharedNamespace(facts: Facts, names: readonly string[], own: Facts): IsolationGap | null {
  for (const name of names) {
    const is = facts[`ns.${name}`];
    // Boundary: a namespace that was not reported counts as shared.
    if (is === undefined || is === own[name])
      return { fact: `ns.${name}`, text: `the ${name} namespace is the gateway's, expected a new one` };
  }
  return null;
}

function sameFact(facts: Facts, other: Facts): IsolationGap | null {
  for (const [name, value] of Object.entries(other)) {
    const is = facts[name];
    if (is === undefined || is === value)
      return { fact: name, text: `${name} is ${is ?? 'not reported'}, expected another value` };
  }
  return null;
}

/** Which item of a list should not be there, or is missing; null when the lists have the same items. */
function otherItem(facts: Facts, within: NonNullable<Expectation['within']>): IsolationGap | null {
  for (const [fact, expected] of Object.entries(within)) {
    const items = (facts[fact] ?? '').split(',').filter((item) => item !== '');
    const more = items.find((item) => !expected.includes(item));
    if (more !== undefined) return { fact, text: `${fact} has "${more}", expected no such item` };
    const less = expected.find((item) => !items.includes(item));
    if (less !== undefined) return { fact, text: `${fact} lacks "${less}", expected it there` };
  }
  return null;
}

/** What enforces the limits that concern all processes of a run, for the receipt. Null: it has no control group. */
export function limitsHeld(
  group: Pick<RunGroup, 'facts' | 'countsCpu' | 'countsTcp'> | null,
): Readonly<Record<string, string | number>> {
  const cpu = { limit_cpu_time: group?.countsCpu === true ? 'control group' : SAMPLED };
  if (group === null) {
    return {
      cgroup_kind: 'none',
      ...cpu,
      limit_memory: EACH_PROCESS,
      limit_processes: 'the user of the command',
    };
  }
  const limit_memory = group.countsTcp ? 'control group' : NO_TCP;
  return { ...group.facts(), ...cpu, limit_memory, limit_processes: 'control group' };
}

const SAMPLED = 'sampled: at least what is reported was used';
const EACH_PROCESS = 'not held: only the data of each process';
const NO_TCP = 'control group, except for buffers of TCP';

/*
 * A long-running command: it is started in a tier like any other, and talks to the gateway through two separate streams
 * until it is ended. Its isolation is proved as for every run: the launcher's report from inside must match the plan.
 */

export type HeldRun = {
  readonly send: Duplex;
  readonly receive: Duplex;
  /** Settles when all of it is gone, and never rejects. */
  readonly ended: Promise<void>;
  readonly kill: () => void;
  readonly isolation: Readonly<Record<string, string | number | boolean>>;
};

/** Starts it, and waits until its isolation is proved. */
export async function holdRun(
  kit: CommandKit,
  tier: CommandTier,
  { id, terms }: { readonly id: string; readonly terms: ProcessTerms },
): Promise<HeldRun> {
  const held = holdWorkspace(terms.workspace);
  const wish = { id, terms, held, pass: SAMPLE_PASS, hasStreams: true };
  const { sandbox, plan } = await openSandbox(kit, tier, wish).finally(() => held.close());
  const stop = new AbortController();
  const { proved, onStatus } = proofOf(plan);
  const run = { plan, terms, serve: async () => undefined, onStatus };
  const ended = runInSandbox(sandbox, run, { signal: stop.signal, clock: kit.clock })
    .then(
      () => undefined,
      () => undefined,
    )
    .finally(() => kit.closing.add(sandbox.close()));
  const lack = await Promise.race([proved, ended.then(() => 'it ended before it began')]);
  const { send, receive } = streamsOf(sandbox);
  if (lack !== null || send === null || receive === null) {
    stop.abort();
    throw new CodedError('tier/not-started', `Cannot start ${terms.argv[0]}: ${lack ?? 'it has no streams'}`);
  }
  const facts = { ...tier.about, ...limitsHeld(sandbox.group) };
  return { send, receive, ended, kill: () => stop.abort(), isolation: { tier: tier.name, ...facts } };
}

function streamsOf({ child }: Sandbox): { readonly send: Duplex | null; readonly receive: Duplex | null } {
  const ends: readonly (End | null)[] = 'error' in child ? [] : child.ends;
  const [send, receive] = ends;
  return {
    send: send instanceof Duplex ? send : null,
    receive: receive instanceof Duplex ? receive : null,
  };
}

export type Proof = {
  /** Settles with what its isolation lacks, null for nothing, as soon as the launcher has reported it. */
  readonly proved: Promise<string | null>;
  readonly onStatus: (said: Uint8Array) => void;
};

/** Checks while a command runs whether its isolation is proved. */
export function proofOf(plan: CommandPlan): Proof {
  let settle: (lack: string | null) => void = () => undefined;
  const proved = new Promise<string | null>((resolve) => {
    settle = resolve;
  });
  const onStatus = (said: Uint8Array) => {
    const status = parseStatus(said);
    if (!status.ok) return;
    const { pid, failed, facts } = status.value;
    if (failed) settle(`its sandbox failed at "${failed.step}" with ${failed.name}`);
    else if (pid !== null) settle(plan.missing(facts)?.text ?? null);
  };
  return { proved, onStatus };
}
