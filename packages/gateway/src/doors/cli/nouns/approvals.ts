import { type ListAsked, list as listApprovals, show as showApproval } from '../../../approval/list.ts';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { inert } from '../../../core/hostile-text.ts';
import { answerApproval } from '../../../invoke/administer.ts';
import { type ApprovalDocument, approvalDocument } from '../../documents/approval.ts';
import { choiceOf, numberOf, principalOf, textOf } from '../input.ts';
import { withGateway, withRecords } from '../opened.ts';
import type { Printer } from '../printer.ts';
import type { Invocation, VerbRun } from '../verb.ts';

const SHOWN_INPUT_CHARS = 40;
const STATES = ['pending', 'approved', 'denied', 'used', 'expired'] as const;

export async function list(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const nowMs = edge.clock.nowMs();
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const [state, after] = [choiceOf(invocation, 'only', STATES), textOf(invocation, 'cursor')];
  const asked: ListAsked = {
    limit,
    nowMs,
    ...(state === undefined ? {} : { state }),
    ...(after === undefined ? {} : { after }),
  };
  return withRecords(invocation, ({ store }) => {
    const approvals = listApprovals(store, asked).map((each) => approvalDocument(each, nowMs));
    const cursor = approvals.length === limit ? (approvals.at(-1)?.id ?? null) : null;
    return print.result({ approvals, cursor }, () => printList(print, approvals, cursor));
  });
}

function printList(print: Printer, approvals: readonly ApprovalDocument[], cursor: string | null): void {
  if (approvals.length === 0) print.line('There are no approval requests.');
  else {
    print.table(
      ['ID', 'STATE', 'WHO', 'TOOL', 'INPUT', 'EXPIRES'],
      approvals.map(({ id, state, principal, tool, inputText, expiresAtMs }) => [
        id,
        state,
        principal,
        tool,
        shortInput(inputText),
        isoTime(expiresAtMs),
      ]),
    );
  }
  if (cursor !== null) print.note(`More: palisade approvals list --cursor ${cursor}`);
}

function shortInput(text: string): string {
  if (text === '') return '-';
  return text.length > SHOWN_INPUT_CHARS ? `${text.slice(0, SHOWN_INPUT_CHARS)}…` : text;
}

export async function show(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const [wanted = ''] = args;
  return withRecords(invocation, ({ store }) => {
    const found = showApproval(store, wanted);
    if (found === null)
      throw new CodedError('approval/unknown', `Cannot show "${wanted}": no such approval request`);
    const approval = approvalDocument(found, edge.clock.nowMs());
    return print.result(approval, () => printApproval(print, approval));
  });
}

function printApproval(print: Printer, approval: ApprovalDocument): void {
  const { id, state, decidedBy, note } = approval;
  print.styled('bold', id, `  ${state}`);
  print.line(`who      ${approval.principal} (tenant ${approval.tenant})`);
  print.line(`tool     ${approval.tool} (risk ${approval.risk})`);
  if (approval.askedTool !== null) print.line(`about    ${inert(approval.askedTool.description)}`);
  print.line(`input    ${approval.inputText || `no longer stored (sha256 ${approval.inputDigest})`}`);
  print.line(`policies ${approval.policies.join(', ') || 'none'}`);
  print.line(`asked    ${isoTime(approval.askedAtMs)}, expires ${isoTime(approval.expiresAtMs)}`);
  if (decidedBy !== null)
    print.line(`decided  ${decidedBy} at ${isoTime(approval.decidedAtMs ?? 0)}${note ? `: ${note}` : ''}`);
  if (state === 'pending')
    print.next(`palisade approvals approve ${id}   or   palisade approvals deny ${id}`);
}

export const approve: VerbRun = (invocation) => decide(invocation, 'approved');

export const deny: VerbRun = (invocation) => decide(invocation, 'denied');

/** Decides one approval request in the name of --as. */
async function decide(invocation: Invocation, verdict: 'approved' | 'denied'): Promise<number> {
  const { args, print } = invocation;
  const [id = ''] = args;
  const by = principalOf(invocation);
  return withGateway(invocation, async (gateway) => {
    const note = textOf(invocation, 'note') ?? null;
    const decided = await answerApproval(gateway, { id, verdict, by, note });
    if (!decided.ok) throw new CodedError(decided.code, decided.message);
    const { approval } = decided;
    return print.result(approvalDocument(approval, gateway.clock.nowMs()), () => {
      const style = verdict === 'approved' ? 'green' : 'yellow';
      print.note(verdict, style, `  ${approval.id}  ${approval.tool} for ${approval.principal}`);
      if (verdict === 'approved') print.next('repeat the identical call; it now runs once');
    });
  });
}
