import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalize, type JournalRecord } from '@palisade/sdk';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { RecordRow } from '../../../journal/head.ts';
import { recordAt, search as searchRecords } from '../../../journal/search.ts';
import type { Segments } from '../../../journal/segments.ts';
import { hashedRecordOf, recordOf } from '../../../operations/record-document.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { withRecords } from '../opened.ts';
import { operate, operateToFile } from '../operate.ts';
import { writeOut } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** The largest page of the operation. */
const MOST_AT_ONCE = 1_000;
const POLL_MS = 250;
const FOLLOWED_AT_ONCE = 1000;
const SUMMARY_CHARS = 60;

type RecordPage = { readonly records: readonly JournalRecord[]; readonly cursor: string | null };

export async function tail(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  const page = await searchPages(invocation, {}, limit);
  const newest = page.records.toReversed();
  if (flags.follow !== true) return print.result({ records: newest }, () => printRecords(print, newest));
  if (print.json) for (const record of newest) print.document(record);
  else printRecords(print, newest);
  await withRecords(invocation, ({ segments }) => follow(invocation, segments, newest.at(-1)?.seq ?? 0));
  return 0;
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
  const order = flags['oldest-first'] === true ? 'oldest' : 'newest';
  const terms = { ...termsOf(invocation), order, cursor: textOf(invocation, 'cursor') };
  const page = await searchPages(invocation, terms, limit);
  return print.result(page, () => {
    if (page.records.length === 0) print.line('No record matches.');
    else printRecords(print, page.records);
    if (page.cursor !== null) print.note(`More: the same search with --cursor ${page.cursor}`);
  });
}

/** As many records as are wanted, in pages of the size that the operation gives at most. */
async function searchPages(invocation: Invocation, terms: object, limit: number): Promise<RecordPage> {
  const records: JournalRecord[] = [];
  let more: { readonly cursor?: string } = {};
  for (;;) {
    const input = { ...terms, ...more, limit: Math.min(limit - records.length, MOST_AT_ONCE) };
    const page = await operate(invocation, 'searchJournal', input);
    records.push(...page.records);
    if (page.cursor === null || records.length >= limit) return { records, cursor: page.cursor };
    more = { cursor: page.cursor };
  }
}

function termsOf(invocation: Invocation) {
  const [kind, principal, tool, call] = ['kind', 'principal', 'tool', 'call'].map((name) =>
    textOf(invocation, name),
  );
  const [from, to] = [timeOf(invocation, 'from'), timeOf(invocation, 'to')];
  return { kind, principal, tool, call, from, to };
}

function timeOf(invocation: Invocation, name: string): string | undefined {
  const raw = textOf(invocation, name);
  if (raw === undefined) return undefined;
  const ms = /^\d{4}-\d{2}-\d{2}/.test(raw) ? Date.parse(raw) : Number.NaN;
  if (!Number.isNaN(ms)) return isoTime(ms);
  throw wrongUsage(`Cannot use --${name} "${raw}": expected a time like 2026-01-31T12:00:00Z`);
}

export async function exportJournal(invocation: Invocation): Promise<number> {
  const from = numberOf(invocation, 'from', { min: 1, max: Number.MAX_SAFE_INTEGER, absent: 1 });
  const file = await operateToFile(invocation, 'exportJournal', { from: String(from) });
  if (file !== null)
    invocation.print.next(`palisade verify ${file} --key KEYS   (KEYS is from palisade keys export)`);
  return 0;
}

export async function checkpoint(invocation: Invocation): Promise<number> {
  const file = await operateToFile(invocation, 'getCheckpoint', {}, '\n');
  if (file !== null)
    invocation.print.next(
      `keep it where the gateway cannot write, and compare later: palisade journal verify --checkpoint ${file}`,
    );
  return 0;
}

export async function prove(invocation: Invocation): Promise<number> {
  const [wanted = ''] = invocation.args;
  const seq = /^[0-9]+$/.test(wanted)
    ? wanted
    : await withRecords(invocation, ({ segments }) => String(endingOf(segments, wanted).seq));
  await operateToFile(invocation, 'proveRecord', { seq }, '\n');
  return 0;
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
