import { formatPrincipal } from '../core/principal.ts';
import { type Deleting, deleteFrom, type Emptied } from '../storage/spaces.ts';
import type { SpaceName } from '../storage/tables.ts';
import { administer } from './administer.ts';
import type { Gateway } from './gateway.ts';
import type { Acting } from './skills/skill-acts.ts';

type DeletingStorage = Pick<Acting, 'by'> & {
  readonly space: SpaceName;
  readonly deleting: Deleting;
  /** How it was asked for. */
  readonly door: 'http' | 'mcp' | 'cli';
  readonly credential: string;
};

/** Deletes of what a skill has stored for an administrator of its tenant: with its record in one transaction, or not at all. */
export async function deleteStorage(
  gateway: Gateway,
  { by, space, deleting, door, credential }: DeletingStorage,
): Promise<Emptied> {
  const { tenant, skill } = space;
  return administer(gateway, { by, tenant }, (tx) => {
    const emptied = deleteFrom(tx, space, deleting);
    if (emptied.keys === 0) return emptied;
    const { kind: what, ...place } = deleting;
    const body = { skill, what, ...place, ...emptied, door, credential };
    gateway.journal.append(tx, { kind: 'storage-deleted', principal: formatPrincipal(by), tenant, body });
    return emptied;
  });
}
