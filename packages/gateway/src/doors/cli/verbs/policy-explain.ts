import { CODES } from '@palisade/sdk';
import { formatPrincipal } from '../../../core/principal.ts';
import { checkCall, explainNow } from '../../../operations/explain-call.ts';
import { explanationDocument } from '../../../operations/policies.ts';
import { callOf } from '../asked-call.ts';
import { printExplanation } from '../explained-call.ts';
import { principalOf, readInput, textOf, timeoutOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, edge, print } = invocation;
  const principal = principalOf(invocation);
  const timeoutMs = timeoutOf(invocation);
  const rawInput = await readInput(invocation);
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const [tool = ''] = args;
    const run = textOf(invocation, 'run') ?? null;
    const checked = await checkCall(
      gateway,
      callOf(edge, { principal, tenant, tool, rawInput, run, timeoutMs }),
    );
    const { explanation, approval } = explainNow(gateway, checked, edge.clock.nowMs());
    const who = formatPrincipal(principal);
    if (print.json) print.document(explanationDocument(principal, tool, { explanation, approval }));
    else printExplanation(print, `${who} calls ${tool}`, { explanation, approval });
    return explanation.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  } finally {
    await gateway.close();
  }
}
