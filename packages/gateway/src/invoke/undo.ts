import { makeId } from '../core/clock.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Undoable, Undone } from '../tiers/undo/undo.ts';
import { administer } from './administer.ts';
import type { Gateway } from './gateway.ts';
import type { Acting } from './skills/skill-acts.ts';

type UndoAsked = {
  readonly record: Undoable;
  readonly isForced: boolean;
  /** How it was asked for. */
  readonly door: 'http' | 'mcp' | 'cli';
  readonly credential: string;
};

/**
 * Undoes a command on behalf of an administrator of its tenant. The record that it begins is durable before a file is
 * touched; the one of its end has the digest of what was done. A killed undo lacks the second.
 */
export async function undoCall(
  gateway: Gateway,
  { by }: Pick<Acting, 'by'>,
  { record, isForced, door, credential }: UndoAsked,
): Promise<Undone & { readonly undoId: string }> {
  const { journal, store, undos, clock, random } = gateway;
  const { id, tenant, workspace } = record;
  const undoId = makeId('undo', clock.nowMs(), random);
  const principal = formatPrincipal(by);
  // The records of an undo are found by its call; of an undo that is undone, by its own id in their body.
  const about = { principal, tenant, call: id.startsWith('call_') ? id : null };
  await administer(gateway, { by, tenant }, (tx) => {
    const body = { undo: undoId, of: id, workspace, forced: isForced, door, credential };
    journal.append(tx, { kind: 'undo-begun', ...about, body });
  });
  const undone = await undos.undo({ id, isForced, undoId, principal });
  const { steps, conflicts, missing, failed, already, digest } = undone;
  const counts = { done: steps.length, conflicts: conflicts.length, missing: missing.length };
  const body = { undo: undoId, of: id, workspace, ...counts, failed: failed.length, already, digest };
  await store.commit((tx) => journal.append(tx, { kind: 'undo-ended', ...about, body }));
  return { ...undone, undoId };
}
