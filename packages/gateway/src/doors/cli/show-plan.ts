import { CODES } from '@palisade/sdk';
import type { CheckedCall } from '../../core/checked-call.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { checkCall, explainNow } from '../../operations/explain-call.ts';
import type { ResultOf } from '../../operations/operate.ts';
import { callOf, type Wanted } from './make-call.ts';
import { withGateway } from './opened.ts';
import type { FactRow, Printer } from './printer.ts';
import type { Invocation } from './verb.ts';

type Plan<Document> = {
  readonly planOf: (checked: CheckedCall, gateway: Gateway) => Document | Promise<Document>;
  readonly rowsOf: (plan: Document) => readonly FactRow[];
  /** What is run, in the title of the explanation. */
  readonly titleOf: (plan: Document) => string;
};

/** Shows how a call would be run and what the policies decide; it is neither run nor recorded. */
export function showPlan<Document extends object>(
  invocation: Invocation,
  wanted: Wanted,
  { planOf, rowsOf, titleOf }: Plan<Document>,
): Promise<number> {
  const { edge, print } = invocation;
  return withGateway(invocation, async (gateway) => {
    const checked = await checkCall(gateway, callOf(invocation, gateway, wanted));
    const plan = await planOf(checked, gateway);
    const explained = explainNow(gateway, checked, edge.clock.nowMs());
    const principal = formatPrincipal(wanted.principal);
    print.result({ principal, ...plan, policy: explained }, () => {
      print.facts(rowsOf(plan), 12);
      print.line();
      printExplanation(print, `${principal} runs ${titleOf(plan)}`, explained);
    });
    return explained.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  });
}

const VERDICTS = {
  allow: 'allowed',
  ask: 'needs approval',
  deny: 'denied',
  error: 'denied by an error',
} as const;

const REQUEST_STATES = {
  pending: 'is open: no one has decided it yet',
  approved: 'is approved: the call would run with it, once',
  denied: 'was denied: the call is refused until the request expires',
  expired: 'has expired: the call would ask again',
} as const;

type Explained = Omit<ResultOf<'explainCall'>, 'principal' | 'tool'>;

/** What policies see of where a call comes from, in words. */
function fromWords(from: Explained['from']): string {
  return Object.entries(from)
    .map(([name, value]) => (value === null ? `no ${name}` : `${name} ${value}`))
    .join(', ');
}

/** Prints the verdict and, policy by policy, what it comes from. */
export function printExplanation(print: Printer, title: string, explained: Explained): void {
  const { verdict, from, capabilities, decidedBy, errors, policies, differences, setDigest, approval } =
    explained;
  print.styled(
    verdict === 'allow' ? 'green' : verdict === 'ask' ? 'yellow' : 'red',
    VERDICTS[verdict],
    `  ${title}`,
  );
  print.line(`policy set ${setDigest ?? 'none'}`);
  print.line(`from ${fromWords(from)}`);
  if (capabilities.length > 0) print.line(`capabilities ${capabilities.join(', ')}`);
  if (approval !== null) print.line(`approval ${approval.id} ${REQUEST_STATES[approval.state]}`);
  for (const { id, file, effect } of decidedBy) print.line(`decided by ${effect} "${id}" (${file})`);
  if (decidedBy.length === 0 && verdict !== 'allow')
    print.line('no policy matched: a call that no policy permits is denied');
  for (const { policy, message } of errors) print.line(`error in ${policy ?? 'the request'}: ${message}`);
  print.line();
  for (const { id, effect, matched, parts } of policies) {
    print.line(`${matched ? 'matches' : '       '}  ${effect} "${id}"`);
    for (const { kind, text, state } of parts)
      if (state !== 'holds') print.block('           ', `${kind} ${state}: ${text}`);
  }
  if (differences.length > 0) print.line();
  for (const sentence of differences) print.block('→ ', sentence, 'cyan');
}
