import { stateAt } from '../../../approval/approval.ts';
import { type ListAsked, list } from '../../../approval/requests.ts';
import { isoTime } from '../../../core/clock.ts';
import { approvalDocument } from '../../../operations/approvals.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

const SHOWN_INPUT_CHARS = 40;
const STATES = ['pending', 'approved', 'denied', 'used', 'expired'] as const;

export async function run(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const nowMs = edge.clock.nowMs();
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const [only, after] = [textOf(invocation, 'only'), textOf(invocation, 'cursor')];
  const state = STATES.find((name) => name === only);
  if (only !== undefined && state === undefined)
    throw wrongUsage(`Cannot list "${only}": expected one of ${STATES.join(', ')}`);
  const asked: ListAsked = {
    limit,
    nowMs,
    ...(state === undefined ? {} : { state }),
    ...(after === undefined ? {} : { after }),
  };
  const records = await invocation.openRecords();
  try {
    const approvals = list(records.store, asked);
    const cursor = approvals.length === limit ? (approvals.at(-1)?.id ?? null) : null;
    if (print.json) {
      print.document({
        approvals: approvals.map((approval) => approvalDocument(approval, nowMs)),
        cursor,
      });
      return 0;
    }
    if (approvals.length === 0) print.line('There are no approval requests.');
    else {
      print.table(
        ['ID', 'STATE', 'WHO', 'TOOL', 'INPUT', 'EXPIRES'],
        approvals.map((approval) => {
          const { id, principal, tool, inputText, expiresAtMs } = approval;
          return [id, stateAt(approval, nowMs), principal, tool, shownInput(inputText), isoTime(expiresAtMs)];
        }),
      );
    }
    if (cursor !== null) print.note(`More: palisade approvals list --cursor ${cursor}`);
    return 0;
  } finally {
    await records.close();
  }
}

function shownInput(text: string): string {
  if (text === '') return '-';
  return text.length > SHOWN_INPUT_CHARS ? `${text.slice(0, SHOWN_INPUT_CHARS)}…` : text;
}
