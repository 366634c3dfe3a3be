/**
 * A long-running command: it is started in a tier like any other, and talks to the gateway through two separate streams
 * until it is ended. Its isolation is proved as for every run: the launcher's report from inside must match the plan.
 */
import { Duplex } from 'node:stream';
import { CodedError } from '../../core/coded-error.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { End } from '../child/child.ts';
import { parseStatus } from '../child/status.ts';
import { SAMPLE_PASS } from '../network/plan.ts';
import { holdWorkspace } from '../workspace/held-directory.ts';
import type { CommandPlan, CommandTier } from './plan.ts';
import { limitsHeld } from './proof.ts';
import type { CommandKit } from './run.ts';
import { openSandbox, runInSandbox, type Sandbox } from './sandbox.ts';

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

type Proof = {
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
