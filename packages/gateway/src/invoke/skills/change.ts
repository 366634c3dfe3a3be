import { CodedError } from '../../core/coded-error.ts';
import { activeOf, artifactsInUse, skillAt, versionsOf } from '../../skills/index/read.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { forgetTraps } from '../../skills/index/traps.ts';
import { dropVersion } from '../../skills/index/write.ts';
import type { SkillState } from '../../skills/lifecycle.table.ts';
import { nextState, transitionOf } from '../../skills/lifecycle.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';
import { quarantineChanged } from './audit.ts';
import { storedPackage, trustOf } from './examine.ts';
import {
  type Acting,
  meantOf,
  move,
  type Named,
  recordDenial,
  recordSkill,
  requireActUpon,
  requireSkill,
} from './skill-acts.ts';

export type ChangeEvent = 'quarantine' | 'enable' | 'disable' | 'revoke' | 'remove';

export type Changing = Acting & Named & { readonly event: ChangeEvent; readonly reason: string | null };

/** Which version is meant where none is named. */
const FITS: Readonly<Record<ChangeEvent, readonly SkillState[]>> = {
  quarantine: ['active', 'failed', 'approved', 'disabled'],
  enable: ['approved', 'failed', 'disabled'],
  disable: ['active', 'failed'],
  revoke: ['active', 'failed', 'approved', 'disabled', 'quarantined', 'audited', 'ingested'],
  remove: ['disabled', 'failed', 'quarantined', 'revoked', 'approved', 'audited', 'ingested'],
};

/** Takes one lifecycle step with a skill, if the policies permit it; calls of a withdrawn skill are ended. */
export async function changeSkill(gateway: Gateway, changing: Changing): Promise<InstalledSkill> {
  const { event, version } = changing;
  const found = await foundFor(gateway, changing);
  if (event === 'revoke' && version === null) return revokeAll(gateway, changing, found);
  const decide = (skill: InstalledSkill) =>
    requireActUpon(gateway, transitionOf(skill.state, event, skill).action, changing, skill);
  await recordDenial(gateway, () => decide(found));
  if (event === 'enable') await requireUnchanged(gateway, found, changing);
  const change = (tx: Transaction) => {
    const skill = asItIs(tx, found, event);
    if (skill === null || skill.artifact !== found.artifact)
      throw new CodedError('skill/conflict', `Cannot ${event} ${found.id}: it was changed in the meantime`);
    const decided = { ...changing, decidedBy: decide(skill) };
    if (event === 'enable') return activate(gateway, tx, skill, decided);
    return event === 'remove' ? drop(gateway, tx, skill, decided) : step(gateway, tx, skill, decided);
  };
  const changed = await recordDenial(gateway, () => gateway.store.commit(change));
  gateway.skills.running.look();
  if (event === 'remove') await dropArtifact(gateway, changed);
  return changed;
}

/** A version can be taken out of use even where its row was tampered with. */
const WAYS_OUT: ReadonlySet<ChangeEvent> = new Set(['quarantine', 'revoke', 'remove']);

/** The version that is meant; if its row cannot be read as a whole and it goes out of use, what its package says. */
async function foundFor(gateway: Gateway, changing: Changing): Promise<InstalledSkill> {
  const { event, id } = changing;
  try {
    return requireSkill(gateway.store, changing, FITS[event]);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'store/corrupt' || !WAYS_OUT.has(event)) throw error;
    const versions = versionsOf(gateway.store, id);
    const { version } = changing;
    const meant =
      version === null ? meantOf(versions, FITS[event]) : versions.find((each) => each.version === version);
    if (meant === undefined) throw error;
    const { manifest } = await storedPackage(gateway, meant);
    return { ...meant, manifest, grant: null, report: null };
  }
}

function asItIs(tx: Transaction, found: InstalledSkill, event: ChangeEvent): InstalledSkill | null {
  if (!WAYS_OUT.has(event)) return skillAt(tx, found.id, found.version);
  const now = versionsOf(tx, found.id).find(({ version }) => version === found.version);
  if (now === undefined) return null;
  const { artifact, state, approvedBy } = now;
  return { ...found, artifact, state, approvedBy };
}

/** Boundary: revoking a skill without naming a version leaves no version that could be enabled. */
async function revokeAll(
  gateway: Gateway,
  changing: Changing,
  first: InstalledSkill,
): Promise<InstalledSkill> {
  const { id } = changing;
  const others = versionsOf(gateway.store, id).filter(
    ({ version, state }) => version !== first.version && state !== 'revoked',
  );
  const revoked = await changeSkill(gateway, { ...changing, version: first.version });
  const ends: PromiseSettledResult<unknown>[] = [];
  // One that cannot be revoked, or is gone by now, does not stop the others.
  for (const { version } of others)
    ends.push(...(await Promise.allSettled([changeSkill(gateway, { ...changing, version })])));
  const broken = ends.find((end) => end.status === 'rejected' && end.reason?.code !== 'skill/unknown');
  if (broken?.status === 'rejected') throw broken.reason;
  return revoked;
}

type Decided = Acting & { readonly decidedBy: readonly string[]; readonly reason: string | null };

