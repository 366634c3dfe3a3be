import type { CallLog } from '../core/call-log.ts';
import {
  anyText,
  ifPresent,
  list,
  looseObject,
  object,
  orNull,
  readJson,
  whole,
} from '../core/json-shape.ts';
import { flag, required } from '../core/shape.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import type { ResultTables } from './keys.ts';

/*
 * The logs of ended calls, kept exactly as long as their results. A log is what a guest wrote, without secrets; it proves
 * nothing. Calls without one have no row.
 */

const LOG = object({
  lines: list(object({ level: anyText, text: anyText })),
  isCut: flag,
  denied: list(
    object({
      ...{ function: anyText, argument: orNull(anyText), why: anyText, sentence: anyText, remedy: anyText },
      times: whole,
    }),
  ),
  deniedMore: whole,
  trap: list(
    looseObject({
      ...{ function: required(whole), name: required(orNull(anyText)) },
      source: ifPresent(anyText),
    }),
  ),
});

/** More than the longest log that is kept. */
const KEPT_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 16 } as const;

const query = queries<ResultTables>();
const insert = insertInto<ResultTables['call_log']>('call_log', 'keep');
const select = query<{ call: string }>()((db, p) =>
  db.selectFrom('call_log').selectAll().where('call', '=', p('call')),
);

/** Keeps the log of a call beside its result, in the transaction that keeps that. */
export function keepLog(tx: Transaction, callId: string, atMs: number, log: CallLog): void {
  tx.run(insert, { call: callId, at_ms: atMs, log_json: JSON.stringify(log) });
}

/** The log of a call; null where it has none. */
export function readLog(reader: Reader, callId: string): CallLog | null {
  const row = reader.get(select, { call: callId });
  if (row === undefined) return null;
  const read = readJson(row.log_json, KEPT_LIMITS, LOG);
  return read.ok ? read.value : null;
}
