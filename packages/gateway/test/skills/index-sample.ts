import { type Digest, digestBytes } from '../../src/core/digest.ts';
import type { AuditFinding, AuditReport } from '../../src/skills/audit/check.ts';
import { type SkillGrant, wholeGrant } from '../../src/skills/grant.ts';
import { addVersion, changeVersion, type NewSkill, type SkillChange } from '../../src/skills/index/write.ts';
import type { SkillState } from '../../src/skills/lifecycle.table.ts';
import type { Manifest } from '../../src/skills/manifest/manifest.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { ASKS_FOR_MUCH, manifestWith } from './operate-manifest.ts';

export const NOON = Date.UTC(2026, 4, 1, 12);
export const KEY_ID = `sha256:${'b'.repeat(64)}`;

type Wanted = { id?: string; version?: string; bytes?: string; manifest?: Partial<Manifest> };

/** A skill that asks for much, as an install hands it to the index. */
export function newSkill({
  id = 'acme.text',
  version = '1.0.0',
  bytes = '',
  manifest,
}: Wanted = {}): NewSkill {
  const made = manifestWith(ASKS_FOR_MUCH, { id, version, publisher: id.split('.')[0] ?? '', ...manifest });
  const { publisher, name } = made;
  return {
    ...{ id, version, publisher, name, manifest: made, keyId: KEY_ID, trust: 'operator' },
    ...{ artifact: artifactOf(id, version, bytes), installedAtMs: NOON, installedBy: 'user:grace' },
  };
}

export function artifactOf(id: string, version: string, bytes = ''): Digest {
  return digestBytes(`${id} ${version} ${bytes}`);
}

export function reportOn({ id, version, artifact }: NewSkill, verdict: AuditReport['verdict']): AuditReport {
  const finding: AuditFinding = {
    ...{ id: 'prose/urgency', severity: 'warning', where: 'SKILL.md:3' },
    ...{ sentence: 'It urges.', remedy: 'Read it.' },
  };
  return {
    ...{ format: 1, skill: id, version, artifact, verdict, findings: [finding], checks: 40 },
    ...{ cases: { passed: 3, failed: 0, notRun: 1 }, palisade: '0.1.0' },
  };
}

export function grantOf({ manifest }: Pick<NewSkill, 'manifest'>): SkillGrant {
  return { ...wholeGrant(manifest), limits: { wallMs: 1000 } };
}

/** How each state is reached, one step after the other. */
const WAYS: Readonly<Record<SkillState, readonly SkillState[]>> = {
  ingested: [],
  audited: ['audited'],
  quarantined: ['audited', 'quarantined'],
  approved: ['audited', 'quarantined', 'approved'],
  active: ['audited', 'quarantined', 'approved', 'active'],
  disabled: ['audited', 'quarantined', 'approved', 'disabled'],
  failed: ['audited', 'quarantined', 'approved', 'active', 'failed'],
  revoked: ['audited', 'quarantined', 'revoked'],
};

/** Installs a skill and takes it to a state as an operator would. */
export function bring(tx: Transaction, skill: NewSkill, state: SkillState): NewSkill {
  addVersion(tx, skill);
  let from: SkillState = 'ingested';
  for (const to of WAYS[state]) {
    changeVersion(tx, step(skill, from, to));
    from = to;
  }
  return skill;
}

/** One step with all that it needs. */
export function step(
  skill: NewSkill,
  from: SkillState,
  to: SkillState,
  more: Partial<SkillChange> = {},
): SkillChange {
  return {
    ...{ id: skill.id, version: skill.version, from, to, atMs: NOON + 1, by: 'user:eve', reason: null },
    ...(to === 'audited' ? { report: reportOn(skill, 'passed') } : {}),
    ...(to === 'approved' ? { grant: grantOf(skill), approvedBy: ['user:eve'] } : {}),
    ...more,
  };
}
