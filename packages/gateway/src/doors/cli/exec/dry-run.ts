import { CODES } from '@palisade/sdk';
import type { CheckedCall } from '../../../core/checked-call.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import type { ProcessLimits } from '../../../core/process.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { checkCall, type Explained, explainNow } from '../../../operations/explain-call.ts';
import { LIMIT_NAMES } from '../../../runner/input.ts';
import type { PlannedCommand } from '../../../tiers/tier.ts';
import { callOf } from '../asked-call.ts';
import type { Wanted } from '../call-once.ts';
import { printExplanation } from '../explained-call.ts';
import { textOf } from '../input.ts';
import type { Printer } from '../printer.ts';
import { shellWord } from '../shell-word.ts';
import type { Invocation } from '../verb.ts';

/** Shows what a command would be, how it would be started and what the policies say; it is neither run nor recorded. */
export async function showPlan(invocation: Invocation, wanted: Wanted): Promise<number> {
  const { edge, print } = invocation;
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const run = textOf(invocation, 'run') ?? null;
    const checked = await checkCall(gateway, callOf(edge, { ...wanted, tenant, run }));
    const planned = await planOf(gateway, checked);
    const explained = explainNow(gateway, checked, edge.clock.nowMs());
    const plan = documentOf(checked, planned);
    const principal = formatPrincipal(wanted.principal);
    const { explanation, approval } = explained;
    if (print.json) print.document({ principal, ...plan, policy: { ...explanation, approval } });
    else printPlan(print, plan, { title: `${principal} runs ${plan.executable}`, explained });
    return explanation.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  } finally {
    await gateway.close();
  }
}

/** Refuses like a call does where the tier cannot hold the command. */
async function planOf({ executors }: Gateway, checked: CheckedCall): Promise<PlannedCommand> {
  const tier = executors[checked.tier];
  const refused = await tier?.refusal?.(checked);
  if (refused) throw new CodedError(refused.code, refused.message, { remedy: refused.remedy });
  const planned = await tier?.describe?.(checked);
  if (planned) return planned;
  throw new CodedError('tier/unenforceable', `Cannot plan the command: there is no tier "${checked.tier}"`);
}

type PlanDocument = ReturnType<typeof documentOf>;

function documentOf({ process, tier }: CheckedCall, { executor, limits, ...words }: PlannedCommand) {
  if (process === null) throw new TypeError('Cannot show the plan: the call is no command');
  const { terms, facts } = process;
  const { executable, executableSha256, argv, workspace, cwd, env, egress, stdin } = terms;
  const { egressHosts, secrets } = terms;
  return {
    ...{ executable, executableSha256, kind: facts.kind, argv },
    ...{ tier, executor, workspace, cwd, env, egress, egressHosts, secrets },
    stdinBytes: stdin === null ? null : Buffer.byteLength(stdin),
    paths: facts.paths,
    hosts: facts.hosts,
    limits: limitsInWords(limits),
    launch: words,
  };
}

function limitsInWords(limits: ProcessLimits): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(LIMIT_NAMES).map(([word, name]) => [word, limits[name]]));
}

function printPlan(
  print: Printer,
  plan: PlanDocument,
  { title, explained }: { title: string; explained: Explained },
): void {
  const { launch } = plan;
  const row = (name: string, value: string) => print.styled('dim', name.padEnd(12), value);
  row('program', `${plan.executable} (${plan.kind})`);
  row('sha256', plan.executableSha256);
  row('words', spell(plan.argv));
  row('tier', `${plan.tier} (${plan.executor})`);
  row('workspace', plan.workspace);
  row('cwd', plan.cwd);
  row('environment', spell(Object.entries(plan.env).map(([name, value]) => `${name}=${value}`)));
  row('input', plan.stdinBytes === null ? 'none' : `${plan.stdinBytes} bytes`);
  row('egress', plan.egress);
  row('reaches', spell(plan.egressHosts));
  row('secrets', spell(plan.secrets));
  row('paths', spell(plan.paths));
  row('hosts', spell(plan.hosts));
  for (const [name, value] of Object.entries(plan.limits)) row('limit', `${name}=${value}`);
  row('launcher', spell(launch.words));
  for (const line of optionLines(launch.args)) row('option', line);
  row('told', spell(launch.told));
  print.line();
  printExplanation(print, title, explained);
}

/** Words as a shell would take them, so that each can be told from the next. */
function spell(words: readonly string[]): string {
  if (words.length === 0) return 'none';
  return words.map(shellWord).join(' ');
}

/** One option a line with what belongs to it. */
function optionLines(args: readonly string[]): string[] {
  const lines: string[][] = [];
  for (const word of args) {
    const last = lines.at(-1);
    if (last === undefined || word.startsWith('--')) lines.push([word]);
    else last.push(word);
  }
  return lines.map(spell);
}
