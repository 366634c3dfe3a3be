/** What all acts upon skills share: which version is meant, whether the policies let it be done, and who is told of it. */
import { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import { authorizeAct } from '../../policy/authorize.ts';
import type { SkillAct, SkillStanding } from '../../policy/skill-act.ts';
import { capabilitiesOf, hostsOf, openGrants } from '../../registry/skill-tool.ts';
import type { SkillGrant } from '../../skills/grant.ts';
import { skillAt, versionsOf } from '../../skills/index/read.ts';
import type { InstalledSkill, SkillSummary } from '../../skills/index/skill.ts';
import type { SkillState } from '../../skills/lifecycle.table.ts';
import type { Manifest } from '../../skills/manifest/manifest.ts';
import { wholeGrant } from '../../skills/narrow-grant.ts';
import type { Reader, Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';

/** Who acts, and where. */
export type Acting = { readonly by: Principal; readonly tenant: string };

/** A skill as somebody names it; without a version, the newest one in the first state that fits what is to be done. */
export type Named = { readonly id: string; readonly version: string | null };

/** The skill that is meant; throws `skill/unknown` where there is none. */
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

/** Asks the policies; gives what decided. Where they do not let it be done, that is on record, and it throws `policy/denied`. */
export function requireAct(
  gateway: Gateway,
  act: SkillAct,
  { by, tenant }: Acting,
  about: About,
): readonly string[] {
  const { manifest, trust, grant = wholeGrant(manifest), standing } = about;
  const { id, publisher, version, asks } = manifest;
  const open = openGrants(grant.wasm);
  const ruling = authorizeAct(gateway.policy, by, act, {
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
  const { allowed, decidedBy, message } = ruling;
  if (allowed) return decidedBy;
  gateway.store.transact((tx) =>
    gateway.journal.append(tx, {
      ...{ kind: 'skill-refused', call: null, principal: formatPrincipal(by), tool: null, tenant },
      body: { skill: id, version, event: act, decidedBy: [...decidedBy] },
    }),
  );
  throw new CodedError('policy/denied', message, {
    remedy: `Ask the operator for a policy that permits the action "${act}"; a case of \`palisade policy test\` tries one.`,
  });
}

/** How an installed skill stands, for the policies. */
export function standingOf({ state, report, installedBy }: InstalledSkill): Partial<SkillStanding> {
  const findings = report?.findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id) ?? [];
  return { state, verdict: report?.verdict ?? 'none', findings: [...new Set(findings)], installedBy };
}

/** The same for an act upon what is installed. */
export function requireActUpon(
  gateway: Gateway,
  act: SkillAct,
  acting: Acting,
  skill: InstalledSkill,
): readonly string[] {
  const { manifest, trust } = skill;
  return requireAct(gateway, act, acting, { manifest, trust, standing: standingOf(skill) });
}

export type SkillRecord = {
  readonly kind: 'skill-installed' | 'skill-audited' | 'skill-changed';
  readonly skill: Pick<InstalledSkill, 'id' | 'version' | 'artifact'>;
  /** Null: the gateway itself. */
  readonly acting: Acting | null;
  readonly body: { readonly [key: string]: Json };
};

/** Writes down what was done with a skill, in the transaction that does it. */
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

/** Who the index names for a change. */
export function actorOf(acting: Acting | null): string {
  return acting === null ? 'gateway' : formatPrincipal(acting.by);
}
