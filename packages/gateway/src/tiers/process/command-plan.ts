import type { ProcessTerms } from '../../core/process.ts';
import type { NetworkPlan } from '../network/plan.ts';
import type { NetworkPass } from '../network/variables.ts';
import type { AsRoot } from '../plan/launcher-words.ts';
import type { PlanRefusal } from '../plan/unenforceable.ts';

/** What a descriptor of a plan is for; the kinds of all tiers together. */
export type Role =
  | { readonly role: 'args' | 'status' | 'control' | 'words' | 'launcher' | 'workspace' }
  | { readonly role: 'seccomp'; readonly bytes: Uint8Array }
  | { readonly role: 'bytes'; readonly path: string; readonly text: string }
  | { readonly role: 'pinned' | 'protected'; readonly path: string }
  | { readonly role: 'cgroup'; readonly index: number }
  | { readonly role: 'handles'; readonly count: number }
  | { readonly role: 'stream'; readonly way: 'in' | 'out' }
  | { readonly role: 'map'; readonly asRoot: AsRoot };

/** A command with its sandbox, ready to be started. */
export type CommandPlan = {
  readonly ok: true;
  /** The words of the launcher that is started: they make the sandbox, where the tier has one. */
  readonly words: readonly string[];
  /** Options of bubblewrap, which go through a descriptor. */
  readonly args: readonly string[];
  /** What the launcher that runs the command is told, once it waits: all that is not the sandbox but the command in it. */
  readonly told: readonly string[];
  readonly descriptors: readonly Role[];
  /** Null where the run has none of its own. */
  readonly network: NetworkPlan | null;
  /** Says what the reported facts lack of what the plan holds; null when they prove it. */
  readonly missing: (facts: Readonly<Record<string, string>>) => string | null;
};

/** What is known only when the run begins. */
export type RunPlace = {
  readonly cgroups: number;
  readonly asRoot: AsRoot | null;
  /** For a run that has a network. */
  readonly pass: NetworkPass;
  /** It has a way in and a way out beside its standard streams, as the numbers 3 and 4. */
  readonly hasStreams?: boolean;
};

/** A tier that starts commands: how it plans, and what it says of itself in a receipt. */
export type CommandTier = {
  readonly name: 'b' | 'c';
  readonly executor: string;
  /** Facts of the machine and the programs that hold the sandbox. */
  readonly about: Readonly<Record<string, string | number | boolean>>;
  readonly plan: (terms: ProcessTerms, place: RunPlace) => CommandPlan | PlanRefusal;
};

/** Which facts are not as they were expected, as words; null when all are. */
export function missingFact(
  facts: Readonly<Record<string, string>>,
  equal: Readonly<Record<string, string>>,
): string | null {
  for (const [name, expected] of Object.entries(equal)) {
    const is = facts[name];
    if (is !== expected) return `${name} is ${is ?? 'not reported'}, expected ${expected}`;
  }
  return null;
}

/** Which namespace is the gateway's own although the plan has a new one; null when none is. */
export function sharedNamespace(
  facts: Readonly<Record<string, string>>,
  names: readonly string[],
  own: Readonly<Record<string, string>>,
): string | null {
  for (const name of names) {
    const is = facts[`ns.${name}`];
    // Boundary: a namespace that nobody reported counts as shared.
    if (is === undefined || is === own[name])
      return `the ${name} namespace is the gateway's, expected a new one`;
  }
  return null;
}
