import { isoTime } from '../core/clock.ts';
import { pick } from '../core/pick.ts';
import type { Opened, Records } from '../invoke/gateway.ts';
import { spellAsks } from '../skills/capabilities/kinds.ts';
import { askStateOf, type SkillGrant, wholeGrant } from '../skills/grant.ts';
import { versionsOf } from '../skills/index/read.ts';
import type { InstalledSkill, SkillSummary } from '../skills/index/skill.ts';
import type { Manifest } from '../skills/manifest/manifest.ts';
import { reachOf } from '../skills/reach.ts';
import { keyAt } from '../skills/trust.ts';
import type { Reader } from '../store/transaction.ts';
import { keyState } from './trust.ts';

/* What programs read of skills. The names are stable: what is stored may change, these do not. */

/** What lists and single documents share. */
function factsOf(skill: SkillSummary | InstalledSkill) {
  return {
    ...pick(skill, ['id', 'version', 'state', 'name', 'publisher', 'artifact', 'keyId']),
    ...pick(skill, ['trust', 'reason', 'approvedBy']),
    installedAt: isoTime(skill.installedAtMs),
    installedBy: skill.installedBy,
    changedAt: isoTime(skill.changedAtMs),
    changedBy: skill.changedBy,
    auditedAt: skill.auditedAtMs === null ? null : isoTime(skill.auditedAtMs),
  };
}

export function summaryDocument(skill: SkillSummary) {
  return { ...factsOf(skill), tools: skill.tools, verdict: skill.verdict };
}

/** One skill with all that is known of it. */
export function skillDocument(skill: InstalledSkill) {
  const { manifest, grant, report } = skill;
  return {
    ...factsOf(skill),
    ...pick(manifest, ['description', 'license', 'homepage']),
    verdict: report?.verdict ?? null,
    tools: manifest.tools.map((tool) => ({
      ...tool,
      id: `${skill.id}.${tool.id}`,
      reach: reachOf(tool, grant ?? wholeGrant(manifest), report?.modules),
    })),
    capabilities: askedAndGranted(manifest, grant),
    quotas: manifest.quotas,
    review: manifest.trust,
    compat: manifest.compat,
    grant,
    report,
  };
}

/** The same with the other versions that are installed, and what its approval depends on now. */
export function shownSkillDocument(skill: InstalledSkill, { store, config, clock }: Opened<Records>) {
  const { id, manifest } = skill;
  return {
    ...skillDocument(skill),
    versions: versionsOf(store, id).map(({ version, state }) => ({ version, state })),
    keyState: signerState(store, skill, clock.nowMs()),
    reviewersRequired: Math.max(manifest.trust.reviewers, config.skills.reviewers),
  };
}

/** The state of the key that signed a skill; its state at the time of the installation could mislead. */
export function signerState(reader: Reader, { keyId, publisher }: InstalledSkill, nowMs: number) {
  const key = keyAt(reader, keyId);
  return key === null || key.publisher !== publisher ? 'not trusted' : keyState(key, nowMs);
}

/** What is requested and the decision on each. */
export function askedAndGranted(manifest: Manifest, grant: SkillGrant | null) {
  return spellAsks(manifest).map((ask) => {
    const { spelling, sentence, isReaching } = ask;
    return { spelling, sentence, isReaching, ...askStateOf(ask, grant) };
  });
}

/** What an audit of an installed skill found, and where it led. */
export function auditDocument({ id, report, state, reason }: InstalledSkill) {
  if (report === null) throw new TypeError(`Cannot show the audit of ${id}: it has no report`);
  return { ...report, state, reason };
}
