import { type CodedError, wrongUsage } from '../core/coded-error.ts';
import type { ChangeEvent } from '../invoke/skills/change.ts';
import { type Named, requireSkill } from '../invoke/skills/skill-acts.ts';
import { versionsOf } from '../skills/index/read.ts';
import type { SkillSummary } from '../skills/index/skill.ts';
import type { SkillState } from '../skills/lifecycle.table.ts';
import type { Reader } from '../store/transaction.ts';

/** Which version is chosen when none is named: the active one, else as `among` says. */
type Choice = {
  readonly fits: readonly SkillState[];
  /** The newest version, the one that was changed last, or the only one there is. */
  readonly among: 'newest' | 'latest' | 'only';
};

const CHOICES: Readonly<Record<ChangeEvent, Choice>> = {
  quarantine: { fits: ['active', 'failed', 'approved', 'disabled'], among: 'newest' },
  enable: { fits: ['approved', 'failed', 'disabled'], among: 'latest' },
  disable: { fits: ['active', 'failed', 'approved'], among: 'newest' },
  revoke: { fits: ['active', 'failed', 'approved', 'disabled', 'quarantined'], among: 'newest' },
  remove: {
    fits: ['revoked', 'disabled', 'failed', 'quarantined', 'approved', 'ingested', 'audited'],
    among: 'only',
  },
};

type ChosenVersion = Pick<SkillSummary, 'id' | 'version' | 'state' | 'artifact'>;

/** Boundary: an id alone never reactivates a version that was replaced, and never removes one that was not meant. */
export function chooseVersion(reader: Reader, named: Named, event: ChangeEvent): ChosenVersion {
  const { fits, among } = CHOICES[event];
  const versions = versionsOf(reader, named.id);
  // A row that was tampered with can be taken out of use, although it cannot be read as a whole.
  const pick = (version: string | null): ChosenVersion =>
    versions.find((each) => each.version === version) ?? requireSkill(reader, { ...named, version }, fits);
  if (named.version !== null) return pick(named.version);
  const found = versions.filter(({ state }) => fits.includes(state));
  const active = found.find(({ state }) => state === 'active');
  if (active === undefined && among === 'only' && found.length > 1) throw ambiguous(event, named, found);
  const latest = found.toSorted((a, b) => b.changedAtMs - a.changedAtMs)[0];
  const version = (active ?? (among === 'latest' ? latest : found[0]))?.version ?? null;
  return pick(version);
}

function ambiguous(event: string, { id }: Named, found: readonly SkillSummary[]): CodedError {
  const versions = found.map(({ version, state }) => `${version} (${state})`).join(', ');
  return wrongUsage(
    `Cannot ${event} ${id}: it could be ${versions}, expected one of them as ${id}@VERSION`,
    'Name the version that is meant.',
  );
}
