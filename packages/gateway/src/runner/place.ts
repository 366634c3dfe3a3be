import { isWithin } from '../core/within.ts';
import { DEVICES, SYSTEM_PATHS } from './system.table.ts';

/** Whose a resolved path is: the run's own, everybody's to read, one the operator named, or nothing to do with the run. */
export type Place = 'workspace' | 'system' | 'read-only' | 'outside';

export type Grounds = { readonly workspace: string; readonly readOnly: readonly string[] };

/** The place of a path that has no links left in it. */
export function placeOf(path: string, { workspace, readOnly }: Grounds): Place {
  if (isWithin(path, workspace)) return 'workspace';
  if (DEVICES.has(path) || SYSTEM_PATHS.some((part) => isWithin(path, part))) return 'system';
  return readOnly.some((part) => isWithin(path, part)) ? 'read-only' : 'outside';
}
