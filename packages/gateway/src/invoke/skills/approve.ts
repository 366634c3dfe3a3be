/**
 * A person approves one version with one grant. What is approved is checked again here: the audit passed, the key is
 * still valid, and the bytes on disk are those that were audited. The grant is stored with them, and what runs later
 * must match both. Where more than one person has to agree, all of them agree to the same grant.
 */
import { CodedError } from '../../core/coded-error.ts';
import { digestValue } from '../../core/digest.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { orElse } from '../../core/result.ts';
import { count } from '../../skills/audit/module/words.ts';
import { keptConfig, type Narrowing, narrowGrant, type SkillGrant } from '../../skills/grant.ts';
import { activeOf, skillAt, versionsOf } from '../../skills/index/read.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { changeVersion } from '../../skills/index/write.ts';
import { nextState } from '../../skills/lifecycle.ts';
import type { Reader, Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';
import { activate, reviewersFor } from './change.ts';
import { storedPackage, trustOf } from './examine.ts';
import {
  type Acting,
  move,
  type Named,
  recordDenial,
  recordSkill,
  requireAct,
  requireActUpon,
  requireSkill,
  standingOf,
} from './skill-acts.ts';

type Shown = Pick<InstalledSkill, 'artifact' | 'changedAtMs'>;

export type Approving = Acting &
  Named &
  Narrowing & {
    readonly reason: string | null;
    /** The approver has read the warnings of the audit. */
    readonly acceptFindings: boolean;
    readonly enable: boolean;
    /** What the approver was shown; left out: the current state. */
    readonly asShown?: Shown;
  };

export type Approved = { readonly skill: InstalledSkill; readonly reviewersMissing: number };

export async function approveSkill(gateway: Gateway, approving: Approving): Promise<Approved> {
  const skill = requireSkill(gateway.store, approving, ['quarantined']);
  requireAsShown(skill, approving.asShown ?? skill);
  nextState(skill.state, 'approve', skill);
  const { manifest, trust } = skill;
  const { kept } = configBefore(gateway.store, skill);
  const grant = narrowGrant(manifest, { ...approving, config: { ...kept, ...approving.config } });
  const decide = () => {
    const about = { manifest, trust, grant, standing: standingOf(skill) };
    const decidedBy = requireAct(gateway, 'approveSkill', approving, about);
    return { decidedBy, enabledBy: enablersOf(gateway, skill, { ...approving, grant }) };
  };
  await recordDenial(gateway, decide);
  requirePassed(skill, approving.acceptFindings);
  const { signer } = await storedPackage(gateway, skill);
  const approve = (tx: Transaction) => {
    const now = skillAt(tx, skill.id, skill.version);
    requireAsShown(skill, now);
    const verdict = trustOf(tx, { signer, manifest }, { nowMs: gateway.clock.nowMs(), use: 'load' });
    if (!verdict.ok) throw new CodedError(verdict.code, `Cannot approve ${spell(skill)}: ${verdict.why}`);
    return agree(gateway, tx, now, { ...approving, grant, ...decide() });
  };
  const approved = await recordDenial(gateway, () => gateway.store.commit(approve));
  gateway.skills.running.look();
  return approved;
}

/** The configuration of the version that runs, else of the newest other one with a grant, as far as it is kept. */
export function configBefore(reader: Reader, { id, version, manifest }: InstalledSkill) {
  const active = activeOf(reader, id);
  const others = versionsOf(reader, id).map((each) => each.version);
  const candidates = [...(active === null ? [] : [active]), ...others].filter((each) => each !== version);
  for (const candidate of candidates) {
    // A row that was tampered with gives no values.
    const grant = orElse(() => skillAt(reader, id, candidate)?.grant ?? null, null);
    if (grant !== null) return { from: candidate, ...keptConfig(grant, manifest) };
  }
  return { from: null, kept: {}, dropped: [] };
}

/** Boundary: what was reviewed is what is approved; any later change needs another approval. */
function requireAsShown(skill: InstalledSkill, other: Shown | null): asserts other is Shown {
  if (other?.artifact === skill.artifact && other.changedAtMs === skill.changedAtMs) return;
  throw new CodedError(
    'skill/conflict',
    `Cannot approve ${spell(skill)}: it was changed in the meantime, expected the version that was shown`,
  );
}

/** Boundary: what the audit refuses cannot be approved, nor what it warns of without accepting the warnings. */
function requirePassed(skill: InstalledSkill, acceptFindings: boolean): void {
  const { report } = skill;
  if (report === null || report.verdict !== 'passed') {
    const is = report === null ? 'it was not audited' : 'its audit failed';
    throw new CodedError('skill/audit-failed', `Cannot approve ${spell(skill)}: ${is}`);
  }
  const warnings = report.findings.filter(({ severity }) => severity === 'warning');
  if (warnings.length === 0 || acceptFindings) return;
  const ids = [...new Set(warnings.map(({ id }) => id))].join(', ');
  const is = `its audit has ${count(warnings.length, 'warning')} (${ids})`;
  throw new CodedError(
    'skill/audit-failed',
    `Cannot approve ${spell(skill)}: ${is}, expected --accept-findings`,
    { remedy: `Read them with \`palisade skill audit ${skill.id}\`, then approve with --accept-findings.` },
  );
}

type Granting = Approving & { readonly grant: SkillGrant };

/** Who has agreed to this same grant, including this one, and how many are still missing. */
function tallyOf(gateway: Gateway, skill: InstalledSkill, { grant, by }: Granting) {
  const isSameGrant = skill.grant !== null && digestValue(skill.grant) === digestValue(grant);
  const before = isSameGrant ? skill.approvedBy : [];
  const approvedBy = [...new Set([...before, formatPrincipal(by)])];
  return { approvedBy, reviewersMissing: Math.max(0, reviewersFor(gateway, skill) - approvedBy.length) };
}

/**
 * Boundary: the right to approve does not include the right to enable. Returns what decided that this principal may;
 * null where nothing is to be enabled.
 */
function enablersOf(gateway: Gateway, skill: InstalledSkill, granting: Granting): readonly string[] | null {
  if (!granting.enable || tallyOf(gateway, skill, granting).reviewersMissing > 0) return null;
  return requireActUpon(gateway, 'enableSkill', granting, { ...skill, state: 'approved' });
}

type Agreeing = Granting & {
  readonly decidedBy: readonly string[];
  readonly enabledBy: readonly string[] | null;
};

function agree(gateway: Gateway, tx: Transaction, skill: InstalledSkill, agreeing: Agreeing): Approved {
  const { grant, decidedBy, enabledBy, reason } = agreeing;
  const { approvedBy, reviewersMissing } = tallyOf(gateway, skill, agreeing);
  if (reviewersMissing > 0)
    return { skill: wait(gateway, tx, skill, { ...agreeing, approvedBy }), reviewersMissing };
  const step = { event: 'approve', acting: agreeing, decidedBy, reason, grant, approvedBy } as const;
  const approved = move(gateway, tx, skill, step);
  if (enabledBy === null) return { skill: approved, reviewersMissing };
  return { skill: activate(gateway, tx, approved, { ...agreeing, decidedBy: enabledBy }), reviewersMissing };
}

type Waiting = Agreeing & { readonly approvedBy: readonly string[] };

/** One of several has agreed: this is recorded, and the state of the skill does not change. */
function wait(gateway: Gateway, tx: Transaction, skill: InstalledSkill, waiting: Waiting): InstalledSkill {
  const { id, version, state } = skill;
  const { grant, approvedBy, decidedBy } = waiting;
  const atMs = gateway.clock.nowMs();
  const by = formatPrincipal(waiting.by);
  const reason = `approved by ${approvedBy.join(', ')}, and waits for others`;
  changeVersion(tx, { id, version, from: state, to: state, atMs, by, reason, grant, approvedBy });
  recordSkill(gateway, tx, {
    kind: 'skill-changed',
    skill,
    acting: waiting,
    body: {
      ...{ event: 'approve', from: state, to: state, reason: waiting.reason, decidedBy: [...decidedBy] },
      ...{ grant: digestValue(grant), approvedBy: [...approvedBy] },
    },
  });
  return { ...skill, grant, approvedBy, reason, changedAtMs: atMs, changedBy: by };
}

function spell({ id, version }: InstalledSkill): string {
  return `${id}@${version}`;
}
