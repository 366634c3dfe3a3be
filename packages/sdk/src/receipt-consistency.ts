import { CODES, type CodeKind } from './codes.table.ts';
import type { RingKey } from './key-document.ts';
import { keyInUse } from './key-ring.ts';
import type { ReceiptStatus, Statement } from './receipt.ts';
import { type Check, judge, note } from './report.ts';

const STATUS_OF_KIND: Readonly<Record<CodeKind, ReceiptStatus>> = {
  ok: 'ok',
  refused: 'refused',
  usage: 'refused',
  failed: 'failed',
  fault: 'failed',
};

/** The checks of what a well-formed receipt may still contradict; each is noted, none depends on another. */
export function checkConsistency(checks: Check[], statement: Statement, key: RingKey): void {
  note(checks, 'The key was in use when the call ended', keyInUse(key, statement.predicate.call.endedAt));
  note(checks, 'The status agrees with the code', statusAgrees(statement));
  note(checks, 'The execution agrees with the status', executionAgrees(statement));
  note(checks, 'The times are in order', timesInOrder(statement));
  note(checks, 'The output is described if and only if it is a subject', outputAgrees(statement));
}

function statusAgrees({ predicate: { outcome } }: Statement) {
  const expected = STATUS_OF_KIND[CODES[outcome.code].kind];
  const is = `status "${outcome.status}" with code "${outcome.code}"`;
  return judge(outcome.status === expected, is, `${is}, expected status "${expected}"`);
}

function executionAgrees({ predicate: { call, execution, outcome } }: Statement) {
  if (outcome.status === 'refused') {
    const nothingRan = execution === null && call.startedAt === null;
    return judge(
      nothingRan,
      'refused, nothing ran',
      'refused, expected "execution" and "call.startedAt" to be null',
    );
  }
  const where = execution === null ? 'nothing ran' : `ran on tier "${execution.tier}"`;
  return judge(
    outcome.status !== 'ok' || execution !== null,
    where,
    'ok, expected "execution" to say where it ran',
  );
}

function timesInOrder({ predicate: { call } }: Statement) {
  const { receivedAt, endedAt } = call;
  const startedAt = call.startedAt ?? receivedAt;
  const ordered = receivedAt <= startedAt && startedAt <= endedAt;
  const is = `received "${receivedAt}", started ${JSON.stringify(call.startedAt)}, ended "${endedAt}"`;
  return judge(ordered, is, `${is}, expected no step before the one it follows`);
}

function outputAgrees({ subject, predicate: { output } }: Statement) {
  const isSubject = subject.length === 2;
  const is = isSubject ? 'an output is a subject' : 'no output is a subject';
  return judge(isSubject === (output !== null), is, `${is}, expected field "predicate.output" to agree`);
}
