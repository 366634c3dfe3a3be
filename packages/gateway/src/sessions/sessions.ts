import type { CallSource, ToolCall } from '../core/call.ts';
import { formatPrincipal } from '../core/principal.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { adHoc, builder, insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import type { SessionRow, SessionTables } from './tables.ts';

/*
 * Sessions: what budgets count a run by. A session is made here and never by a caller: all calls of one principal with one
 * credential, on one device and channel, are one session, whatever connections, processes, doors and revisions of a
 * protocol they come by, until it was idle for a while or is ended by an operator. A caller that reconnects, or names
 * another run, is in the same one. A session begins and is kept alive in the transaction that records its call, so that
 * two processes never begin two.
 *
 * A credential that may begin sessions of its own, for several agents behind it, has an allowance for that, which ending
 * them does not refill. This module reads no clock and decides nothing about a call.
 */

/** Whose session it is. */
export type SessionKey = Readonly<
  Pick<SessionRow, 'tenant' | 'principal' | 'credential' | 'device' | 'channel'>
>;

export type Session = Readonly<ReturnType<typeof sessionOf>>;

/** When a session is over: at `nowMs`, one that was idle for `idleMs`. */
export type SessionTerms = { readonly nowMs: number; readonly idleMs: number };

/** The ids that this gateway gives; a run of this form is a session, and never a label. */
export const SESSION_PREFIX = 'ses_';

export function isSessionId(run: string): boolean {
  return run.startsWith(SESSION_PREFIX);
}

type Owner = Pick<ToolCall, 'principal' | 'tenant'> & { readonly source: CallSource };

export function keyOf({ tenant, principal, source }: Owner): SessionKey {
  const { credential, device = '', channel = '' } = source;
  return { tenant, principal: formatPrincipal(principal), credential, device, channel };
}

const db = builder<SessionTables>();
const query = queries<SessionTables>();

const selectCurrent = query<SessionKey>()((db, p) =>
  db
    .selectFrom('session')
    .selectAll()
    .where('tenant', '=', p('tenant'))
    .where('principal', '=', p('principal'))
    .where('credential', '=', p('credential'))
    .where('device', '=', p('device'))
    .where('channel', '=', p('channel'))
    .where('is_begun', '=', 0)
    .where('ended_at_ms', 'is', null),
);

const selectById = query<{ id: string }>()((db, p) =>
  db.selectFrom('session').selectAll().where('id', '=', p('id')),
);

/** The session that calls of this key are in which name no other; null: the next one begins one. */
export function currentSession(reader: Reader, key: SessionKey, terms: SessionTerms): string | null {
  const row = reader.get(selectCurrent, key);
  return row === undefined || !isOpen(row, terms) ? null : row.id;
}

/** The session of that id, which a caller names as its run; the problem is why it cannot be in it. */
export function namedSession(
  reader: Reader,
  id: string,
  key: SessionKey,
  terms: SessionTerms,
): Result<string, string> {
  const row = reader.get(selectById, { id });
  // Boundary: the session of another caller is answered like one that does not exist.
  if (row === undefined || !isOwn(row, key))
    return reject(`"${id}" is not a session of this caller, expected a label or a session of its own`);
  return isOpen(row, terms)
    ? accept(id)
    : reject(`"${id}" is a session that is over, expected one that is open`);
}

function isOwn(row: SessionRow, key: SessionKey): boolean {
  const { tenant, principal, credential, device, channel } = key;
  return (
    row.tenant === tenant &&
    row.principal === principal &&
    row.credential === credential &&
    row.device === device &&
    row.channel === channel
  );
}

function isOpen({ ended_at_ms, used_at_ms }: SessionRow, { nowMs, idleMs }: SessionTerms): boolean {
  return ended_at_ms === null && nowMs - used_at_ms < idleMs;
}

/** How long after its last use a session is marked as used again: a write for each call would be one too many. */
const TOUCH_EVERY_MS = 1_000;

const touchSession = query<{ id: string; nowMs: number }>()((db, p) =>
  db
    .updateTable('session')
    .set({ used_at_ms: p('nowMs') })
    .where('id', '=', p('id')),
);

const markEnded = query<{ id: string; by: string; nowMs: number }>()((db, p) =>
  db
    .updateTable('session')
    .set({ ended_at_ms: p('nowMs'), ended_by: p('by') })
    .where('id', '=', p('id'))
    .where('ended_at_ms', 'is', null),
);

const insertSession = insertInto<SessionRow>('session');

/**
 * Keeps the session of a call alive, or begins it with this id. False where it is over by now, or where another call has
 * begun the session of this key: then nothing was written, and the call has to look again.
 */
export function enterSession(tx: Transaction, id: string, key: SessionKey, terms: SessionTerms): boolean {
  const own = tx.get(selectById, { id });
  if (own !== undefined) {
    if (!isOpen(own, terms)) return false;
    keepAlive(tx, own, terms.nowMs);
    return true;
  }
  const before = tx.get(selectCurrent, key);
  if (before !== undefined) {
    if (isOpen(before, terms)) return false;
    tx.run(markEnded, { id: before.id, by: '', nowMs: before.used_at_ms + terms.idleMs });
  }
  pruneSessions(tx, terms.nowMs);
  tx.run(insertSession, rowOf(id, key, { isBegun: false, label: '', nowMs: terms.nowMs }));
  return true;
}

/** Marks a session as used: a call of it has ended. */
export function leaveSession(tx: Transaction, id: string, nowMs: number): void {
  const row = tx.get(selectById, { id });
  if (row !== undefined && row.ended_at_ms === null) keepAlive(tx, row, nowMs);
}

function keepAlive(tx: Transaction, { id, used_at_ms }: SessionRow, nowMs: number): void {
  if (nowMs - used_at_ms >= TOUCH_EVERY_MS) tx.run(touchSession, { id, nowMs });
}

