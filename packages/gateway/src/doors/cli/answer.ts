import { CodedError } from '../../core/coded-error.ts';
import { answerApproval } from '../../invoke/administer.ts';
import { approvalDocument } from '../../operations/approvals.ts';
import { principalOf, textOf } from './input.ts';
import type { Invocation } from './verb.ts';

/** Decides one approval request in the name of --as. */
export async function answer(invocation: Invocation, verdict: 'approved' | 'denied'): Promise<number> {
  const { args, print, openGateway } = invocation;
  const [wanted = ''] = args;
  const by = principalOf(invocation);
  const gateway = await openGateway();
  try {
    const decided = await answerApproval(gateway, {
      id: wanted,
      verdict,
      by,
      note: textOf(invocation, 'note') ?? null,
    });
    if (!decided.ok) throw new CodedError(decided.code, decided.message);
    const { approval } = decided;
    if (print.json) print.document(approvalDocument(approval, gateway.clock.nowMs()));
    else {
      print.note(
        verdict,
        verdict === 'approved' ? 'green' : 'yellow',
        `  ${approval.id}  ${approval.tool} for ${approval.principal}`,
      );
      if (verdict === 'approved') print.note('→', 'cyan', ' the identical call now runs once');
    }
    return 0;
  } finally {
    await gateway.close();
  }
}
