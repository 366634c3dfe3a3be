/** What the tiers of commands enforce on this machine, for display: each row was tried, not inferred from a version. */

import { PROCESS_TIER_NAMES } from '../../core/process.ts';
import type { Probe } from '../cgroup/cgroups.ts';
import { type Attempt, faultWords, tryLandlock, tryNamespaces } from './attempt.ts';
import { fixOf, forbiddingSetting, type ReadSetting } from './fixes.table.ts';
import type { TierFloor } from './index.ts';
import { findLauncher } from './launcher.ts';
import { type Program, textOf } from './machine.ts';
import { lackRow, type ProbeOptions, type ProcessTier, row, shortDigest, type TierRow } from './tier.ts';
import { PROCESS_TIERS } from './tiers.table.ts';
import { type Trial, type TrialKit, tryTier } from './trial.ts';

export type { TierRow } from './tier.ts';

export type Inspection = {
  readonly options: ProbeOptions;
  readonly kit: TrialKit & { readonly floor?: Pick<TierFloor, 'tier'> };
  readonly probeCgroups: () => Probe;
};

/** The name of the row that shows whether a tier can be used at all. */
export const TRIAL_ROW = 'trial';

/** Inspects everything and tries every tier. */
export async function inspectTiers({ options, kit, probeCgroups }: Inspection): Promise<readonly TierRow[]> {
  const launcher = findLauncher(options);
  const launcherRows = launcher.ok
    ? await sharedRows(launcher.value, options, kit.readSetting ?? textOf)
    : [lackRow(null, 'launcher', launcher.problem)];
  const tried = await Promise.all(
    Object.values(PROCESS_TIERS).map(async (tier) => {
      const found = await tier.probe(options);
      const trial = found.ok ? await tryTier(found.value, kit) : found;
      const rows = [
        ...(found.ok ? found.value.rows : []),
        ...isolationRows(tier, trial),
        trialRow(tier, trial),
        ...floorRows(tier, trial, kit.floor?.tier),
      ];
      return { trial, rows };
    }),
  );
  return [
    ...launcherRows,
    cgroupRow(probeCgroups()),
    ...(kit.runAs === null ? [] : idmapRows(tried.map(({ trial }) => trial))),
    ...tried.flatMap(({ rows }) => rows),
  ];
}

async function sharedRows(
  { path, sha256 }: Program,
  options: ProbeOptions,
  read: ReadSetting,
): Promise<readonly TierRow[]> {
  const namespaces = await tryNamespaces(path, options);
  return [
    row(null, 'launcher', `${path}, sha256 ${shortDigest(sha256)}`),
    namespaces.ok
      ? row(null, 'user namespaces', 'can be made')
      : lackRow(null, 'user namespaces', {
          why: `cannot be made: ${forbiddingSetting(read)?.why ?? faultWords(namespaces.problem)}`,
          fix: fixOf(namespaces.problem, read),
        }),
    landlockRow(await tryLandlock(path, options), namespaces.ok, read),
  ];
}

function landlockRow(landlock: Attempt, isSpare: boolean, read: ReadSetting): TierRow {
  if (landlock.ok) return row(null, 'Landlock', `has ABI ${landlock.value.landlock}`);
  if (isSpare) return row(null, 'Landlock', 'is absent, and not needed here');
  return lackRow(null, 'Landlock', {
    why: `is absent: ${faultWords(landlock.problem)}`,
    fix: fixOf(landlock.problem, read),
  });
}

function cgroupRow(probed: Probe): TierRow {
  const name = 'control groups';
  if (probed.ok)
    return row(null, name, `can be made (${probed.value.kind}: ${probed.value.controllers.join(', ')})`);
  const { why, fix } = probed.problem;
  return lackRow(null, name, { why: `cannot be made: ${why}`, fix });
}

/** A root gateway runs commands as another user, which can only write where the owner is mapped to it. */
function idmapRows([trial]: readonly Trial[]): readonly TierRow[] {
  const name = 'idmapped workspaces';
  if (trial === undefined) return [];
  if (trial.ok || trial.problem.unproven !== undefined)
    return [row(null, name, 'work in the temporary directory')];
  const { why, fix, fault } = trial.problem;
  if (fault?.step.startsWith('workspace-') !== true) return [];
  return [lackRow(null, name, { why: `do not work: ${why}`, fix })];
}

/** What the plan found proved, and the first fact that is not. */
function isolationRows({ name: tier, isolation }: ProcessTier, trial: Trial): readonly TierRow[] {
  if (trial.ok) return isolation.map(({ name, detail }) => row(tier, name, detail(trial.value)));
  const { unproven, fix } = trial.problem;
  if (unproven === undefined) return [];
  const { facts, gap } = unproven;
  const at = isolation.findIndex(({ fact }) => gap.fact.startsWith(fact));
  const proved = isolation.slice(0, Math.max(at, 0));
  const open = isolation.slice(at, at + 1);
  return [
    ...proved.map(({ name, detail }) => row(tier, name, detail(facts))),
    ...(at < 0 ? [] : open.map(({ name }) => lackRow(tier, name, { why: `failed: ${gap.text}`, fix }))),
  ];
}

function trialRow({ name, enforces }: ProcessTier, trial: Trial): TierRow {
  if (trial.ok)
    return row(name, TRIAL_ROW, `a run succeeded and reported from inside that it has ${enforces}`);
  return lackRow(name, TRIAL_ROW, { why: `run failed: ${trial.problem.why}`, fix: trial.problem.fix });
}

/** A floor that cannot be reached here: no command runs, since none may run in a weaker tier. */
function floorRows({ name }: ProcessTier, trial: Trial, floor: string | undefined): readonly TierRow[] {
  if (name !== floor || name === PROCESS_TIER_NAMES[0] || trial.ok) return [];
  const why = `is "${floor}" in palisade.toml, which this machine cannot reach: no command runs`;
  const fix = `${trial.problem.fix} Or set process.tier_floor = "${PROCESS_TIER_NAMES[0]}".`;
  return [lackRow(name, 'process.tier_floor', { why, fix })];
}
