/** Tiers B and C as the line sees them: probed when the first call needs them, tried when a run could not be set up. */
import type { CheckedCall } from '../../core/checked-call.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type Refused, refuse } from '../../core/outcome.ts';
import type { ProcessTerms, ProcessTierName } from '../../core/process.ts';
import { spend } from '../../policy/grant.ts';
import type { PlannedCommand, RunResult, Tier } from '../tier.ts';
import { holdWorkspace } from '../workspace/held-directory.ts';
import { FileSystems, TierHealth } from './health.ts';
import { type HeldRun, holdRun } from './held-run.ts';
import { type CommandKit, runCommand, termsWithin } from './run.ts';
import type { Found, ProbeOptions, ProcessTier } from './tier.ts';
import { PROCESS_TIERS } from './tiers.table.ts';
import { type TrialKit, tryTier } from './trial.ts';

/** What both tiers run and are tried with. */
export type TiersKit = Omit<CommandKit, 'launcher'> & TrialKit;

/** A tier of commands, which can also hold one that stays. */
export type HoldingTier = Tier & {
  readonly hold: (id: string, terms: ProcessTerms) => Promise<HeldRun>;
};

/** Every tier of commands, by its name. */
export function commandTiers(
  kit: TiersKit,
  options: ProbeOptions,
): Readonly<Record<ProcessTierName, HoldingTier>> {
  const entries = Object.values(PROCESS_TIERS).map(
    (tier) => [tier.name, tierOf(kit, tier, options)] as const,
  );
  return Object.fromEntries(entries) as Record<ProcessTierName, HoldingTier>;
}

function tierOf(kit: TiersKit, tier: ProcessTier, options: ProbeOptions): HoldingTier {
  const health = new TierHealth({
    clock: kit.clock,
    probe: () => tier.probe(options),
    tryTier: (found) => tryTier(found, kit),
  });
  const fileSystems = new FileSystems(kit.clock);
  const placeRefusal = async (found: Found, checked: CheckedCall): Promise<Refused | null> => {
    if (kit.runAs === null || checked.process === null) return null;
    const { workspace } = checked.process.terms;
    const lack = await fileSystems.lackOf(workspace, () => tryTier(found, kit, workspace));
    return lack === null ? null : lackOf(checked, lack);
  };
  return {
    hold: async (id, terms) => {
      const found = await health.look();
      if (!found.ok) throw new CodedError('tier/unenforceable', `Cannot start ${id}: ${found.why}`);
      return holdRun({ ...kit, launcher: found.launcher }, found.tier, { id, terms });
    },
    refusal: async (checked) => {
      const found = await health.look();
      if (!found.ok) return lackOf(checked, found);
      return planRefusal(found.tier.plan, checked, kit) ?? (await placeRefusal(found, checked));
    },
    describe: async (checked) => {
      const found = await health.look();
      if (!found.ok || checked.process === null) return null;
      return describe(found.tier, termsWithin(checked.process.terms, checked.limits), kit);
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

/** The sandbox was not set up, or its isolation was not proved: the machine may have changed. */
function isUnheld({ ending }: RunResult): boolean {
  if (ending.status === 'ok') return false;
  return ending.code === 'tier/not-started' || ending.code === 'tier/unproven';
}

/** Boundary: what the tier cannot hold is refused before anything is recorded as begun. */
function planRefusal(
  plan: Found['tier']['plan'],
  { process }: CheckedCall,
  { runAs, networks }: Pick<CommandKit, 'runAs' | 'networks'>,
): Refused | null {
  if (process === null) return null;
  const asRoot = runAs === null ? null : { ...runAs, owner: { uid: 0, gid: 0 } };
  const planned = plan(process.terms, { cgroups: 0, asRoot, pass: networks.samplePass(process.terms) });
  return planned.ok ? null : refuse(planned.code, planned.message, planned.remedy);
}

/** The plan of a run, without the groups that are made for it. */
function describe(
  { executor, plan }: Found['tier'],
  terms: ProcessTerms,
  { runAs, networks }: Pick<CommandKit, 'runAs' | 'networks'>,
): PlannedCommand | null {
  const held = holdWorkspace(terms.workspace);
  held.close();
  const planned = plan(terms, {
    cgroups: 0,
    asRoot: runAs === null ? null : { ...runAs, owner: held.owner },
    pass: networks.samplePass(terms),
  });
  if (!planned.ok) return null;
  const { words, args, told } = planned;
  return { executor, limits: terms.limits, words, args, told };
}

function lackOf({ tool, tier }: CheckedCall, { why, fix }: { why: string; fix: string }): Refused {
  return refuse('tier/unenforceable', `Cannot run ${tool.id} in tier ${tier}: ${why}`, fix);
}
