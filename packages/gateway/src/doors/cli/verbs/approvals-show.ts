import { show } from '../../../approval/requests.ts';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { inert } from '../../../core/hostile-text.ts';
import { approvalDocument } from '../../../operations/approvals.ts';
import type { Invocation } from '../verb.ts';

export async function run({ args, print, edge, openRecords }: Invocation): Promise<number> {
  const [wanted = ''] = args;
  const records = await openRecords();
  try {
    const approval = show(records.store, wanted);
    if (approval === null)
      throw new CodedError('approval/unknown', `Cannot show "${wanted}": there is no such request`);
    const document = approvalDocument(approval, edge.clock.nowMs());
    const { state } = document;
    if (print.json) {
      print.document(document);
      return 0;
    }
    print.styled('bold', approval.id, `  ${state}`);
    print.line(`who      ${approval.principal} (tenant ${approval.tenant})`);
    print.line(`tool     ${approval.tool} (risk ${approval.risk})`);
    if (approval.askedTool !== null) print.line(`about    ${inert(approval.askedTool.description)}`);
    print.line(`input    ${approval.inputText || `no longer kept (sha256 ${approval.inputDigest})`}`);
    print.line(`policies ${approval.policies.join(', ') || 'none'}`);
    print.line(`asked    ${isoTime(approval.askedAtMs)}, expires ${isoTime(approval.expiresAtMs)}`);
    if (approval.decidedBy !== null) {
      print.line(
        `decided  ${approval.decidedBy} at ${isoTime(approval.decidedAtMs ?? 0)}${approval.note ? `: ${approval.note}` : ''}`,
      );
    }
    if (state === 'pending') {
      print.note(
        '→',
        'cyan',
        ` palisade approvals approve ${approval.id}   or   palisade approvals deny ${approval.id}`,
      );
    }
    return 0;
  } finally {
    await records.close();
  }
}