function step(
  gateway: Gateway,
  tx: Transaction,
  skill: InstalledSkill,
  decided: Decided & Pick<Changing, 'event'>,
): InstalledSkill {
  const { event, decidedBy, reason } = decided;
  // A quarantine ends the approval; running again takes a new one.
  const ends = event === 'quarantine' ? { grant: null, approvedBy: [] } : {};
  return move(gateway, tx, skill, { event, acting: decided, decidedBy, reason, ...ends });
}

/** How many different people have to approve it. */
export function reviewersFor({ skills }: Pick<Gateway, 'skills'>, { manifest }: InstalledSkill): number {
  return Math.max(skills.terms.reviewers, manifest.trust.reviewers);
}

/** Enables a version, and disables the one that was active before. */
export function activate(
  gateway: Gateway,
  tx: Transaction,
  skill: InstalledSkill,
  { decidedBy, reason, ...acting }: Decided,
): InstalledSkill {
  const { id, version, grant, report, approvedBy } = skill;
  nextState(skill.state, 'enable', skill);
  // Boundary: only what was audited and approved is ever enabled.
  if (grant === null || report?.verdict !== 'passed' || approvedBy.length < reviewersFor(gateway, skill))
    throw new CodedError('skill/wrong-state', `Cannot enable ${id}@${version}: it has no valid approval`, {
      remedy: `Put it into quarantine with \`palisade skill quarantine ${id}@${version}\`, then approve it.`,
    });
  const active = activeOf(tx, id);
  const before = active === null || active === version ? null : skillAt(tx, id, active);
  if (before !== null) {
    const replaced = { event: 'disable', acting, decidedBy, reason: `replaced by ${version}` } as const;
    move(gateway, tx, before, replaced);
  }
  forgetTraps(tx, skill);
  return move(gateway, tx, skill, { event: 'enable', acting, decidedBy, reason });
}

/** Boundary: trust and bytes are checked again before anything is enabled. */
async function requireUnchanged(gateway: Gateway, skill: InstalledSkill, acting: Acting): Promise<void> {
  try {
    const { signer, manifest } = await storedPackage(gateway, skill);
    const at = { nowMs: gateway.clock.nowMs(), use: 'load' } as const;
    const verdict = trustOf(gateway.store, { signer, manifest }, at);
    if (!verdict.ok)
      throw new CodedError(verdict.code, `Cannot enable ${skill.id}@${skill.version}: ${verdict.why}`);
  } catch (error) {
    if (error instanceof CodedError && error.code === 'skill/changed')
      await quarantineChanged(gateway, skill, { why: error.message, acting });
    throw error;
  }
}

/**
 * Removes a package that no version refers to any more. While the write lock is held no other process can start to need
 * it, and removing it twice does no harm, should the work run twice.
 */
export async function dropArtifact(
  { store, skills }: Gateway,
  { artifact }: Pick<InstalledSkill, 'artifact'>,
): Promise<void> {
  await store.commit((tx) => {
    if (!artifactsInUse(tx).has(artifact)) skills.artifacts.remove(artifact);
  });
}

/** Deletes a version, in the transaction that records it. */
function drop(gateway: Gateway, tx: Transaction, skill: InstalledSkill, decided: Decided): InstalledSkill {
  const { id, version, state: from } = skill;
  nextState(from, 'remove', skill);
  dropVersion(tx, id, version);
  recordSkill(gateway, tx, {
    kind: 'skill-changed',
    skill,
    acting: decided,
    body: { event: 'remove', from, to: null, reason: decided.reason, decidedBy: [...decided.decidedBy] },
  });
  return skill;
}

type RollingBack = Acting & { readonly id: string; readonly reason: string | null };

type RolledBack = { readonly from: string | null; readonly to: string };

/** States of a version that was installed and never approved; a rollback removes it. */
const WAITING: ReadonlySet<SkillState> = new Set(['ingested', 'audited', 'quarantined']);

/**
 * Goes back to the version before the newest one, which runs with the grant that it had. The newest is disabled where
 * it was approved; a pending update is removed.
 */
export async function rollbackSkill(gateway: Gateway, rolling: RollingBack): Promise<RolledBack> {
  const { id, reason } = rolling;
  const { newest, target } = plan(gateway, id);
  const isWaiting = WAITING.has(newest.state);
  const decide = () => [
    ...requireActUpon(gateway, isWaiting ? 'removeSkill' : 'disableSkill', rolling, newest),
    ...(target.state === 'active' ? [] : requireActUpon(gateway, 'enableSkill', rolling, target)),
  ];
  await recordDenial(gateway, decide);
  await requireUnchanged(gateway, target, rolling);
  const roll = (tx: Transaction) => {
    const now = skillAt(tx, id, newest.version);
    const old = skillAt(tx, id, target.version);
    const isSame = now?.changedAtMs === newest.changedAtMs && old?.changedAtMs === target.changedAtMs;
    if (now === null || old === null || !isSame)
      throw new CodedError('skill/conflict', `Cannot roll ${id} back: it was changed in the meantime`);
    const decided = { ...rolling, decidedBy: decide(), reason: reason ?? `rolled back to ${target.version}` };
    if (isWaiting) drop(gateway, tx, now, decided);
    else step(gateway, tx, now, { ...decided, event: 'disable' });
    if (old.state !== 'active') activate(gateway, tx, old, decided);
  };
  await recordDenial(gateway, () => gateway.store.commit(roll));
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
    ({ state }) => state === 'active' || state === 'failed' || state === 'approved' || WAITING.has(state),
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
