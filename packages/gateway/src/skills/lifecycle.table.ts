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

function row(
  from: SkillState | null,
  event: SkillEvent,
  to: SkillState | null,
  sentence: string,
): Transition {
  return { from, event, to, action: SKILL_EVENTS[event], sentence };
}

/** Every step that can be taken. */
export const TRANSITIONS: readonly Transition[] = [
  row(null, 'ingest', 'ingested', 'A package with a valid archive and a trusted signature is stored.'),

  row('ingested', 'audit', 'audited', 'The first audit.'),
  row('quarantined', 'audit', 'quarantined', 'Audited again; it stays in quarantine.'),
  row('approved', 'audit', 'approved', 'Audited again and passed.'),
  row('active', 'audit', 'active', 'Audited again and passed; calls continue.'),
  row('disabled', 'audit', 'disabled', 'Audited again and passed; it stays disabled.'),

  row(
    'ingested',
    'quarantine',
    'quarantined',
    'The first audit failed; it waits in quarantine with its findings.',
  ),
  row(
    'audited',
    'quarantine',
    'quarantined',
    'Every new skill waits for reviewers, whatever the audit says.',
  ),
  row('approved', 'quarantine', 'quarantined', 'Its approval is void; it must be reviewed again.'),
  row(
    'active',
    'quarantine',
    'quarantined',
    'It is taken out of use, its running calls are cancelled and its approval is void.',
  ),
  row(
    'disabled',
    'quarantine',
    'quarantined',
    'Its approval is void; it cannot be enabled before a new one.',
  ),

  row(
    'quarantined',
    'approve',
    'approved',
    'The last required reviewer approves this exact package with a grant.',
  ),

  row('approved', 'enable', 'active', 'Its tools are listed and can be called.'),
  row('disabled', 'enable', 'active', 'Its tools are listed and can be called again, with the same grant.'),

  row('approved', 'disable', 'disabled', 'It is disabled before it was ever enabled.'),
  row('active', 'disable', 'disabled', 'Its tools are not listed until it is enabled again.'),

  row('ingested', 'revoke', 'revoked', 'It is rejected permanently before its audit.'),
  row('audited', 'revoke', 'revoked', 'It is rejected permanently before its review.'),
  row('quarantined', 'revoke', 'revoked', 'It is rejected permanently.'),
  row('approved', 'revoke', 'revoked', 'Its approval is withdrawn permanently.'),
  row(
    'active',
    'revoke',
    'revoked',
    'It is taken out of use permanently, and its running calls are cancelled.',
  ),
  row('disabled', 'revoke', 'revoked', 'It stays out of use permanently.'),

  row('ingested', 'remove', null, 'It is deleted with its package.'),
  row('audited', 'remove', null, 'It is deleted with its package.'),
  row('quarantined', 'remove', null, 'It is deleted with its package.'),
  row('approved', 'remove', null, 'It is deleted with its grant and its package.'),
  row('disabled', 'remove', null, 'It is deleted with its grant and its package.'),
  row('revoked', 'remove', null, 'Its package is deleted; the revocation of this exact package is kept.'),
];
