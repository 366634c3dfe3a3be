import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ApprovalTables } from './tables.ts';

const query = queries<ApprovalTables>();

const markUsed = query<{ id: string; callId: string; nowMs: number }>()((db, p) =>
  db
    .updateTable('approval')
    .set({ state: 'used', used_by_call: p('callId'), input_json: '' })
    .where('id', '=', p('id'))
    // Boundary: the state is judged where it is changed, so that of all callers and processes one alone gets it.
    .where('state', '=', 'approved')
    .where('expires_at_ms', '>', p('nowMs')),
);

/** Uses an approval up for one call and drops its input; true exactly once in its life, and only before it expires. */
export function use(tx: Transaction, id: string, callId: string, nowMs: number): boolean {
  return tx.run(markUsed, { id, callId, nowMs }) === 1;
}
