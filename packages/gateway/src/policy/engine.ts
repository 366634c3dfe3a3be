import type { Clock } from '../core/clock.ts';
import { type Digest, digestValue } from '../core/digest.ts';
import { type CedarLoader, cedarVersion, loadCedar, Workbench } from './cedar.ts';
import { type CheckResult, checkKey, checkPolicies, isHarmless } from './check.ts';
import { Decider, type PolicyAnswer } from './decider.ts';
import { Directory, type Groups, printTool } from './entities.ts';
import { PROBLEM_LIMITS } from './limits.ts';
import * as memory from './memory.ts';
import { type NamedEntities, namedIn, type ToolsOf } from './parse.ts';
import {
  fileProblem,
  fingerprint,
  type PolicyFilesRead,
  readPolicyFiles,
  seedPolicies,
} from './policy-files.ts';
import { type PolicyProblem, type PolicySet, shorten } from './policy-set.ts';
import { finishReplacing } from './replace-files.ts';
import type { PolicyQuestion } from './request.ts';
import type { Reads } from './schema.ts';

/*
 * Keeps the policy set that decides. What comes in is a directory that the operator owns and edits at any time; what
 * comes out are answers of Cedar under exactly one checked set. A set is accepted as a whole or refused as a whole, and
 * a refused one leaves the previous set in place, also across restarts. With no set at all nothing is permitted. This
 * module never turns an error into an allowance, never lets an unchecked text near the deciding instance, and knows
 * neither journal nor approvals: events are reported to `onEvent`.
 */

export type PolicyEvent =
  | { readonly kind: 'policy-loaded'; readonly digest: Digest; readonly ids: readonly string[] }
  /** The digest of the set that stays active, null when there is none; `more` counts the problems left out. */
  | {
      readonly kind: 'policy-refused';
      readonly digest: Digest | null;
      readonly problems: readonly PolicyProblem[];
      readonly more: number;
    }
  | { readonly kind: 'policy-crashed'; readonly digest: Digest | null; readonly message: string };

export type PolicyOptions = {
  readonly directory: string;
  readonly store: memory.PolicyStore;
  readonly tools: ToolsOf;
  readonly groups: Groups;
  readonly clock: Clock;
  readonly reloadMs: number;
  readonly onEvent: (event: PolicyEvent) => void;
  /** Checks that need not be made again, besides those that the store remembers; without it that of the starters. */
  readonly checked?: memory.CheckedSets;
  /** The process asks few questions, so the answers are kept for the next one. */
  readonly keepsAnswers?: boolean;
  /** Another evaluator, for tests that break it. */
  readonly load?: CedarLoader;
  /** Another way to wait between two looks, for tests that write in between. */
  readonly pause?: (ms: number) => void;
};

/** Between the two looks of a start; longer than an editor takes to write a file. */
const SECOND_LOOK_MS = 50;

/** A set of files that was checked, now or before, with the key of that check. */
type Candidate = CheckResult & { readonly key: string };

/** While an interrupted replacement cannot be completed. */
const HALF: readonly PolicyProblem[] = [
  fileProblem(
    '.',
    'Cannot use the policies: an earlier replacement of the policies cannot be completed',
    'look at the file ".replacing" beside them; without it the files are read as they are',
  ),
];

type Reading = PolicyFilesRead & { readonly names: NamedEntities };

/** The policies of a state directory; a new one is seeded. */
export class PolicyEngine {
  readonly principals: Directory;
  /** Where texts are tested and calls explained, away from the deciding instance. */
  readonly bench: Workbench;
  readonly #options: PolicyOptions;
  readonly #decider: Decider;
  #problems: readonly PolicyProblem[] = [];
  #isHalf = false;
  #warnings: readonly PolicyProblem[] = [];
  #settled: string | null = null;
  #seen: string | null = null;
  #reported = '';
  /** What the files of that fingerprint name; an empty directory has an empty one. */
  #named: { readonly files: string; readonly names: NamedEntities } = { files: '', names: namedIn([]) };
  #lookedAtMs: number;

  constructor(options: PolicyOptions) {
    const load = options.load ?? loadCedar;
    this.#options = options;
    const { keepsAnswers = false, store } = options;
    this.#decider = new Decider(load, keepsAnswers ? memory.lastingAnswers(store) : undefined);
    this.bench = new Workbench(load);
    this.principals = new Directory(options.groups);
    this.#lookedAtMs = options.clock.monotonicMs();
    // Boundary: where a set was active, a missing directory must not bring back the starters, which permit more.
    if (!memory.hadAnySet(options.store)) seedPolicies(options.directory);
    this.#start();
  }

  /** The active set; null means that everything is denied. */
  get set(): PolicySet | null {
    return this.#decider.set;
  }

  get setDigest(): Digest | null {
    return this.set?.digest ?? null;
  }

  /** What that set can read of a call; a question with these attributes has the same answer as one with all. */
  get reads(): Reads {
    return this.#decider.reads;
  }

  readsFor(toolId: string): Reads {
    return this.#decider.readsFor(toolId);
  }

  /** Whether that set can judge a command by the digest of its program. */
  get readsDigests(): boolean {
    return this.#decider.readsDigests;
  }

  /** What is wrong with the files as they are now; empty when they are the set that decides. */
  get problems(): readonly PolicyProblem[] {
    return this.#isHalf ? HALF : this.#problems;
  }

  get warnings(): readonly PolicyProblem[] {
    return this.#warnings;
  }

  /** Looks at the directory, at most once in `reloadMs`, and activates a changed set if it passes the check. */
  refresh(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lookedAtMs < this.#options.reloadMs) return;
    this.#lookedAtMs = nowMs;
    this.#look(this.set);
  }

