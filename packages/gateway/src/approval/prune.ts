import { sql } from 'kysely';
import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ApprovalTables } from './tables.ts';

/** How long a request is listed after its time has passed; the journal keeps question and answer for good. */
const LISTED_AFTER_EXPIRY_MS = 30 * 24 * 60 * 60_000;

const query = queries<ApprovalTables>();

// The literals let the partial index answer: what has no input any more is not looked at again.
const dropInputs = query<{ nowMs: number }>()((db, p) =>
  db
    .updateTable('approval')
    .set({ input_json: '' })
    .where('input_json', '<>', sql.lit(''))
    .where('expires_at_ms', '<=', p('nowMs')),
);

// A used request expires like any other, so its age is counted from there too.
const deleteOld = query<{ expiredBeforeMs: number }>()((db, p) =>
  db.deleteFrom('approval').where('expires_at_ms', '<', p('expiredBeforeMs')),
);

/** Drops the inputs of requests whose time has passed, forgets those of long ago, and gives how many it forgot. */
export function pruneApprovals(tx: Transaction, nowMs: number): number {
  tx.run(dropInputs, { nowMs });
  return tx.run(deleteOld, { expiredBeforeMs: nowMs - LISTED_AFTER_EXPIRY_MS });
}
