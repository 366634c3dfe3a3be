import { queries } from '../store/query.ts';
import type { Reader } from '../store/transaction.ts';
import type { ApprovalTables } from './tables.ts';

/** More than a person will look through; each request keeps an input that no budget has paid for. */
export const MAX_OPEN_REQUESTS = 100;

const query = queries<ApprovalTables>();

type Asker = { tenant: string; principal: string; nowMs: number };

const selectCount = query<Asker>()((db, p) =>
  db
    .selectFrom('approval')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('tenant', '=', p('tenant'))
    .where('principal', '=', p('principal'))
    .where('state', '=', 'pending')
    .where('expires_at_ms', '>', p('nowMs')),
);

/** How many requests of this principal in this tenant wait for an answer now. */
export function countOpen(reader: Reader, tenant: string, principal: string, nowMs: number): number {
  return reader.get(selectCount, { tenant, principal, nowMs })?.open ?? 0;
}
