import { CODES } from '@palisade/sdk';
import { left } from '../../../budget/left.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { type Explanation, explain } from '../../../policy/explain.ts';
import { callOf } from '../asked-call.ts';
import { principalOf, readInput, textOf } from '../input.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, edge, print } = invocation;
  const principal = principalOf(invocation);
  const rawInput = await readInput(invocation);
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const [tool = ''] = args;
    const call = callOf(edge, { principal, tenant, tool, rawInput, run: textOf(invocation, 'run') ?? null });
    const checked = await gateway.registry.check(call);
    if ('status' in checked) throw new CodedError(checked.code, checked.message, { remedy: checked.remedy });
    const nowMs = edge.clock.nowMs();
    const budgetLeft = left(gateway.store, gateway.budgets, checked, nowMs);
    const explanation = explain(gateway.policy, checked, { budgetLeft, approval: null, nowMs });
    if (print.json) print.document({ principal: formatPrincipal(principal), tool, ...explanation });
    else printExplanation(print, `${formatPrincipal(principal)} calls ${tool}`, explanation);
    return explanation.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  } finally {
    await gateway.close();
  }
}

const WORDS = {
  allow: 'allowed',
  ask: 'needs approval',
  deny: 'denied',
  error: 'denied by an error',
} as const;

function printExplanation(print: Printer, title: string, explanation: Explanation): void {
  const { verdict, decidedBy, errors, policies, differences, setDigest } = explanation;
  print.styled(
    verdict === 'allow' ? 'green' : verdict === 'ask' ? 'yellow' : 'red',
    WORDS[verdict],
    `  ${title}`,
  );
  print.line(`policy set ${setDigest ?? 'none'}`);
  for (const { id, file, effect } of decidedBy) print.line(`decided by ${effect} "${id}" (${file})`);
  if (decidedBy.length === 0 && verdict !== 'allow')
    print.line('no policy matched: what is not permitted is denied');
  for (const { policy, message } of errors) print.line(`error in ${policy ?? 'the request'}: ${message}`);
  print.line();
  for (const { id, effect, matched, parts } of policies) {
    print.line(`${matched ? 'matches' : '       '}  ${effect} "${id}"`);
    for (const { kind, text, state } of parts)
      if (state !== 'holds') print.line(`           ${kind} ${state}: ${text}`);
  }
  if (differences.length > 0) print.line();
  for (const sentence of differences) print.styled('cyan', '→ ', sentence);
}
