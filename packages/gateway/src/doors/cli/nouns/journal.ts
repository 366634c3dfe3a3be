import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalize, type JournalRecord } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import { exportLines, proveRecord } from '../../../journal/export.ts';
import { recordAt, search as searchRecords, type Wanted } from '../../../journal/search.ts';
import type { Segments } from '../../../journal/segments.ts';
import type { RecordRow } from '../../../journal/tables.ts';
import { hashedRecordOf, recordOf } from '../../documents/records.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { withRecords } from '../opened.ts';
import { writeOut } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

const POLL_MS = 250;
const FOLLOWED_AT_ONCE = 1000;
const SUMMARY_CHARS = 60;

export async function tail(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  return withRecords(invocation, async ({ segments }) => {
    const page = searchRecords(segments, {}, { newestFirst: true, limit, cursor: null });
    const newest = page.records.map(recordOf).reverse();
    if (flags.follow !== true) return print.result({ records: newest }, () => printRecords(print, newest));
    if (print.json) for (const record of newest) print.document(record);
    else printRecords(print, newest);
    await follow(invocation, segments, newest.at(-1)?.seq ?? 0);
    return 0;
  });
}

/** Prints new records, one a line, until Ctrl-C. */
async function follow({ print, signal }: Invocation, segments: Segments, after: number): Promise<void> {
  let cursor = after;
  while (!signal.aborted) {
    const page = searchRecords(segments, {}, { newestFirst: false, limit: FOLLOWED_AT_ONCE, cursor });
    for (const record of page.records.map(recordOf)) {
      if (print.json) print.document(record);
      else print.line(cellsOf(record).slice(0, -1).join('  '));
    }
    cursor = page.records.at(-1)?.seq ?? cursor;
    if (page.records.length === 0) await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

export async function show(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  return withRecords(invocation, ({ segments }) => {
    const records = findRecords(segments, args[0] ?? '').map(hashedRecordOf);
    return print.result({ records }, () => {
      for (const record of records) print.value(record);
    });
  });
}

export async function search(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  const after = numberOf(invocation, 'cursor', { min: 0, max: Number.MAX_SAFE_INTEGER, absent: -1 });
  const newestFirst = flags['oldest-first'] !== true;
  const wanted = wantedOf(invocation);
  return withRecords(invocation, ({ segments }) => {
    const page = searchRecords(segments, wanted, { newestFirst, limit, cursor: after === -1 ? null : after });
    const [records, { cursor }] = [page.records.map(recordOf), page];
    return print.result({ records, cursor }, () => {
      if (records.length === 0) print.line('No record matches.');
      else printRecords(print, records);
      if (cursor !== null) print.note(`More: the same search with --cursor ${cursor}`);
    });
  });
}

function wantedOf(invocation: Invocation): Wanted {
  const wanted: Record<string, string | number> = {};
  for (const name of ['kind', 'principal', 'tool', 'call']) {
    const value = textOf(invocation, name);
    if (value !== undefined) wanted[name] = value;
  }
  const [fromMs, toMs] = [timeOf(invocation, 'from'), timeOf(invocation, 'to')];
  if (fromMs !== undefined) wanted.fromMs = fromMs;
  if (toMs !== undefined) wanted.toMs = toMs;
  return wanted;
}

function timeOf(invocation: Invocation, name: string): number | undefined {
  const raw = textOf(invocation, name);
  if (raw === undefined) return undefined;
  const ms = /^\d{4}-\d{2}-\d{2}/.test(raw) ? Date.parse(raw) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw wrongUsage(`Cannot use --${name} "${raw}": expected a time like 2026-01-31T12:00:00Z`);
}

export async function exportJournal(invocation: Invocation): Promise<number> {
  const first = numberOf(invocation, 'from', { min: 1, max: Number.MAX_SAFE_INTEGER, absent: 1 });
  return withRecords(invocation, async (records) => {
    const file = await writeOut(invocation, withLineFeeds(exportLines(records, first)));
    if (file !== null)
      invocation.print.next(`palisade verify ${file} --key KEYS   (KEYS is from palisade keys export)`);
    return 0;
  });
}

function* withLineFeeds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

export async function checkpoint(invocation: Invocation): Promise<number> {
  return withRecords(invocation, async ({ store, journal }) => {
    const { envelope } = store.transact((tx) => journal.checkpoint(tx));
    const file = await writeOut(invocation, [`${envelope}\n`]);
    if (file !== null)
      invocation.print.next(
        `keep it where the gateway cannot write, and compare later: palisade journal verify --checkpoint ${file}`,
      );
    return 0;
  });
}

export async function prove(invocation: Invocation): Promise<number> {
  const [wanted = ''] = invocation.args;
  return withRecords(invocation, async (records) => {
    const { segments } = records;
    const row = /^[0-9]+$/.test(wanted) ? findRecords(segments, wanted)[0] : endingOf(segments, wanted);
    await writeOut(invocation, [`${proveRecord(records, row?.seq ?? 0)}\n`]);
    return 0;
  });
}

export async function receipt(invocation: Invocation): Promise<number> {
  const { args, flags, print } = invocation;
  return withRecords(invocation, async ({ segments }) => {
    const { envelope } = recordOf(endingOf(segments, args[0] ?? '')).body as {
      envelope: { payload: string };
    };
    if (flags.decode === true) {
      const statement: unknown = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'));
      return print.result(statement, () => print.value(statement));
    }
    await writeOut(invocation, [`${canonicalize(envelope)}${flags.out === undefined ? '\n' : ''}`]);
    return 0;
  });
}

/** The record that holds the receipt of a call. */
export function endingOf(segments: Segments, call: string): RecordRow {
  const ending = findRecords(segments, call).find(({ kind }) => kind === 'ended' || kind === 'refused');
  if (ending !== undefined) return ending;
  throw new CodedError(
    'journal/unknown-record',
    `Cannot find the ending of "${call}": the call is still running`,
  );
}

/** All records of a call, or the one record of that number. */
function findRecords(segments: Segments, wanted: string): readonly RecordRow[] {
  const isSeq = /^[1-9][0-9]{0,15}$/.test(wanted);
  const one = isSeq ? recordAt(segments, Number(wanted)) : undefined;
  const rows = isSeq ? (one === undefined ? [] : [one]) : recordsOfCall(segments, wanted);
  if (rows.length > 0) return rows;
  throw new CodedError(
    'journal/unknown-record',
    `Cannot find "${wanted}": no record has that number or call id`,
  );
}

function recordsOfCall(segments: Segments, call: string): readonly RecordRow[] {
  return searchRecords(segments, { call }, { newestFirst: false, limit: 100, cursor: null }).records;
}

function printRecords(print: Printer, records: readonly JournalRecord[]): void {
  print.table(['SEQ', 'TIME', 'KIND', 'PRINCIPAL', 'TOOL', 'CALL', 'WHAT'], records.map(cellsOf));
}

function cellsOf({ seq, at, kind, principal, tool, call, body }: JournalRecord): readonly string[] {
  return [String(seq), at, kind, principal ?? '-', tool ?? '-', call ?? '-', summaryOf(body)];
}

function summaryOf(body: JournalRecord['body']): string {
  const skill = typeof body.skill === 'string' ? `${body.skill}@${body.version} ${body.event ?? ''}` : null;
  const { code, verdict, approval, incident, digest, act, publisher } = body;
  const words = [skill, act, publisher, code, verdict, approval, incident, digest].filter(
    (word) => typeof word === 'string',
  );
  return words.join(' ').slice(0, SUMMARY_CHARS);
}
