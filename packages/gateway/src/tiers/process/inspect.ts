/** What the tiers of commands enforce on this machine, for display: each row was tried, not inferred from a version. */
import type { Probe } from '../cgroup/cgroups.ts';
import { type Attempt, faultWords, tryLandlock, tryNamespaces } from './attempt.ts';
import { fixOf, forbiddingSetting, type ReadSetting } from './fixes.table.ts';
import { findLauncher, type Program, textOf } from './machine.ts';
import {
  type Lack,
  lackRow,
  type ProbeOptions,
  type ProcessTier,
  row,
  shortDigest,
  type TierRow,
} from './tier.ts';
import { PROCESS_TIERS } from './tiers.table.ts';
import { type Trial, type TrialKit, tryTier } from './trial.ts';

export type { TierRow } from './tier.ts';

export type Inspection = {
  readonly options: ProbeOptions;
  readonly kit: TrialKit;
  readonly probeCgroups: () => Probe;
};

/** The name of the row that shows whether a tier can be used at all. */
export const TRIAL_ROW = 'trial';

/** Inspects everything and tries every tier. */
export async function inspectTiers({ options, kit, probeCgroups }: Inspection): Promise<readonly TierRow[]> {
  const launcher = findLauncher(options);
  const kernelRows = launcher.ok ? await sharedRows(launcher, options, kit.readSetting ?? textOf) : null;
  const tried = await Promise.all(
    Object.values(PROCESS_TIERS).map(async (tier) => {
      const found = await tier.probe(options);
      const trial = found.ok ? await tryTier(found, kit) : found;
      const rows = [...(found.ok ? found.rows : []), ...isolationRows(tier, trial), trialRow(tier, trial)];
      return { trial, rows };
    }),
  );
  return [
    ...(kernelRows ?? (launcher.ok ? [] : [lackRow(null, 'launcher', launcher)])),
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
          why: `cannot be made: ${forbiddingSetting(read)?.why ?? faultWords(namespaces.fault)}`,
          fix: fixOf(namespaces.fault, read),
        }),
    landlockRow(await tryLandlock(path, options), namespaces.ok, read),
  ];
}

function landlockRow(landlock: Attempt, isSpare: boolean, read: ReadSetting): TierRow {
  if (landlock.ok) return row(null, 'Landlock', `has ABI ${landlock.facts.landlock}`);
  if (isSpare) return row(null, 'Landlock', 'is absent, and not needed here');
  return lackRow(null, 'Landlock', {
    why: `is absent: ${faultWords(landlock.fault)}`,
    fix: fixOf(landlock.fault, read),
  });
}

function cgroupRow(probed: Probe): TierRow {
  const name = 'control groups';
  if (!probed.ok) return lackRow(null, name, { why: `cannot be made: ${probed.why}`, fix: probed.fix });
  return row(null, name, `can be made (${probed.kind}: ${probed.controllers.join(', ')})`);
}

/** A root gateway runs commands as another user, which can only write where the owner is mapped to it. */
function idmapRows([trial]: readonly (Trial | Lack)[]): readonly TierRow[] {
  const name = 'idmapped workspaces';
  if (trial === undefined) return [];
  if ('facts' in trial && trial.facts !== null) return [row(null, name, 'work in the temporary directory')];
  if (trial.ok || !('fault' in trial) || trial.fault?.step.startsWith('workspace-') !== true) return [];
  return [lackRow(null, name, { why: `do not work: ${trial.why}`, fix: trial.fix })];
}

/** What the plan found proved, and the first fact that is not. */
function isolationRows({ name: tier, isolation }: ProcessTier, trial: Trial | Lack): readonly TierRow[] {
  if (!('facts' in trial) || trial.facts === null) return [];
  const { facts } = trial;
  const gap = trial.ok ? null : trial.gap;
  const at = gap === null ? -1 : isolation.findIndex(({ fact }) => gap.fact.startsWith(fact));
  const proved = trial.ok ? isolation : isolation.slice(0, Math.max(at, 0));
  const open = trial.ok || at < 0 ? [] : isolation.slice(at, at + 1);
  return [
    ...proved.map(({ name, detail }) => row(tier, name, detail(facts))),
    ...open.map(({ name }) =>
      lackRow(tier, name, { why: `failed: ${gap?.text}`, fix: trial.ok ? '' : trial.fix }),
    ),
  ];
}

function trialRow({ name, enforces }: ProcessTier, trial: Trial | Lack): TierRow {
  if (trial.ok)
    return row(name, TRIAL_ROW, `a run succeeded and reported from inside that it has ${enforces}`);
  return lackRow(name, TRIAL_ROW, { why: `run failed: ${trial.why}`, fix: trial.fix });
}
