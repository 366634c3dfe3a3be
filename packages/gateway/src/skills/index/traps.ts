import { insertInto, type Transaction } from '../../store/transaction.ts';
import type { SkillRef } from '../lifecycle.ts';
import { query, type TrapRow } from '../tables.ts';

/* The traps of active versions, one for each different input, until a success or an operator ends the count. */

const replaceTrap = insertInto<TrapRow>('skill_trap', 'replace');
const selectTraps = query<SkillRef>()((db, p) =>
  db
    .selectFrom('skill_trap')
    .selectAll()
    .where('id', '=', p('id'))
    .where('version', '=', p('version'))
    .orderBy('at_ms'),
);
const deleteTraps = query<SkillRef & { beforeMs: number }>()((db, p) =>
  db
    .deleteFrom('skill_trap')
    .where('id', '=', p('id'))
    .where('version', '=', p('version'))
    .where('at_ms', '<', p('beforeMs')),
);

/** Counts a trap, forgets those before the window, and gives what is left, the oldest first. */
export function addTrap(tx: Transaction, trap: TrapRow, sinceMs: number): readonly TrapRow[] {
  const { id, version } = trap;
  tx.run(deleteTraps, { id, version, beforeMs: sinceMs });
  tx.run(replaceTrap, trap);
  return tx.all(selectTraps, { id, version });
}

/** Ends the count: it worked, or an operator has looked at it. */
export function forgetTraps(tx: Transaction, { id, version }: SkillRef): void {
  tx.run(deleteTraps, { id, version, beforeMs: Number.MAX_SAFE_INTEGER });
}
