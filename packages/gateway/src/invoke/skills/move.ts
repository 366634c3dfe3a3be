import { CodedError } from '../../core/coded-error.ts';
import { digestValue } from '../../core/digest.ts';
import type { AuditReport } from '../../skills/audit/report.ts';
import type { SkillGrant } from '../../skills/grant.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { changeVersion } from '../../skills/index/write.ts';
import type { SkillEvent } from '../../skills/lifecycle.table.ts';
import { nextState } from '../../skills/lifecycle.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';
import { type Acting, actorOf, recordSkill } from './skill-acts.ts';

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
