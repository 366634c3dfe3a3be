/** Tiers B and C as executors: probed when the first call needs them, tried when a run could not be set up. */
import { statfsSync, statSync } from 'node:fs';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type Refused, refuse } from '../../core/outcome.ts';
import { isWeaker, PROCESS_TIER_NAMES, type ProcessTerms, type ProcessTierName } from '../../core/process.ts';
import { spend } from '../../policy/authorize.ts';
import type { PlannedCommand, RunResult, Tier } from '../tier.ts';
import { type HeldWorkspace, holdWorkspace } from '../workspace/held-directory.ts';
import { doubtConnections } from './attempt.ts';
import { fileState } from './machine.ts';
import { type HeldRun, holdRun } from './proof.ts';
import { type CommandKit, runCommand, termsWithin } from './run.ts';
import { checkMounts } from './sandbox.ts';
import type { Found, Lack, Probed, ProbeOptions, ProcessTier } from './tier.ts';
import { PROCESS_TIERS } from './tiers.table.ts';
import { type Trial, type TrialKit, tryTier } from './trial.ts';

/** What both tiers need to run commands and trials. */
export type TiersKit = Omit<CommandKit, 'launcher'> & TrialKit & { readonly floor?: TierFloor };

/** The weakest tier that the configuration permits, and where it says so, as `palisade.toml:3:1`. */
export type TierFloor = { readonly tier: ProcessTierName; readonly where: () => Promise<string> };

/** A tier of commands that can also run long-lived ones. */
export type HoldingTier = Tier & {
  /** Finds out what is there of it, for a command that is to come. */
  readonly look: () => Promise<unknown>;
  readonly hold: (id: string, terms: ProcessTerms) => Promise<HeldRun>;
};

/** Every tier of commands, by its name. */
export function commandTiers(
  kit: TiersKit,
  options: ProbeOptions,
): Readonly<Record<ProcessTierName, HoldingTier>> {
  const entries = Object.values(PROCESS_TIERS).map((tier) => [tier.name, tierOf(kit, tier, options)]);
  return Object.fromEntries(entries);
}

function tierOf(kit: TiersKit, tier: ProcessTier, options: ProbeOptions): HoldingTier {
  const health = new TierHealth({
    clock: kit.clock,
    // Boundary: what worked before counts for nothing once a run could not be set up.
    probe: (isDoubted) => tier.probe(isDoubted ? withoutMemory(options) : options),
    onDoubt: () => void doubtConnections(options),
    tryTier: (found) => tryTier(found, kit),
    stateOf: ({ launcher }) => fileState(launcher),
  });
  const fileSystems = new FileSystems(kit.clock);
  const placeRefusal = async (found: Found, checked: CheckedCall): Promise<Refused | null> => {
    if (kit.runAs === null || checked.process === null) return null;
    const { workspace } = checked.process.terms;
    const lack = await fileSystems.lackOf(workspace, () => tryTier(found, kit, workspace));
    return lack === null ? null : lackOf(checked, lack, kit.floor);
  };
  return {
    look: () => health.look(),
    hold: async (id, terms) => {
      const { tier, launcher } = await requireTier(health, id);
      return holdRun({ ...kit, launcher }, tier, { id, terms }).catch(async (error: unknown) => {
        // A trial tells a tier that this machine lacks from a program that does not start.
        if (error instanceof CodedError && isUnheldCode(error.code)) {
          health.doubt();
          await requireTier(health, id);
        }
        throw error;
      });
    },
    refusal: async (checked) => {
      const found = await health.look();
      if (!found.ok) return lackOf(checked, found.problem, kit.floor);
      return planRefusal(found.value.tier, checked, kit) ?? (await placeRefusal(found.value, checked));
    },
    describe: async (checked) => {
      const found = await health.look();
      if (!found.ok || checked.process === null) return null;
      return describe(found.value.tier, termsWithin(checked.process.terms, checked.limits), kit);
    },
    run: async (grant, limits, ties) => {
      const checked = spend(grant);
      const { tier, launcher } = health.found;
      const result = await runCommand({ ...kit, launcher }, tier, { checked, limits }, ties);
      if (isUnheld(result)) health.doubt();
      return result;
    },
  };
}

function withoutMemory({ said: _, ...options }: ProbeOptions): ProbeOptions {
  return options;
}

async function requireTier(health: TierHealth, id: string): Promise<Found> {
  const found = await health.look();
  if (found.ok) return found.value;
  const { why, fix } = found.problem;
  throw new CodedError('tier/unenforceable', `Cannot start ${id}: ${why}`, { remedy: fix });
}

/** The sandbox was not set up, or its isolation was not proved: the machine may have changed. */
function isUnheld({ ending }: RunResult): boolean {
  return ending.status !== 'ok' && isUnheldCode(ending.code);
}

function isUnheldCode(code: string): boolean {
  return code === 'tier/not-started' || code === 'tier/unproven';
}

/** The plan of a run, without the groups that are made for it. */
function planFor(
  { plan }: Found['tier'],
  terms: ProcessTerms,
  owner: HeldWorkspace['owner'],
  { runAs, networks }: Pick<CommandKit, 'runAs' | 'networks'>,
) {
  const asRoot = runAs === null ? null : { ...runAs, owner };
  return plan(terms, { cgroups: 0, asRoot, pass: networks.samplePass(terms) });
}

/** Boundary: what the tier cannot enforce is refused before anything is recorded as begun. */
function planRefusal(tier: Found['tier'], { process }: CheckedCall, kit: TiersKit): Refused | null {
  if (process === null) return null;
  const planned = planFor(tier, process.terms, { uid: 0, gid: 0 }, kit);
  return planned.ok ? checkMounts(tier, kit, process.terms.workspace) : planned.problem;
}

