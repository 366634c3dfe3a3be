import type { JournalRecord } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import type { RecordRow } from '../../journal/head.ts';
import { recordAt, search } from '../../journal/search.ts';
import type { Segments } from '../../journal/segments.ts';
import { recordOf } from '../../operations/record-document.ts';
import type { Printer } from './printer.ts';

/** One line a record, for people. */
export function printRecords(print: Printer, rows: readonly RecordRow[]): void {
  print.table(
    ['SEQ', 'TIME', 'KIND', 'PRINCIPAL', 'TOOL', 'CALL', 'WHAT'],
    rows.map((row) => {
      const { at, kind, principal, tool, call, body } = recordOf(row);
      return [String(row.seq), at, kind, principal ?? '-', tool ?? '-', call ?? '-', summaryOf(body)];
    }),
  );
}

/** All records of a call, or the one record of that number. */
export function findRecords(segments: Segments, wanted: string): readonly RecordRow[] {
  const isSeq = /^[1-9][0-9]{0,15}$/.test(wanted);
  const one = isSeq ? recordAt(segments, Number(wanted)) : undefined;
  const rows = isSeq ? (one === undefined ? [] : [one]) : recordsOfCall(segments, wanted);
  if (rows.length > 0) return rows;
  throw new CodedError(
    'journal/unknown-record',
    `Cannot find "${wanted}": no record has that number or call id`,
  );
}

/** The record that holds the receipt of a call. */
export function endingOf(segments: Segments, wanted: string): RecordRow {
  const ending = findRecords(segments, wanted).find(({ kind }) => kind === 'ended' || kind === 'refused');
  if (ending !== undefined) return ending;
  throw new CodedError(
    'journal/unknown-record',
    `Cannot find the ending of "${wanted}": the call is still running`,
  );
}

function recordsOfCall(segments: Segments, call: string): readonly RecordRow[] {
  return search(segments, { call }, { newestFirst: false, limit: 100, cursor: null }).records;
}

function summaryOf(body: JournalRecord['body']): string {
  const skill = typeof body.skill === 'string' ? `${body.skill}@${body.version} ${body.event ?? ''}` : null;
  const { code, verdict, approval, incident, digest, act, publisher } = body;
  const words = [skill, act, publisher, code, verdict, approval, incident, digest].filter(
    (word) => typeof word === 'string',
  );
  return words.join(' ').slice(0, 60);
}