type Beginning = { readonly isBegun: boolean; readonly label: string; readonly nowMs: number };

function rowOf(id: string, key: SessionKey, { isBegun, label, nowMs }: Beginning): SessionRow {
  const times = { started_at_ms: nowMs, used_at_ms: nowMs, ended_at_ms: null, ended_by: null };
  return { id, ...key, is_begun: isBegun ? 1 : 0, label, ...times };
}

const selectBegun = query<{ credential: string; sinceMs: number }>()((db, p) =>
  db
    .selectFrom('session')
    .select((eb) => [eb.fn.countAll<number>().as('begun'), eb.fn.min('started_at_ms').as('firstMs')])
    .where('credential', '=', p('credential'))
    .where('is_begun', '=', 1)
    .where((eb) =>
      eb.or([
        eb('started_at_ms', '>', p('sinceMs')),
        eb.and([eb('ended_at_ms', 'is', null), eb('used_at_ms', '>', p('sinceMs'))]),
      ]),
    ),
);

type SessionWanted = {
  readonly id: string;
  readonly key: SessionKey;
  readonly label: string;
  /** How many the credential may have begun in the time that a session may be idle. */
  readonly allowance: number;
};

/** Begins a session of its own for a credential; the problem is that it has begun as many as it may. */
export function beginSession(
  tx: Transaction,
  { id, key, label, allowance }: SessionWanted,
  { nowMs, idleMs }: SessionTerms,
): Result<Session, string> {
  const { begun = 0 } = tx.get(selectBegun, { credential: key.credential, sinceMs: nowMs - idleMs }) ?? {};
  // Boundary: sessions that were ended count as well, or beginning and ending them would be a budget without end.
  if (begun >= allowance)
    return reject(
      `the credential has begun ${begun} of the ${allowance} sessions that it may have at a time`,
    );
  pruneSessions(tx, nowMs);
  const row = rowOf(id, key, { isBegun: true, label, nowMs });
  tx.run(insertSession, row);
  return accept(sessionOf(row, { nowMs, idleMs }));
}

/** Ends a session for good; false where it is over already. The next call that names no other begins a new one. */
export function endSession(tx: Transaction, id: string, by: string, terms: SessionTerms): boolean {
  const row = tx.get(selectById, { id });
  if (row === undefined || !isOpen(row, terms)) return false;
  return tx.run(markEnded, { id, by, nowMs: terms.nowMs }) > 0;
}

/** The session of that id; null where it does not exist. */
export function findSession(reader: Reader, id: string, terms: SessionTerms): Session | null {
  const row = reader.get(selectById, { id });
  return row === undefined ? null : sessionOf(row, terms);
}

type SessionsWanted = SessionTerms & {
  /** Null: of all tenants; of all principals. */
  readonly tenant: string | null;
  readonly principal: string | null;
  readonly isOpen?: boolean | undefined;
  readonly after: string | null;
  readonly limit: number;
};

/** A page of sessions, the newest first; `after` an unknown id there is nothing. */
export function listSessions(reader: Reader, wanted: SessionsWanted): readonly Session[] {
  const { tenant, principal, after, limit, nowMs, idleMs } = wanted;
  let rows = db.selectFrom('session').selectAll();
  if (tenant !== null) rows = rows.where('tenant', '=', tenant);
  if (principal !== null) rows = rows.where('principal', '=', principal);
  if (after !== null) {
    const [row] = reader.all(adHoc(db.selectFrom('session').select('seq').where('id', '=', after)), {});
    rows = rows.where('seq', '<', row?.seq ?? 0);
  }
  if (wanted.isOpen === true)
    rows = rows.where('ended_at_ms', 'is', null).where('used_at_ms', '>', nowMs - idleMs);
  if (wanted.isOpen === false)
    rows = rows.where((eb) =>
      eb.or([eb('ended_at_ms', 'is not', null), eb('used_at_ms', '<=', nowMs - idleMs)]),
    );
  const page = reader.all(adHoc(rows.orderBy('seq', 'desc').limit(limit)), {});
  return page.map((row) => sessionOf(row, { nowMs, idleMs }));
}

/** A session as it is at that time: one that was idle for too long has ended, whether that was written or not. */
function sessionOf(row: SessionRow, { nowMs, idleMs }: SessionTerms) {
  const idleUntilMs = row.used_at_ms + idleMs;
  const endedAtMs = row.ended_at_ms ?? (nowMs < idleUntilMs ? null : idleUntilMs);
  return {
    ...{ id: row.id, tenant: row.tenant, principal: row.principal, credential: row.credential },
    ...{ device: row.device || null, channel: row.channel || null, label: row.label || null },
    isBegun: row.is_begun === 1,
    ...{ startedAtMs: row.started_at_ms, usedAtMs: row.used_at_ms, endedAtMs },
    /** Who ended it; null: no one did. */
    endedBy: row.ended_by || null,
  };
}

/** As long as accounts of budgets are kept that never reset. */
const FORGOTTEN_AFTER_MS = 30 * 24 * 60 * 60_000;
const MOST_AT_ONCE = 16;

const dropOld = query<{ beforeMs: number; most: number }>()((db, p) =>
  db
    .deleteFrom('session')
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('session')
        .select('seq')
        .where('used_at_ms', '<', p('beforeMs'))
        .orderBy('used_at_ms')
        .limit(p('most')),
    ),
);

/** Drops some of the sessions that no call was in for long; a session may not be idle for as long as that. */
function pruneSessions(tx: Transaction, nowMs: number): void {
  tx.run(dropOld, { beforeMs: nowMs - FORGOTTEN_AFTER_MS, most: MOST_AT_ONCE });
}
