import { canonicalize, type JournalRecord } from '@palisade/sdk';
import { isoTime } from '../../../core/clock.ts';
import { endingIn } from '../../../operations/record-document.ts';
import { choiceOf, numberOf, parsedOf, textOf } from '../input.ts';
import { withRecords } from '../opened.ts';
import { type Opening, operate, operateOn, operateToFile, operationVerb } from '../operate.ts';
import { writeOut } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** The largest page of the operation. */
const MOST_AT_ONCE = 1_000;
const SUMMARY_CHARS = 60;

/** The kinds of records, as docs/journal.md describes them. */
export const RECORD_KINDS = [
  ...['founded', 'intent', 'ended', 'refused', 'fault', 'clock-accepted', 'key-rotated'],
  ...['policy-loaded', 'policy-replaced', 'policy-refused', 'policy-crashed'],
  ...['approval-asked', 'approval-decided', 'token-created', 'token-revoked'],
  ...['session-begun', 'session-ended'],
  ...['skill-installed', 'skill-audited', 'skill-changed', 'skill-refused', 'trust-changed'],
  ...['skill-pushed', 'skill-pulled'],
  ...['upstream-pinned', 'upstream-held', 'upstream-changed', 'upstream-accepted'],
  ...['vault-founded', 'vault-rotated', 'secret-set', 'secret-removed', 'secret-used'],
  ...['workspace-restored', 'workspace-not-restored', 'package-pinned', 'package-removed'],
  ...['storage-deleted', 'channel-published'],
];

type RecordPage = { readonly records: readonly JournalRecord[]; readonly cursor: string | null };

export async function tail(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  const page = await searchPages(invocation, {}, limit);
  const newest = page.records.toReversed();
  if (flags.follow !== true) return print.result({ records: newest }, () => printRecords(print, newest));
  if (print.json) for (const record of newest) print.document(record);
  else printRecords(print, newest);
  await follow(invocation, newest.at(-1)?.seq ?? 0);
  return 0;
}

/** Prints new records, one a line, until Ctrl-C. */
async function follow(invocation: Invocation, after: number): Promise<void> {
  const { print } = invocation;
  await withRecords(invocation, async (records) => {
    const input = { after: String(after) };
    const { events } = await operateOn(invocation, records, 'followJournal', input);
    for await (const { data } of events) {
      const record = data as unknown as JournalRecord;
      if (print.json) print.document(record);
      else print.line(cellsOf(record).slice(0, -1).join('  '));
    }
  });
}

export const show = operationVerb(
  'getRecord',
  ({ args: [seq] }) => ({ seq }),
  ({ records }, { print }) => {
    for (const record of records) print.value(record);
  },
);

export async function search(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  const order = flags['oldest-first'] === true ? 'oldest' : 'newest';
  const [kind, principal, tool, call, cursor] = ['kind', 'principal', 'tool', 'call', 'cursor'].map((name) =>
    textOf(invocation, name),
  );
  const [from, to] = ['from', 'to'].map((name) =>
    parsedOf(invocation, name, readTime, 'a time like 2026-01-31T12:00:00Z'),
  );
  const terms = { kind, principal, tool, call, from, to, order, cursor };
  const page = await searchPages(invocation, terms, limit);
  if (page.records.length === 0 && kind !== undefined) choiceOf(invocation, 'kind', RECORD_KINDS);
  return print.result(page, () => {
    printRecords(print, page.records, 'No record matches.');
    print.more('the same search with --cursor', page.cursor);
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

function readTime(raw: string): string | null {
  const ms = /^\d{4}-\d{2}-\d{2}/.test(raw) ? Date.parse(raw) : Number.NaN;
  return Number.isNaN(ms) ? null : isoTime(ms);
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
  await operateToFile(invocation, 'proveRecord', { seq: invocation.args[0] }, '\n');
  return 0;
}

export async function receipt(invocation: Invocation): Promise<number> {
  const { args, flags, print } = invocation;
  const [call = ''] = args;
  const envelope = await withRecords(invocation, (records) => receiptOf(invocation, records, call));
  if (flags.decode === true) {
    const statement: unknown = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'));
    return print.result(statement, () => print.value(statement));
  }
  await writeOut(invocation, [`${canonicalize(envelope)}${flags.out === undefined ? '\n' : ''}`]);
  return 0;
}

type Envelope = { readonly payload: string };

/** The signed receipt of a call, from the record of its ending: it needs no gateway. */
export async function receiptOf(invocation: Invocation, opened: Opening, call: string): Promise<Envelope> {
  const { records } = await operateOn(invocation, opened, 'getRecord', { seq: call });
  return endingIn(records, call).body.envelope as Envelope;
}

function printRecords(print: Printer, records: readonly JournalRecord[], none?: string): void {
  print.table(['SEQ', 'TIME', 'KIND', 'PRINCIPAL', 'TOOL', 'CALL', 'WHAT'], records.map(cellsOf), none);
}

function cellsOf({ seq, at, kind, principal, tool, call, body }: JournalRecord): readonly string[] {
  const skill = typeof body.skill === 'string' ? skillOf(body) : null;
  const { code, verdict, approval, incident, digest, act, publisher, channel, reference } = body;
  const words = [skill, act, publisher, channel, reference, code, verdict, approval, incident, digest].filter(
    (word) => typeof word === 'string',
  );
  const summary = words.join(' ').slice(0, SUMMARY_CHARS);
  return [String(seq), at, kind, principal ?? '-', tool ?? '-', call ?? '-', summary];
}

function skillOf({ skill, version, event, keys }: JournalRecord['body']): string {
  if (version === undefined) return `${skill}${keys === undefined ? '' : `: ${keys} keys`}`;
  return `${skill}@${version} ${event ?? ''}`;
}
