/*
 * The life of one version of a skill. Transitions that are not in the table are refused, and only an `active` version
 * runs. docs/skills.md is checked against this table.
 */

/** What each state means, in the order in which a skill gets there. */
export const SKILL_STATES = {
  ingested: 'Its package is stored; it has not been audited yet.',
  audited: 'The checks have run, and it is on its way into quarantine.',
  quarantined: 'It waits for reviewers, or a check found a problem; nothing of it runs.',
  approved: 'Enough reviewers approved these exact bytes with a grant; it is not enabled.',
  active: 'Its tools are listed and run with what was granted.',
  disabled: 'It was approved and is disabled; its grant is kept.',
  failed: 'Its tools trapped again and again; none of them runs before an operator enables it.',
  revoked: 'These bytes never run again, not even when they are installed again.',
} as const;
export type SkillState = keyof typeof SKILL_STATES;

/** Which action each event is to Cedar. */
export const SKILL_EVENTS = {
  ingest: 'install',
  audit: 'auditSkill',
  quarantine: 'quarantineSkill',
  approve: 'approveSkill',
  enable: 'enableSkill',
  disable: 'disableSkill',
  fail: 'disableSkill',
  revoke: 'revokeSkill',
  remove: 'removeSkill',
} as const;
export type SkillEvent = keyof typeof SKILL_EVENTS;

export type Transition = {
  /** Null: it is not installed. */
  readonly from: SkillState | null;
  readonly event: SkillEvent;
  /** Null: it is installed no more. */
  readonly to: SkillState | null;
  /** For Cedar. */
  readonly action: (typeof SKILL_EVENTS)[SkillEvent];
  readonly sentence: string;
};

type Steps = readonly (readonly [from: SkillState | null, to: SkillState | null, sentence: string])[];

const STEPS: Readonly<Record<SkillEvent, Steps>> = {
  ingest: [[null, 'ingested', 'A package with a valid archive and a trusted signature is stored.']],
  audit: [
    ['ingested', 'audited', 'The first audit.'],
    ['quarantined', 'quarantined', 'Audited again; it stays in quarantine.'],
    ['approved', 'approved', 'Audited again and passed.'],
    ['active', 'active', 'Audited again and passed; calls continue.'],
    ['disabled', 'disabled', 'Audited again and passed; it stays disabled.'],
    ['failed', 'failed', 'Audited again and passed; it stays failed.'],
  ],
  quarantine: [
    ['ingested', 'quarantined', 'The first audit failed; it waits in quarantine with its findings.'],
    ['audited', 'quarantined', 'Every new skill waits for reviewers, whatever the audit says.'],
    ['approved', 'quarantined', 'Its approval is void; it must be reviewed again.'],
    [
      'active',
      'quarantined',
      'It is taken out of use, its running calls are cancelled and its approval is void.',
    ],
    ['disabled', 'quarantined', 'Its approval is void; it cannot be enabled before a new one.'],
    ['failed', 'quarantined', 'Its approval is void; what failed is reviewed again.'],
  ],
  approve: [
    ['quarantined', 'approved', 'The last required reviewer approves this exact package with a grant.'],
  ],
  enable: [
    ['approved', 'active', 'Its tools are listed and can be called.'],
    ['disabled', 'active', 'Its tools are listed and can be called again, with the same grant.'],
    ['failed', 'active', 'Its tools are listed and can be called again; traps are counted anew.'],
  ],
  disable: [
    ['approved', 'disabled', 'It is disabled before it was ever enabled.'],
    ['active', 'disabled', 'Its tools are not listed until it is enabled again.'],
    ['failed', 'disabled', 'It stays out of use, now because an operator says so.'],
  ],
  fail: [
    [
      'active',
      'failed',
      'Its tools trapped again and again, with no success in between; the gateway does it.',
    ],
  ],
  revoke: [
    ['ingested', 'revoked', 'It is rejected permanently before its audit.'],
    ['audited', 'revoked', 'It is rejected permanently before its review.'],
    ['quarantined', 'revoked', 'It is rejected permanently.'],
    ['approved', 'revoked', 'Its approval is withdrawn permanently.'],
    ['active', 'revoked', 'It is taken out of use permanently, and its running calls are cancelled.'],
    ['disabled', 'revoked', 'It stays out of use permanently.'],
    ['failed', 'revoked', 'It stays out of use permanently, whatever made it fail.'],
  ],
  remove: [
    ['ingested', null, 'It is deleted with its package.'],
    ['audited', null, 'It is deleted with its package.'],
    ['quarantined', null, 'It is deleted with its package.'],
    ['approved', null, 'It is deleted with its grant and its package.'],
    ['disabled', null, 'It is deleted with its grant and its package.'],
    ['failed', null, 'It is deleted with its grant, its package and the count of its traps.'],
    ['revoked', null, 'Its package is deleted; the revocation of this exact package is kept.'],
  ],
};

/** Every step that can be taken. */
export const TRANSITIONS: readonly Transition[] = (Object.keys(STEPS) as SkillEvent[]).flatMap((event) =>
  STEPS[event].map(([from, to, sentence]) => ({ from, event, to, action: SKILL_EVENTS[event], sentence })),
);
