import { CodedError } from '../../core/coded-error.ts';
import { digestValue } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import type { Draft } from '../../journal/journal.ts';
import { authorizeAct } from '../../policy/authorize.ts';
import type { SkillAct, SkillStanding } from '../../policy/entities.ts';
import { hostsOf } from '../../skills/capabilities/http.ts';
import { capabilitiesOf, openGrants } from '../../skills/capabilities/kinds.ts';
import { type SkillGrant, wholeGrant } from '../../skills/grant.ts';
import { skillAt, versionsOf } from '../../skills/index/read.ts';
import type { InstalledSkill, SkillSummary } from '../../skills/index/skill.ts';
import { changeVersion, type SkillChange } from '../../skills/index/write.ts';
import type { SkillEvent, SkillState } from '../../skills/lifecycle.table.ts';
import { nextState, type SkillRef } from '../../skills/lifecycle.ts';
import type { Manifest } from '../../skills/manifest/manifest.ts';
import type { Reader, Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';

/** What all actions on skills share: which version is meant, whether the policies permit it, and who is notified. */

/** Who acts, and where. */
export type Acting = { readonly by: Principal; readonly tenant: string };

/** A skill as the caller names it; without a version, the newest one in the first state that fits the action. */
export type Named = { readonly id: string; readonly version: string | null };

/** The skill that is meant; throws `skill/unknown` where it does not exist. */
export function requireSkill(
  reader: Reader,
  { id, version }: Named,
  fits: readonly SkillState[],
): InstalledSkill {
  const versions = versionsOf(reader, id);
  const meant = version ?? meantOf(versions, fits)?.version;
  const skill = meant === undefined ? null : skillAt(reader, id, meant);
  if (skill !== null) return skill;
  const what = version === null ? `"${id}"` : `"${id}@${version}"`;
  const is = versions.length === 0 ? 'it is not installed' : 'that version is not installed';
  const known = versions.map((each) => each.version).slice(0, 5);
  const expected = known.length === 0 ? '' : `, expected one of ${known.join(', ')}`;
  throw new CodedError('skill/unknown', `Cannot find the skill ${what}: ${is}${expected}`);
}

/** The version that is meant where none is named. */
export function meantOf(
  versions: readonly SkillSummary[],
  fits: readonly SkillState[],
): SkillSummary | undefined {
  const [newest = versions[0]] = fits.flatMap((fit) => versions.filter(({ state }) => state === fit));
  return newest;
}

type About = {
  readonly manifest: Manifest;
  readonly trust: string;
  readonly grant?: SkillGrant;
  readonly standing?: Partial<SkillStanding>;
};

/** A denial by the policies, with its record. */
class DeniedAct extends CodedError {
  override readonly name: 'CodedError' = 'CodedError';
  readonly draft: Draft;

  constructor(act: SkillAct, message: string, draft: Draft) {
    super('policy/denied', message, {
      remedy: `Ask the operator for a policy that permits the action "${act}"; a case of \`palisade policy test\` tries one.`,
    });
    this.draft = draft;
  }
}

/**
 * Does a part of an act, and records its denial by the policies. They are asked with `requireAct` before an act, and
 * again in its transaction, which a denial rolls back: a policy that changed in between counts.
 */
export async function recordDenial<T>(gateway: Gateway, part: () => T | Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (error) {
    if (error instanceof DeniedAct)
      await gateway.store.commit((tx) => gateway.journal.append(tx, error.draft));
    throw error;
  }
}

/** Evaluates the policies; returns what decided. A denial throws `policy/denied`; `recordDenial` records it. */
export function requireAct(
  gateway: Gateway,
  act: SkillAct,
  { by, tenant }: Acting,
  about: About,
): readonly string[] {
  const { manifest, trust, grant = wholeGrant(manifest), standing } = about;
  const { id, publisher, version, asks } = manifest;
  const open = openGrants(grant.wasm);
  const { allowed, decidedBy, message } = authorizeAct(gateway.policy, by, act, {
    tenant,
    nowMs: gateway.clock.nowMs(),
    skill: { id, publisher, version, trust },
    about: {
      state: 'new',
      capabilities: capabilitiesOf(open),
      hosts: hostsOf(open),
      hasWildcards: asks.allowWildcards,
      verdict: 'none',
      findings: [],
      installedBy: null,
      ...standing,
    },
  });
  if (allowed) return decidedBy;
  throw new DeniedAct(act, message, {
    kind: 'skill-refused',
    principal: formatPrincipal(by),
    tenant,
    body: { skill: id, version, event: act, decidedBy: [...decidedBy] },
  });
}

/** The status of an installed skill, for the policies. */
export function standingOf({ state, report, installedBy }: InstalledSkill): Partial<SkillStanding> {
  const findings = report?.findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id) ?? [];
  return { state, verdict: report?.verdict ?? 'none', findings: [...new Set(findings)], installedBy };
}

