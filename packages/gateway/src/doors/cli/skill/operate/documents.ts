import { isoTime } from '../../../../core/clock.ts';
import type { InstalledSkill, SkillSummary } from '../../../../skills/index/skill.ts';
import type { TrustedKey } from '../../../../skills/trust/keys.ts';
import { askedAndGranted } from './print-asks.ts';

/* What programs read of skills and keys. The names are a promise: what is kept may change, these do not. */

/** What both lists and single looks show. */
export function factsOf(skill: SkillSummary | InstalledSkill) {
  const { id, version, state, name, publisher, artifact, keyId, trust, reason, approvedBy } = skill;
  return {
    ...{ id, version, state, name, publisher, artifact, keyId, trust, reason, approvedBy },
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
  const { description, license, homepage, quotas, trust: review, compat } = manifest;
  return {
    ...factsOf(skill),
    ...{ description, license, homepage },
    verdict: report?.verdict ?? null,
    tools: manifest.tools.map((tool) => ({ ...tool, id: `${skill.id}.${tool.id}` })),
    capabilities: askedAndGranted(manifest, grant),
    ...{ quotas, review, compat, grant, report },
  };
}

export type KeyState = 'trusted' | 'retired' | 'expired' | 'revoked';

/** What a key is good for at this moment; the gravest word wins. */
export function keyState({ revokedAtMs, expiresAtMs, retiredAtMs }: TrustedKey, nowMs: number): KeyState {
  if (revokedAtMs !== null) return 'revoked';
  if (expiresAtMs !== null && nowMs >= expiresAtMs) return 'expired';
  return retiredAtMs === null ? 'trusted' : 'retired';
}

export function keyDocument(key: TrustedKey, nowMs: number) {
  const timeOf = (ms: number | null) => (ms === null ? null : isoTime(ms));
  const { publisher, keyId, origin, addedBy, reason } = key;
  return {
    ...{ publisher, keyId, state: keyState(key, nowMs), origin, addedBy, reason },
    addedAt: isoTime(key.addedAtMs),
    expiresAt: timeOf(key.expiresAtMs),
    retiredAt: timeOf(key.retiredAtMs),
    revokedAt: timeOf(key.revokedAtMs),
  };
}
