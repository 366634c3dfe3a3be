/**
 * A command that stays: it is started in a tier as any other, and talks to the gateway through two streams of its own
 * until it is ended. It is proved as every run is: what its launcher reports from inside has to be what was planned.
 */
import { Duplex } from 'node:stream';
import { CodedError } from '../../core/coded-error.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { End } from '../child/live-child.ts';
import { SAMPLE_PASS } from '../network/variables.ts';
import { type Box, openBox, runInBox } from './box.ts';
import type { CommandTier } from './command-plan.ts';
import { holdWorkspace } from './held-workspace.ts';
import { proofOf } from './proof.ts';
import type { CommandKit } from './run-command.ts';

export type HeldRun = {
  readonly send: Duplex;
  readonly receive: Duplex;
  /** Settles when all of it is gone, and never rejects. */
  readonly ended: Promise<void>;
  readonly kill: () => void;
  readonly isolation: Readonly<Record<string, string | number | boolean>>;
};

/** Starts it, and waits until its walls are proved. */
export async function holdRun(
  kit: CommandKit,
  tier: CommandTier,
  { id, terms }: { readonly id: string; readonly terms: ProcessTerms },
): Promise<HeldRun> {
  const held = holdWorkspace(terms.workspace);
  const wish = { id, terms, held, pass: SAMPLE_PASS, hasStreams: true };
  const { box, plan } = await openBox(kit, tier, wish).finally(() => held.close());
  const stop = new AbortController();
  const { proved, onStatus } = proofOf(plan);
  const run = { plan, terms, serve: async () => undefined, onStatus };
  const ended = runInBox(box, run, { signal: stop.signal, clock: kit.clock })
    .then(
      () => undefined,
      () => undefined,
    )
    .finally(() => kit.closing.add(box.close()));
  const lack = await Promise.race([proved, ended.then(() => 'it ended before it began')]);
  const { send, receive } = streamsOf(box);
  if (lack !== null || send === null || receive === null) {
    stop.abort();
    throw new CodedError('tier/not-started', `Cannot start ${terms.argv[0]}: ${lack ?? 'it has no streams'}`);
  }
  const facts = { ...tier.about, ...(box.group?.facts() ?? { cgroup_kind: 'none' }) };
  return { send, receive, ended, kill: () => stop.abort(), isolation: { tier: tier.name, ...facts } };
}

function streamsOf({ child }: Box): { readonly send: Duplex | null; readonly receive: Duplex | null } {
  const ends: readonly (End | null)[] = 'error' in child ? [] : child.ends;
  const [send, receive] = ends;
  return {
    send: send instanceof Duplex ? send : null,
    receive: receive instanceof Duplex ? receive : null,
  };
}