/** The same for an action on an installed skill. */
export function requireActUpon(
  gateway: Gateway,
  act: SkillAct,
  acting: Acting,
  skill: InstalledSkill,
): readonly string[] {
  const { manifest, trust } = skill;
  return requireAct(gateway, act, acting, { manifest, trust, standing: standingOf(skill) });
}

type SkillRecord = {
  readonly kind: 'skill-installed' | 'skill-audited' | 'skill-changed';
  readonly skill: Pick<InstalledSkill, 'id' | 'version' | 'artifact'>;
  /** Null: the gateway itself. */
  readonly acting: Acting | null;
  readonly body: { readonly [key: string]: Json };
};

/** Records an action on a skill, in the transaction that performs it. */
export function recordSkill(
  { journal }: Pick<Gateway, 'journal'>,
  tx: Transaction,
  record: SkillRecord,
): void {
  const { kind, skill, acting, body } = record;
  journal.append(tx, {
    kind,
    call: null,
    principal: acting === null ? null : formatPrincipal(acting.by),
    tool: null,
    tenant: acting?.tenant ?? null,
    body: { skill: skill.id, version: skill.version, artifact: skill.artifact, ...body },
  });
}

type Move = Pick<SkillChange, 'reason' | 'report' | 'grant' | 'approvedBy'> & {
  readonly event: SkillEvent;
  readonly acting: Acting | null;
  readonly decidedBy: readonly string[];
  /** More for the record. */
  readonly details?: { readonly [key: string]: Json };
};

/** What must be known about a version for a lifecycle step. */
type Movable = Pick<InstalledSkill, 'id' | 'version' | 'state' | 'artifact'>;

/** Takes one step of the lifecycle: the index and the journal in one transaction, or neither. */
export function move<Skill extends Movable>(
  gateway: Pick<Gateway, 'journal' | 'clock'>,
  tx: Transaction,
  skill: Skill,
  { event, acting, decidedBy, reason, details = {}, ...changes }: Move,
): Skill {
  const { id, version, state: from } = skill;
  const to = nextState(from, event, skill);
  if (to === null) throw new CodedError('skill/wrong-state', `Cannot ${event} ${id}@${version} that way`);
  const atMs = gateway.clock.nowMs();
  const by = acting === null ? 'gateway' : formatPrincipal(acting.by);
  const { report, grant, approvedBy } = changes;
  changeVersion(tx, { id, version, from, to, atMs, by, reason, ...changes });
  recordSkill(gateway, tx, {
    kind: event === 'audit' ? 'skill-audited' : 'skill-changed',
    skill,
    acting,
    body: {
      ...{ event, from, to, reason, decidedBy: [...decidedBy], ...details },
      ...(report && { verdict: report.verdict, findings: report.findings.map((finding) => finding.id) }),
      ...(grant !== undefined && { grant: grant && digestValue(grant) }),
      ...(approvedBy && { approvedBy: [...approvedBy] }),
    },
  });
  const audited = report && { auditedAtMs: atMs };
  return { ...skill, state: to, reason, changedAtMs: atMs, changedBy: by, ...audited, ...changes };
}

type Why = { readonly why: string; readonly acting: Acting | null };

/** Quarantines a version and ends its approval; returns whether it was in use before. */
export function quarantine(
  gateway: Pick<Gateway, 'journal' | 'clock'>,
  tx: Transaction,
  { id, version }: SkillRef,
  { why, acting }: Why,
): boolean {
  // Boundary: a row that was tampered with, and can no longer be read as a whole, is quarantined all the same.
  const skill = versionsOf(tx, id).find((each) => each.version === version);
  if (skill === undefined || skill.state === 'quarantined' || skill.state === 'revoked') return false;
  const ends = { decidedBy: [], grant: null, approvedBy: [] };
  move(gateway, tx, skill, { event: 'quarantine', acting, reason: why, ...ends });
  return true;
}
