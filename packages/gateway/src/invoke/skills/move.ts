import { CodedError } from '../../core/coded-error.ts';
import { digestValue } from '../../core/digest.ts';
import type { AuditReport } from '../../skills/audit/check.ts';
import type { SkillGrant } from '../../skills/grant.ts';
import { skillAt, versionsOf } from '../../skills/index/read.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { changeVersion } from '../../skills/index/write.ts';
import type { SkillEvent, SkillState } from '../../skills/lifecycle.table.ts';
import { nextState } from '../../skills/lifecycle.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';
import { activate, drop, dropArtifact, requireUnchanged } from './change.ts';
import { type Acting, actorOf, recordSkill, requireActUpon } from './skill-acts.ts';

export type Move = {
  readonly event: SkillEvent;
  readonly acting: Acting | null;
  readonly decidedBy: readonly string[];
  readonly reason: string | null;
  readonly report?: AuditReport;
  readonly grant?: SkillGrant | null;
  readonly approvedBy?: readonly string[];
};

/** What must be known of a version to take a step with it. */
type Movable = Pick<InstalledSkill, 'id' | 'version' | 'state' | 'artifact'>;

/** Takes one step of the lifecycle: the index and the journal in one transaction, or neither. */
export function move<Skill extends Movable>(
  gateway: Pick<Gateway, 'journal' | 'clock'>,
  tx: Transaction,
  skill: Skill,
  { event, acting, decidedBy, reason, ...changes }: Move,
): Skill {
  const { id, version, state: from } = skill;
  const to = nextState(from, event, skill);
  if (to === null) throw new CodedError('skill/wrong-state', `Cannot ${event} ${id}@${version} that way`);
  const atMs = gateway.clock.nowMs();
  const by = actorOf(acting);
  const { report, grant, approvedBy } = changes;
  changeVersion(tx, { id, version, from, to, atMs, by, reason, ...changes });
  recordSkill(gateway, tx, {
    kind: event === 'audit' ? 'skill-audited' : 'skill-changed',
    skill,
    acting,
    body: {
      ...{ event, from, to, reason, decidedBy: [...decidedBy] },
      ...(report === undefined
        ? {}
        : { verdict: report.verdict, findings: report.findings.map((finding) => finding.id) }),
      ...(grant === undefined ? {} : { grant: grant === null ? null : digestValue(grant) }),
      ...(approvedBy === undefined ? {} : { approvedBy: [...approvedBy] }),
    },
  });
  return {
    ...skill,
    ...{ state: to, reason, changedAtMs: atMs, changedBy: by },
    ...(report === undefined ? {} : { report, auditedAtMs: atMs }),
    ...(grant === undefined ? {} : { grant }),
    ...(approvedBy === undefined ? {} : { approvedBy }),
  };
}

export type RollingBack = Acting & { readonly id: string; readonly reason: string | null };

export type RolledBack = { readonly from: string | null; readonly to: string };

/** States of a version that was brought in and never approved; a rollback removes it. */
const WAITING: ReadonlySet<SkillState> = new Set(['ingested', 'audited', 'quarantined']);

/**
 * Goes back to the version before the newest one, which runs with the grant that it had. The newest is switched off where it
 * was approved; an update that still waits is removed.
 */
export async function rollbackSkill(gateway: Gateway, rolling: RollingBack): Promise<RolledBack> {
  const { id, reason } = rolling;
  const { newest, target } = plan(gateway, id);
  const isWaiting = WAITING.has(newest.state);
  const decidedBy = [
    ...requireActUpon(gateway, isWaiting ? 'removeSkill' : 'disableSkill', rolling, newest),
    ...(target.state === 'active' ? [] : requireActUpon(gateway, 'enableSkill', rolling, target)),
  ];
  await requireUnchanged(gateway, target, rolling);
  const decided = { ...rolling, decidedBy, reason: reason ?? `rolled back to ${target.version}` };
  await gateway.store.commit((tx) => {
    const now = skillAt(tx, id, newest.version);
    const old = skillAt(tx, id, target.version);
    const isSame = now?.changedAtMs === newest.changedAtMs && old?.changedAtMs === target.changedAtMs;
    if (now === null || old === null || !isSame)
      throw new CodedError('skill/conflict', `Cannot roll ${id} back: it was changed meanwhile`);
    if (isWaiting) drop(gateway, tx, now, decided);
    else move(gateway, tx, now, { event: 'disable', acting: rolling, decidedBy, reason: decided.reason });
    if (old.state !== 'active') activate(gateway, tx, old, decided);
  });
  gateway.skills.running.look();
  await dropArtifact(gateway, newest);
  return { from: newest.version, to: target.version };
}

type Plan = { readonly newest: InstalledSkill; readonly target: InstalledSkill };

function plan({ store }: Gateway, id: string): Plan {
  const versions = versionsOf(store, id);
  if (versions.length === 0)
    throw new CodedError('skill/unknown', `Cannot roll "${id}" back: it is not installed`);
  const newest = versions.find(
    ({ state }) => state === 'active' || state === 'approved' || WAITING.has(state),
  );
  const earlier = newest === undefined ? [] : versions.slice(versions.indexOf(newest) + 1);
  const full = (version: string) => skillAt(store, id, version);
  const target = earlier
    .filter(({ state }) => state === 'active' || state === 'disabled')
    .map(({ version }) => full(version))
    .find((skill) => skill !== null && skill.grant !== null);
  const from = newest === undefined ? null : full(newest.version);
  if (from !== null && target !== undefined && target !== null) return { newest: from, target };
  throw new CodedError(
    'skill/wrong-state',
    `Cannot roll ${id} back: ${newest === undefined ? 'no version of it runs or waits' : `no version before ${newest.version} is approved`}, expected an earlier one that was`,
  );
}
