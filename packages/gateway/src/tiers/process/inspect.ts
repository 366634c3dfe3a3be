/** What tiers B and C hold on this machine, as a table for a person: each row was tried, none is read off a version. */
import { isAtLeast, NESTED_MOUNTS_SINCE, REQUIRED_OPTIONS } from '../c-bubblewrap/version.ts';
import type { Probe } from '../cgroup/cgroups.ts';
import { fixOf, forbiddingSetting, type ReadSetting } from './fixes.table.ts';
import { type Lack, textOf } from './machine.ts';
import * as probe from './probe.ts';
import { type Attempt, faultWords, type Trial, type TrialKit, tryTier } from './trial.ts';
import { WALLS } from './walls.table.ts';

/** One thing that commands need. `name` and `detail` read as one sentence. */
export type TierRow = {
  /** Null: of both that run commands. */
  readonly tier: 'a' | 'b' | 'c' | null;
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
  /** What a person can do; null where nothing needs doing. */
  readonly fix: string | null;
};

export type Inspection = {
  readonly options: probe.ProbeOptions;
  readonly kit: TrialKit;
  readonly probeCgroups: () => Probe;
};

/** The name of the row that says whether a tier can be used at all. */
export const TRIAL_ROW = 'trial';

const DIGEST_SIGNS = 16;

/** Looks at everything and tries both tiers. */
export async function inspectTiers({ options, kit, probeCgroups }: Inspection): Promise<readonly TierRow[]> {
  const read = kit.readSetting ?? textOf;
  const [b, c] = await Promise.all([probe.probeB(options), probe.probeC(options)]);
  const [trialB, trialC] = await Promise.all([b.ok ? tryTier(b, kit) : b, c.ok ? tryTier(c, kit) : c]);
  const landlock = b.ok ? await probe.tryLandlock(b.launcher, options) : null;
  return [
    ...(b.ok ? sharedRows(b, landlock, read) : [lackRow(null, 'launcher', b)]),
    cgroupRow(probeCgroups()),
    ...(kit.runAs === null ? [] : idmapRows(trialB)),
    ...(b.ok ? [confinementRow(b, landlock), ...wallRows('b', trialB)] : []),
    trialRow('b', trialB),
    ...(c.ok ? [...jailRows(c.jail), ...wallRows('c', trialC)] : []),
    trialRow('c', trialC),
  ];
}

function sharedRows(
  { launcher, tier, namespaces }: Extract<probe.ProbedB, { ok: true }>,
  landlock: Attempt | null,
  read: ReadSetting,
): readonly TierRow[] {
  const digest = String(tier.about.launcherSha256).slice(0, DIGEST_SIGNS);
  return [
    row(null, 'launcher', `${launcher}, sha256 ${digest}…`),
    namespaces.ok
      ? row(null, 'user namespaces', 'can be made')
      : lackRow(null, 'user namespaces', {
          why: `cannot be made: ${forbiddingSetting(read)?.why ?? faultWords(namespaces.fault)}`,
          fix: fixOf(namespaces.fault, read),
        }),
    landlockRow(landlock, namespaces.ok, read),
  ];
}

function landlockRow(landlock: Attempt | null, isSpare: boolean, read: ReadSetting): TierRow {
  if (landlock?.ok === true) return row(null, 'Landlock', `has ABI ${landlock.facts.landlock}`);
  if (landlock === null || isSpare) return row(null, 'Landlock', 'is absent, and not needed here');
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

/** A root gateway gives commands another user, who can only write where the owner is mapped to it. */
function idmapRows(trial: Trial | Lack): readonly TierRow[] {
  const name = 'idmapped workspaces';
  if ('facts' in trial && trial.facts !== null) return [row(null, name, 'work in the temporary directory')];
  if (trial.ok || !('fault' in trial) || trial.fault?.step.startsWith('workspace-') !== true) return [];
  return [lackRow(null, name, { why: `do not work: ${trial.why}`, fix: trial.fix })];
}

function confinementRow(
  { namespaces }: Extract<probe.ProbedB, { ok: true }>,
  landlock: Attempt | null,
): TierRow {
  if (namespaces.ok) return row('b', 'namespaces', 'of users, pids, mounts and IPC are new for each command');
  const fix = 'Apply the fix for user namespaces.';
  const why =
    landlock?.ok === true
      ? 'are not there: Landlock stands in where a command has no network'
      : 'are not there: a command reads and writes what its user may';
  return lackRow('b', 'namespaces', { why, fix });
}

type JailFindings = Extract<probe.ProbedC, { ok: true }>['jail'];

function jailRows({ bwrap, bwrapVersion, bwrapSha256, bwrapOptions }: JailFindings): readonly TierRow[] {
  const version = bwrapVersion.join('.');
  const absent = REQUIRED_OPTIONS.filter((option) => !bwrapOptions.includes(option));
  const newest = `Install bubblewrap ${NESTED_MOUNTS_SINCE.join('.')} or newer`;
  return [
    row('c', 'bubblewrap', `${version}, ${bwrap}, sha256 ${bwrapSha256.slice(0, DIGEST_SIGNS)}…`),
    absent.length === 0
      ? row('c', 'options of bubblewrap', `are all there (${REQUIRED_OPTIONS.length})`)
      : lackRow('c', 'options of bubblewrap', {
          why: `lack ${absent.join(', ')}`,
          fix: `${newest}, or the security update of your distribution.`,
        }),
    isAtLeast(bwrapVersion, NESTED_MOUNTS_SINCE)
      ? row('c', 'protected paths', 'can be mounted in a workspace')
      : lackRow('c', 'protected paths', {
          why: `cannot be mounted in a workspace: bubblewrap ${version} follows links of the workspace to the host`,
          fix: `${newest}; until then commands with \`process.protected\` are refused.`,
        }),
  ];
}

/** The walls that the plan's judge has passed, and the one it stopped at. */
function wallRows(tier: 'b' | 'c', trial: Trial | Lack): readonly TierRow[] {
  if (!('facts' in trial) || trial.facts === null) return [];
  const { facts } = trial;
  const walls = WALLS[tier];
  if (trial.ok) return walls.map(({ name, detail }) => row(tier, name, detail(facts)));
  const at = walls.findIndex(({ lack }) => lack.test(trial.why));
  const passed = walls.slice(0, Math.max(at, 0));
  const stopped = walls.slice(passed.length, at + 1);
  return [
    ...passed.map(({ name, detail }) => row(tier, name, detail(facts))),
    ...stopped.map(({ name }) => lackRow(tier, name, { why: `failed: ${trial.why}`, fix: trial.fix })),
  ];
}

function trialRow(tier: 'b' | 'c', trial: Trial | Lack): TierRow {
  if (trial.ok) return row(tier, TRIAL_ROW, 'run ended well, with every wall reported from inside');
  return lackRow(tier, TRIAL_ROW, { why: `run cannot be held: ${trial.why}`, fix: trial.fix });
}

function row(tier: TierRow['tier'], name: string, detail: string): TierRow {
  return { tier, name, holds: true, detail, fix: null };
}

function lackRow(tier: TierRow['tier'], name: string, { why, fix }: Omit<Lack, 'ok'>): TierRow {
  return { tier, name, holds: false, detail: why, fix };
}
