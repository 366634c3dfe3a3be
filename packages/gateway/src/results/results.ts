import { canonicalize } from '@palisade/sdk';
import type { Json } from '../core/json.ts';
import type { Usage } from '../core/limits.ts';
import { fail, type Outcome, refuse } from '../core/outcome.ts';
import { adHoc, builder, insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import { pruneKeys, type ResultRow, type ResultTables } from './keys.ts';

/*
 * The results of ended calls, kept for as long as the operator configured: what a caller got, so that it can be read
 * again, and returned again when the call is repeated with the same idempotency key. They prove nothing: the journal
 * does, and has digests only.
 */

export type ResultTerms = { readonly keepForMs: number; readonly keepOutputBytes: number };

export type KeptResult = Readonly<
  Pick<ResultRow, 'tenant' | 'principal' | 'run' | 'session' | 'door' | 'tool' | 'status' | 'message'>
> & {
  readonly callId: string;
  readonly atMs: number;
  readonly code: Outcome['code'];
  readonly remedy: string | null;
  readonly output: Json;
  /** False: the output was too large to keep, and `output` is null. */
  readonly isOutputKept: boolean;
  readonly truncated: boolean;
  readonly usage: Usage;
  readonly receiptSeq: number;
};

export type Keeping = Pick<
  KeptResult,
  'callId' | 'tenant' | 'principal' | 'run' | 'session' | 'door' | 'tool'
> & {
  readonly outcome: Outcome;
  readonly usage: Usage;
  readonly receiptSeq: number;
  readonly atMs: number;
};

const db = builder<ResultTables>();
const query = queries<ResultTables>();

const insert = insertInto<ResultRow>('call_result', 'keep');
const selectOne = query<{ call: string }>()((db, p) =>
  db.selectFrom('call_result').selectAll().where('call', '=', p('call')),
);

/** Keeps what the caller gets; for a call that ends twice, the first. */
export function keepResult(tx: Transaction, keeping: Keeping, terms: ResultTerms): void {
  tx.run(insert, rowOf(keeping, terms));
}

export function readResult(reader: Reader, callId: string): KeptResult | null {
  const row = reader.get(selectOne, { call: callId });
  return row === undefined ? null : resultOf(row);
}

type ListWanted = {
  readonly tenant: string;
  /** Null: of all principals in the tenant. */
  readonly principal: string | null;
  /** A label, or the id of a session. */
  readonly run?: string;
  readonly after: string | null;
  readonly limit: number;
};

/** The newest first. */
export function listResults(reader: Reader, wanted: ListWanted): readonly KeptResult[] {
  const { tenant, principal, run, after, limit } = wanted;
  let rows = db.selectFrom('call_result').selectAll().where('tenant', '=', tenant);
  if (principal !== null) rows = rows.where('principal', '=', principal);
  if (run !== undefined) rows = rows.where((eb) => eb.or([eb('run', '=', run), eb('session', '=', run)]));
  if (after !== null) rows = rows.where('call', '<', after);
  return reader.all(adHoc(rows.orderBy('call', 'desc').limit(limit)), {}).map(resultOf);
}

/** The outcome as the caller got it; an output that was not kept is null. */
export function outcomeOf(kept: KeptResult): Outcome {
  const { status, code, message, remedy, output, truncated, usage } = kept;
  if (status === 'ok') {
    return { status, code: 'ok', output, ...(truncated ? { truncated } : {}), usage };
  }
  if (status === 'refused') return refuse(code as Parameters<typeof refuse>[0], message, remedy ?? undefined);
  const facts = { output, truncated: truncated || !kept.isOutputKept, usage };
  return fail(code as Parameters<typeof fail>[0], message, remedy === null ? facts : { ...facts, remedy });
}

function rowOf({ outcome, usage, ...keeping }: Keeping, { keepOutputBytes }: ResultTerms): ResultRow {
  const output = outcome.status === 'refused' ? null : outcome.output;
  const text = canonicalize(output);
  return {
    call: keeping.callId,
    tenant: keeping.tenant,
    principal: keeping.principal,
    run: keeping.run,
    session: keeping.session,
    door: keeping.door,
    tool: keeping.tool,
    at_ms: keeping.atMs,
    status: outcome.status,
    code: outcome.code,
    message: outcome.status === 'ok' ? '' : outcome.message,
    remedy: outcome.status === 'ok' ? '' : outcome.remedy,
    output_json: output === null || Buffer.byteLength(text) <= keepOutputBytes ? text : '',
    is_truncated: outcome.status !== 'refused' && outcome.truncated ? 1 : 0,
    usage_json: JSON.stringify(usage),
    seq: keeping.receiptSeq,
  };
}

function resultOf(row: ResultRow): KeptResult {
  const { call, at_ms, output_json, is_truncated, usage_json, seq, ...same } = row;
  return {
    ...same,
    callId: call,
    atMs: at_ms,
    code: row.code as KeptResult['code'],
    remedy: row.status === 'ok' ? null : row.remedy,
    output: output_json === '' ? null : (JSON.parse(output_json) as Json),
    isOutputKept: output_json !== '',
    truncated: is_truncated === 1,
    usage: JSON.parse(usage_json) as Usage,
    receiptSeq: seq,
  };
}

/** How many are dropped at a time: more than one call ever adds, few enough that no call waits for it. */
const MOST_AT_ONCE = 64;

const dropResults = query<{ beforeMs: number; most: number }>()((db, p) =>
  db
    .deleteFrom('call_result')
    .where('call', 'in', (eb) =>
      // The oldest ids are those of the oldest calls.
      eb.selectFrom('call_result').select('call').orderBy('call').limit(p('most')),
    )
    .where('at_ms', '<', p('beforeMs')),
);

const dropLogs = query<{ beforeMs: number; most: number }>()((db, p) =>
  db
    .deleteFrom('call_log')
    .where('call', 'in', (eb) => eb.selectFrom('call_log').select('call').orderBy('call').limit(p('most')))
    .where('at_ms', '<', p('beforeMs')),
);

export function pruneResults(tx: Transaction, beforeMs: number): void {
  tx.run(dropResults, { beforeMs, most: MOST_AT_ONCE });
  tx.run(dropLogs, { beforeMs, most: MOST_AT_ONCE });
  pruneKeys(tx, beforeMs);
}