  /** Looks now, and twice: for callers that have just replaced the files and know that they are complete. */
  reload(): void {
    this.#lookedAtMs = this.#options.clock.monotonicMs();
    this.#look(this.set);
    this.#look(this.set);
  }

  /** Whether a decision under that set is still valid: the set is active, and no file has changed since. */
  holds(digest: Digest): boolean {
    if (this.setDigest !== digest) return false;
    const isFresh = this.#options.clock.monotonicMs() - this.#lookedAtMs < this.#options.reloadMs;
    return isFresh || this.#print().print === this.#settled;
  }

  /** Asks the deciding instance; a crash denies, is reported, and the instance is replaced before the next question. */
  ask(question: PolicyQuestion): PolicyAnswer {
    const answer = this.#decider.ask(question);
    if (answer.crashed) {
      const message = shorten(answer.errors[0]?.message ?? '');
      this.#options.onEvent({ kind: 'policy-crashed', digest: this.setDigest, message });
    }
    return answer;
  }

  /** A new process knows the previous set only from the database, and may have no later moment for a second look. */
  #start(): void {
    const { store, pause = pauseThread } = this.#options;
    const before = memory.recallActive(store);
    this.#look(before);
    if (this.#settled === null) {
      pause(SECOND_LOOK_MS);
      this.#look(before);
    }
    if (this.set === null) this.#fallBack(before);
  }

  #look(before: PolicySet | null): void {
    // Boundary: half of a set that is being replaced is not a set.
    this.#isHalf = !finishReplacing(this.#options.directory);
    if (this.#isHalf) return;
    const { print, read } = this.#print();
    if (print === this.#settled) return;
    const isConfirmed = print === this.#seen;
    this.#seen = print;
    // What an earlier look has read is read again: the second look is there to confirm that it is unchanged.
    const candidate = this.#propose(read ?? readNamed(this.#options.directory));
    // Boundary: a file that is just being written may lack its last policies, and one of them may be a forbid.
    if (candidate.ok && !isConfirmed && losesPolicies(before, candidate.set)) return;
    this.#settled = print;
    if (candidate.ok) this.#activate(candidate);
    else this.#refuse(candidate);
  }

  /** Changes whenever the files, a permanent tool or a tool they name do; and what was read to compute it. */
  #print(): { readonly print: string; readonly read: Reading | null } {
    const { directory, tools } = this.#options;
    const files = fingerprint(directory);
    const read = this.#named.files === files ? null : readNamed(directory);
    if (read !== null) this.#named = { files, names: read.names };
    return { print: [files, ...tools(this.#named.names).map(printTool)].join('\n'), read };
  }

  #propose({ files, problems, names }: Reading): Candidate {
    const { store } = this.#options;
    const tools = this.#options.tools(names);
    const key = checkKey(files, tools, cedarVersion());
    if (problems.length > 0) return { ok: false, problems, more: 0, key, warnings: [] };
    // Boundary: the key covers everything that a check looks at, so the same set would pass again.
    const remembered = memory.recallChecked(store, key);
    if (remembered !== null) return { ok: true, set: remembered, key, warnings: [] };
    const { checked = memory.shippedChecks() } = this.#options;
    const known = checked.get(key);
    if (known !== undefined) return { ok: true, ...known, key };
    const result = checkPolicies(files, tools, this.bench);
    if (result.ok) checked.set(key, result);
    return { ...result, key };
  }

  #activate({ set, key, warnings }: Candidate & { ok: true }): void {
    const { store, clock, onEvent } = this.#options;
    try {
      this.#decider.use(set);
    } catch (error) {
      onEvent({ kind: 'policy-crashed', digest: set.digest, message: shorten(String(error)) });
      return;
    }
    this.#problems = [];
    this.#warnings = warnings;
    const isNew = memory.recallActive(store)?.digest !== set.digest;
    if (isNew || memory.recallChecked(store, key) === null) {
      // What cannot be remembered is checked again at the next start; nothing else is lost.
      memory.remember(store, set, key, clock.nowMs()).catch(() => undefined);
    }
    if (isNew) onEvent({ kind: 'policy-loaded', digest: set.digest, ids: set.policies.map(({ id }) => id) });
  }

  #refuse({ problems, more, key }: Candidate & { ok: false }): void {
    const { store, clock, onEvent } = this.#options;
    this.#problems = problems;
    const digest = this.setDigest ?? memory.recallActive(store)?.digest ?? null;
    // The same files under another set are a new event; the key alone does not include unreadable files.
    const refusal = digestValue({ key, digest, problems });
    if (this.#reported === refusal || memory.wasRefusalTold(store, refusal)) return;
    this.#reported = refusal;
    const told = problems.slice(0, PROBLEM_LIMITS.told);
    onEvent({ kind: 'policy-refused', digest, problems: told, more: more + problems.length - told.length });
    // What cannot be remembered is reported again by the next process.
    memory.rememberRefusal(store, refusal, clock.nowMs()).catch(() => undefined);
  }

  /** The files are invalid at the start: the last valid set stays active, if it can still be loaded. */
  #fallBack(set: PolicySet | null): void {
    if (set === null) return;
    const tools = this.#options.tools(namedIn(set.policies.map(({ text }) => text)));
    if (isHarmless(set, tools, this.bench)) this.#decider.use(set);
  }
}

function readNamed(directory: string): Reading {
  const read = readPolicyFiles(directory);
  return { ...read, names: namedIn(read.files.map(({ text }) => text)) };
}

function losesPolicies(before: PolicySet | null, after: PolicySet): boolean {
  const ids = new Set(after.policies.map(({ id }) => id));
  return before?.policies.some(({ id }) => !ids.has(id)) ?? false;
}

/** Blocks this thread for a moment; acceptable only at start-up, when nothing else is running. */
function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
