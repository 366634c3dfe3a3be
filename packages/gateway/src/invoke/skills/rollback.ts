import { CodedError } from '../../core/coded-error.ts';
import { skillAt, versionsOf } from '../../skills/index/read.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import type { SkillState } from '../../skills/lifecycle.table.ts';
import type { Gateway } from '../gateway.ts';
import { activate, drop, dropArtifact, requireUnchanged } from './change.ts';
import { move } from './move.ts';
import { type Acting, requireActUpon } from './skill-acts.ts';

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
