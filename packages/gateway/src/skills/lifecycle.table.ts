/*
 * The life of one version of a skill. There is no other way from one state to another: what is not a row is refused, and
 * only what is `active` runs. docs/skills.md is held to this table.
 */

export type SkillState =
  | 'ingested'
  | 'audited'
  | 'quarantined'
  | 'approved'
  | 'active'
  | 'disabled'
  | 'revoked';

export type SkillEvent =
  | 'ingest'
  | 'audit'
  | 'quarantine'
  | 'approve'
  | 'enable'
  | 'disable'
  | 'revoke'
  | 'remove';

/** What Cedar is asked for. */
type SkillAction =
  | 'install'
  | 'auditSkill'
  | 'quarantineSkill'
  | 'approveSkill'
  | 'enableSkill'
  | 'disableSkill'
  | 'revokeSkill'
  | 'removeSkill';

export type Transition = {
  /** Null: it is not installed. */
  readonly from: SkillState | null;
  readonly event: SkillEvent;
  /** Null: it is installed no more. */
  readonly to: SkillState | null;
  readonly action: SkillAction;
  readonly sentence: string;
};

/** What each state means, in the order in which a skill gets there. */
export const SKILL_STATES = {
  ingested: 'Its package is kept; nobody has looked at it.',
  audited: 'The checks have looked at it, and it is on its way into quarantine.',
  quarantined: 'It waits for people, or something was found; nothing of it runs.',
  approved: 'Enough people approved these very bytes with a grant; it is not switched on.',
  active: 'Its tools are listed and run with what was granted.',
  disabled: 'It was approved and is switched off; its grant is kept.',
  revoked: 'These bytes never run again, not even when they are installed anew.',
} as const satisfies Record<SkillState, string>;

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
} as const satisfies Record<SkillEvent, SkillAction>;

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
  row(null, 'ingest', 'ingested', 'A package with a sound archive and a trusted signature is kept.'),

  row('ingested', 'audit', 'audited', 'The checks look at it for the first time.'),
  row('quarantined', 'audit', 'quarantined', 'The checks look again; it goes on waiting for people.'),
  row('approved', 'audit', 'approved', 'The checks look again and find nothing that must not run.'),
  row('active', 'audit', 'active', 'The checks look again and find nothing; calls go on meanwhile.'),
  row('disabled', 'audit', 'disabled', 'The checks look again and find nothing; it stays switched off.'),

  row('ingested', 'quarantine', 'quarantined', 'The first look failed, so it waits with what was found.'),
  row('audited', 'quarantine', 'quarantined', 'All that is new waits for people, whatever the checks say.'),
  row('approved', 'quarantine', 'quarantined', 'Its approval is void; people have to look again.'),
  row(
    'active',
    'quarantine',
    'quarantined',
    'It is taken out of use, its running calls are ended, its approval is void.',
  ),
  row(
    'disabled',
    'quarantine',
    'quarantined',
    'Its approval is void; it cannot be switched on before another.',
  ),

  row('quarantined', 'approve', 'approved', 'The last of the reviewers approves these bytes with a grant.'),

  row('approved', 'enable', 'active', 'Its tools are listed and run from now on.'),
  row('disabled', 'enable', 'active', 'Its tools are listed and run again, with the grant they had.'),

  row('approved', 'disable', 'disabled', 'It is set aside before it is switched on.'),
  row('active', 'disable', 'disabled', 'Its tools are gone until it is switched on again.'),

  row('ingested', 'revoke', 'revoked', 'It is turned away for good before anybody looked.'),
  row('audited', 'revoke', 'revoked', 'It is turned away for good before people looked.'),
  row('quarantined', 'revoke', 'revoked', 'It is turned away for good.'),
  row('approved', 'revoke', 'revoked', 'Its approval is taken back for good.'),
  row('active', 'revoke', 'revoked', 'It is taken out of use for good, and its running calls are ended.'),
  row('disabled', 'revoke', 'revoked', 'It stays out of use for good.'),

  row('ingested', 'remove', null, 'It and its package are forgotten.'),
  row('audited', 'remove', null, 'It and its package are forgotten.'),
  row('quarantined', 'remove', null, 'It and its package are forgotten.'),
  row('approved', 'remove', null, 'It, its grant and its package are forgotten.'),
  row('disabled', 'remove', null, 'It, its grant and its package are forgotten.'),
  row('revoked', 'remove', null, 'Its package is forgotten; that these bytes were revoked is not.'),
];
