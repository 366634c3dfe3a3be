/** What a run left in its workspace, for the caller: what it changed, and what of that is dangerous to the host. */
import type { Json } from '../../core/json.ts';
import { diffSnapshots, firstOf } from '../workspace/diff.ts';
import type { Snapshot } from '../workspace/entry.ts';
import { FINDINGS } from '../workspace/findings.table.ts';
import { isSameFile } from '../workspace/held-directory.ts';
import { findingsIn } from '../workspace/hygiene.ts';
import { takeSnapshot } from '../workspace/snapshot.ts';

/** The workspace before the run; null where it could not be looked at. */
export type Before = Snapshot | null;

const BOUNDS = { maxEntries: 50_000 };
const MOST_CHANGES = 200;
const MOST_FINDINGS = 100;
/** Boundary: who closes the workspace behind him is not taken for one who left nothing in it. */
const UNSEEN = { path: '.', why: 'unseen', ...FINDINGS.unseen };

export function lookBefore(workspace: string): Promise<Before> {
  return takeSnapshot(workspace, BOUNDS).catch(() => null);
}

/** The part of a result that speaks of the workspace. A look that was not whole says so. */
export async function lookAfter(workspace: string, before: Before): Promise<Record<string, Json>> {
  const after = await takeSnapshot(workspace, BOUNDS).catch(() => null);
  if (before === null || after === null || !isOneWorkspace(before, after)) {
    return { changes: [], findings: [UNSEEN], workspaceSeen: 'not at all' };
  }
  const all = diffSnapshots(before, after);
  const changes = firstOf(all, MOST_CHANGES);
  const findings = firstOf(findingsIn(all, after, workspace), MOST_FINDINGS);
  const isWhole = before.gaps.length === 0 && after.gaps.length === 0;
  return {
    changes: changes.items.map(({ path, change, kind }) => ({ path, change, kind })),
    ...(changes.more > 0 ? { moreChanges: changes.more } : {}),
    findings: findings.items.map(({ path, why, severity, sentence }) => ({ path, why, severity, sentence })),
    ...(findings.more > 0 ? { moreFindings: findings.more } : {}),
    workspaceSeen: isWhole ? 'whole' : 'in part',
  };
}

/** Boundary: what was put in the place of the workspace meanwhile is not what the run has changed. */
function isOneWorkspace(before: Snapshot, after: Snapshot): boolean {
  const [was, is] = [before.entries.get('.'), after.entries.get('.')];
  return was !== undefined && is !== undefined && isSameFile(was, is);
}