function describe(tier: Found['tier'], terms: ProcessTerms, kit: TiersKit): PlannedCommand | null {
  const held = holdWorkspace(terms.workspace);
  held.close();
  const planned = planFor(tier, terms, held.owner, kit);
  if (!planned.ok) return null;
  const { words, args, told } = planned.value;
  return { executor: tier.executor, limits: terms.limits, words, args, told };
}

/** Boundary: never in a weaker tier instead; where the configuration is why there is none, it is named. */
async function lackOf(
  { tool, tier }: CheckedCall,
  { why, fix }: Lack,
  floor: TierFloor | undefined,
): Promise<Refused> {
  const cannot = `Cannot run ${tool.id} in tier ${tier}: ${why}`;
  const weaker = PROCESS_TIER_NAMES.filter((name) => floor !== undefined && isWeaker(name, floor.tier));
  if (floor === undefined || weaker.length === 0) return refuse('tier/unenforceable', cannot, fix);
  const [first] = weaker;
  return refuse(
    'tier/unenforceable',
    `${await floor.where()}: ${cannot}, and process.tier_floor = "${floor.tier}" permits no weaker tier`,
    `${fix} Or set process.tier_floor = "${first}" and ask for tier "${first}", which does not confine a command.`,
  );
}

/** A missing requirement is checked again after this long, so that a fix takes effect without a restart. */
const AGAIN_AFTER_MS = 5_000;

type TierHealthParts = {
  readonly clock: Clock;
  readonly probe: (isDoubted: boolean) => Promise<Probed>;
  readonly onDoubt: () => void;
  readonly tryTier: (found: Found) => Promise<Trial>;
  /** Changes with the program that starts commands. */
  readonly stateOf: (found: Found) => string;
};

/**
 * Whether a tier can be used: determined at the first call, and tried again when a run could not be set up. A working
 * tier is not checked further while its launcher stays as it is; each run proves its isolation anyway.
 */
export class TierHealth {
  readonly #parts: TierHealthParts;
  #looked: Promise<Probed> | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #isSettled = false;
  #isDoubted = false;
  #last: Found | null = null;
  #state = '';

  constructor(parts: TierHealthParts) {
    this.#parts = parts;
  }

  look(): Promise<Probed> {
    const nowMs = this.#parts.clock.monotonicMs();
    // Boundary: a launcher that was replaced since is compared with its digest again before anything runs.
    if (this.#isSettled && this.#last !== null && this.#parts.stateOf(this.#last) !== this.#state) {
      this.#isSettled = false;
      this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    }
    if (this.#looked !== null && (this.#isSettled || nowMs - this.#lookedAtMs < AGAIN_AFTER_MS))
      return this.#looked;
    this.#lookedAtMs = nowMs;
    this.#looked = this.#find();
    return this.#looked;
  }

  /** The last finding about the tier, for a call that was not refused. */
  get found(): Found {
    if (this.#last === null) throw new TypeError('Cannot use the tier: it was not probed');
    return this.#last;
  }

  /** A run could not be set up: the tier is tried before the next one. */
  doubt(): void {
    // Boundary: commands that fail on purpose trigger a trial once in a while, not with every call.
    this.#lookedAtMs = this.#triedAtMs;
    this.#isDoubted = true;
    this.#isSettled = false;
    this.#parts.onDoubt();
  }

  async #find(): Promise<Probed> {
    const found = await this.#parts.probe(this.#isDoubted);
    if (!found.ok) return found;
    if (this.#isDoubted) {
      this.#triedAtMs = this.#lookedAtMs;
      const trial = await this.#parts.tryTier(found.value);
      if (!trial.ok) return trial;
    }
    this.#isDoubted = false;
    this.#isSettled = true;
    this.#last = found.value;
    this.#state = this.#parts.stateOf(found.value);
    return found;
  }
}

const OF_WORKSPACE = 'workspace-';

/** File systems that supported idmapped mounts from early on, by the number of statfs(2): ext4, xfs, btrfs. */
const KNOWN = [0xef53, 0x5846_5342, 0x9123_683e];

type Known = { readonly lack: Promise<Lack | null>; readonly atMs: number };

/**
 * Where a gateway that is root can run commands. They run as another user, which works only where the kernel maps the
 * owner of the files to it, and not every file system supports that. A trial in the first workspace on each determines
 * that, before a call is recorded as begun.
 */
export class FileSystems {
  readonly #clock: Clock;
  /** By device: the result of the last trial on it, possibly pending. */
  readonly #tried = new Map<number, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why commands cannot work in this directory; null where they can, or where the trial found another fault. */
  async lackOf(workspace: string, tryThere: () => Promise<Trial>): Promise<Lack | null> {
    const device = statSync(workspace, { throwIfNoEntry: false })?.dev;
    // The number is only a hint: where the mapping does not work, the run does not start.
    if (device === undefined || KNOWN.includes(statfsSync(workspace).type)) return null;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#tried.get(device);
    // Boundary: a caller could cause one trial after the other, so there is one at a time.
    if (known !== undefined && nowMs - known.atMs < AGAIN_AFTER_MS) return known.lack;
    const trial = tryThere();
    const lack = trial.then((made) => lackIn(made, workspace));
    this.#tried.set(device, { lack, atMs: nowMs });
    // What worked once is not tried again; a trial that another fault ended proves nothing.
    if ((await trial).ok) this.#tried.set(device, { lack, atMs: Number.POSITIVE_INFINITY });
    return lack;
  }
}

function lackIn(trial: Trial, workspace: string): Lack | null {
  if (trial.ok || trial.problem.fault?.step.startsWith(OF_WORKSPACE) !== true) return null;
  const { why, fix } = trial.problem;
  return { why: `"${workspace}" cannot be given to another user: ${why}`, fix };
}
