import type { ApprovalFact } from '../core/checked-call.ts';
import { queries } from '../store/query.ts';
import type { Reader } from '../store/transaction.ts';
import { type Approval, approvalOf } from './approval.ts';
import type { ApprovalTables } from './tables.ts';

/** Where the question about one very call stands. */
export type Standing =
  | { readonly kind: 'none' }
  | { readonly kind: 'pending'; readonly approval: Approval }
  | { readonly kind: 'approved'; readonly approval: Approval; readonly fact: ApprovalFact }
  | { readonly kind: 'denied'; readonly approval: Approval }
  | { readonly kind: 'expired'; readonly approval: Approval };

const query = queries<ApprovalTables>();

const selectNewest = query<{ digest: string }>()((db, p) =>
  db.selectFrom('approval').selectAll().where('digest', '=', p('digest')).orderBy('seq', 'desc').limit(1),
);

/** The newest answer to this very question; what was used or denied long ago is as if never asked. */
export function standing(reader: Reader, digest: string, nowMs: number): Standing {
  const row = reader.get(selectNewest, { digest });
  if (row === undefined || row.state === 'used') return { kind: 'none' };
  const approval = approvalOf(row);
  if (nowMs >= approval.expiresAtMs)
    return row.state === 'denied' ? { kind: 'none' } : { kind: 'expired', approval };
  if (row.state !== 'approved') return { kind: row.state, approval };
  const { id, decidedBy, decidedAtMs } = approval;
  // Boundary: an approval that does not say by whom and when is none; the table refuses such a row as well.
  if (decidedBy === null || decidedAtMs === null) return { kind: 'none' };
  return { kind: 'approved', approval, fact: { id, by: decidedBy, atMs: decidedAtMs } };
}
