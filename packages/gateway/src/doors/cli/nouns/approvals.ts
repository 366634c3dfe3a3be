import { isoTime } from '../../../core/clock.ts';
import { inert } from '../../../core/hostile-text.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { choiceOf, numberOf, textOf } from '../input.ts';
import { operate } from '../operate.ts';
import type { Printer } from '../printer.ts';
import type { Invocation, VerbRun } from '../verb.ts';

const SHOWN_INPUT_CHARS = 40;
const STATES = ['pending', 'approved', 'denied', 'used', 'expired'] as const;

export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const [state, cursor] = [choiceOf(invocation, 'only', STATES), textOf(invocation, 'cursor')];
  const page = await operate(invocation, 'listApprovals', { limit, state, cursor });
  return print.result(page, () => {
    print.table(
      ['ID', 'STATE', 'WHO', 'TOOL', 'INPUT', 'EXPIRES'],
      page.approvals.map((each) => [
        ...[each.id, each.state, each.principal, each.tool],
        ...[shortInput(each.inputText), isoTime(each.expiresAtMs)],
      ]),
      'There are no approval requests.',
    );
    print.more('palisade approvals list --cursor', page.cursor);
  });
}

function shortInput(text: string): string {
  if (text === '') return '-';
  return text.length > SHOWN_INPUT_CHARS ? `${text.slice(0, SHOWN_INPUT_CHARS)}…` : text;
}

export async function show(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const approval = await operate(invocation, 'getApproval', { id: args[0] });
  return print.result(approval, () => printApproval(print, approval));
}

function printApproval(print: Printer, approval: ResultOf<'getApproval'>): void {
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

async function decide(invocation: Invocation, verdict: 'approved' | 'denied'): Promise<number> {
  const { args, print } = invocation;
  const input = { id: args[0], verdict, note: textOf(invocation, 'note') };
  const approval = await operate(invocation, 'decideApproval', input);
  return print.result(approval, () => {
    const style = verdict === 'approved' ? 'green' : 'yellow';
    print.note(verdict, style, `  ${approval.id}  ${approval.tool} for ${approval.principal}`);
    if (verdict === 'approved') print.next('repeat the identical call; it now runs once');
  });
}
