import { sql } from 'kysely';
import { type Placeholder, queries } from '../store/query.ts';
import type { Reader } from '../store/transaction.ts';
import { type Approval, approvalOf, type ShownState } from './approval.ts';
import type { ApprovalState, ApprovalTables } from './tables.ts';

/** Shorter beginnings of an id are the same for most requests of a day. */
const MIN_PREFIX_CHARS = 6;

export type ListAsked = {
  readonly state?: ShownState;
  /** Only those of this tenant; left out: of all. */
  readonly tenant?: string;
  /** Only those that this principal asked for; left out: of all. */
  readonly principal?: string;
  /** The id of the last request already seen. */
  readonly after?: string;
  readonly limit: number;
  readonly nowMs: number;
};

type Asker = { tenant: string | null; principal: string | null };
type Page = Asker & { beforeSeq: number; nowMs: number; limit: number };

const query = queries<ApprovalTables>();

const LISTS = {
  all: query<Page>()((db, p) =>
    db
      .selectFrom('approval')
      .selectAll()
      .where('seq', '<', p('beforeSeq'))
      .where(isOf(p))
      .orderBy('seq', 'desc')
      .limit(p('limit')),
  ),
  pending: inState(['pending'], '>'),
  approved: inState(['approved'], '>'),
  expired: inState(['pending', 'approved'], '<='),
  denied: inState(['denied']),
  used: inState(['used']),
} as const;

/** Null stands for everybody. */
function isOf(p: Placeholder<Page>) {
  const [tenant, principal] = [p('tenant'), p('principal')];
  return sql<boolean>`(${tenant} is null or tenant = ${tenant}) and (${principal} is null or principal = ${principal})`;
}

function inState(states: readonly ApprovalState[], expiry?: '>' | '<=') {
  return query<Page>()((db, p) => {
    const some = db
      .selectFrom('approval')
      .selectAll()
      .where('state', 'in', states)
      .where('seq', '<', p('beforeSeq'))
      .where(isOf(p))
      .orderBy('seq', 'desc')
      .limit(p('limit'));
    return expiry === undefined ? some : some.where('expires_at_ms', expiry, p('nowMs'));
  });
}

const selectById = query<{ id: string }>()((db, p) =>
  db.selectFrom('approval').selectAll().where('id', '=', p('id')),
);

const selectByRange = query<{ from: string; to: string }>()((db, p) =>
  db.selectFrom('approval').selectAll().where('id', '>=', p('from')).where('id', '<', p('to')).limit(2),
);

/** A page of requests, the newest first; `after` an unknown id there is nothing. */
export function list(reader: Reader, asked: ListAsked): readonly Approval[] {
  const { state, after, limit, nowMs, tenant = null, principal = null } = asked;
  const beforeSeq =
    after === undefined ? Number.MAX_SAFE_INTEGER : (reader.get(selectById, { id: after })?.seq ?? 0);
  return reader.all(LISTS[state ?? 'all'], { beforeSeq, nowMs, limit, tenant, principal }).map(approvalOf);
}

/** The request with that id, or the only one whose id begins so; null when there is none or more than one. */
export function show(reader: Reader, id: string): Approval | null {
  const exact = reader.get(selectById, { id });
  if (exact !== undefined) return approvalOf(exact);
  if (id.length < MIN_PREFIX_CHARS) return null;
  // Boundary: a range, not a LIKE, so that no character of the given text is a wildcard.
  const [found, other] = reader.all(selectByRange, { from: id, to: `${id}\u{10ffff}` });
  return found === undefined || other !== undefined ? null : approvalOf(found);
}
