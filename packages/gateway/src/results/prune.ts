import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ResultTables } from './tables.ts';

/** What is dropped at once: more than one call ever adds, little enough that no call waits for it. */
const MOST_AT_ONCE = 64;

const query = queries<ResultTables>();

const dropResults = query<{ beforeMs: number; most: number }>()((db, p) =>
  db
    .deleteFrom('call_result')
    .where('call', 'in', (eb) =>
      // The oldest ids are those of the oldest calls.
      eb.selectFrom('call_result').select('call').orderBy('call').limit(p('most')),
    )
    .where('at_ms', '<', p('beforeMs')),
);

const dropKeys = query<{ beforeMs: number }>()((db, p) =>
  db.deleteFrom('idempotency').where('at_ms', '<', p('beforeMs')),
);

/** Drops some of what is kept longer than it has to be. */
export function pruneResults(tx: Transaction, beforeMs: number): void {
  tx.run(dropResults, { beforeMs, most: MOST_AT_ONCE });
  tx.run(dropKeys, { beforeMs });
}
