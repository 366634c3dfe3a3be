import { isoTime } from '../../../core/clock.ts';
import { inert } from '../../../core/hostile-text.ts';
import { choiceOf, pageOf, textOf } from '../input.ts';
import { operationVerb } from '../operate.ts';

const SHOWN_INPUT_CHARS = 40;
const STATES = ['pending', 'approved', 'denied', 'used', 'expired'] as const;

export const list = operationVerb(
  'listApprovals',
  (invocation) => ({ ...pageOf(invocation), state: choiceOf(invocation, 'only', STATES) }),
  ({ approvals, cursor }, { print }) => {
    print.table(
      ['ID', 'STATE', 'WHO', 'TOOL', 'INPUT', 'EXPIRES'],
      approvals.map(({ id, state, principal, tool, inputText, expiresAtMs }) => [
        ...[id, state, principal, tool, shortInput(inputText), isoTime(expiresAtMs)],
      ]),
      'There are no approval requests.',
    );
    print.more('palisade approvals list --cursor', cursor);
  },
);

function shortInput(text: string): string {
  if (text === '') return '-';
  return text.length > SHOWN_INPUT_CHARS ? `${text.slice(0, SHOWN_INPUT_CHARS)}…` : text;
}

export const show = operationVerb(
  'getApproval',
  ({ args: [id] }) => ({ id }),
  (approval, { print }) => {
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
  },
);

export const approve = decide('approved');
export const deny = decide('denied');

function decide(verdict: 'approved' | 'denied') {
  return operationVerb(
    'decideApproval',
    (invocation) => ({ id: invocation.args[0], verdict, note: textOf(invocation, 'note') }),
    ({ id, tool, principal }, { print }) => {
      print.note(verdict, verdict === 'approved' ? 'green' : 'yellow', `  ${id}  ${tool} for ${principal}`);
      if (verdict === 'approved') print.next('repeat the identical call; it now runs once');
    },
  );
}
