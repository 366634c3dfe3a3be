import { CODES } from '@palisade/sdk';
import type { CheckedCall } from '../../../core/checked-call.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import type { ProcessLimits } from '../../../core/process.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { checkCall, type Explained, explainNow } from '../../../operations/explain-call.ts';
import { LIMIT_NAMES } from '../../../runner/input.ts';
import type { PlannedCommand } from '../../../tiers/tier.ts';
import { textOf } from '../input.ts';
import { callOf, type Wanted } from '../make-call.ts';
import { withGateway } from '../opened.ts';
import { printExplanation } from '../print-explanation.ts';
import { type Printer, shellWord } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** Shows how a command would be started and what the policies decide; it is neither run nor recorded. */
export async function showPlan(invocation: Invocation, wanted: Wanted): Promise<number> {
  const { edge, print } = invocation;
  return withGateway(invocation, async (gateway) => {
    const { tenant } = gateway.config.gateway;
    const run = textOf(invocation, 'run') ?? null;
    const checked = await checkCall(gateway, callOf(edge, { ...wanted, tenant, run }));
    const planned = await planOf(gateway, checked);
    const explained = explainNow(gateway, checked, edge.clock.nowMs());
    const plan = documentOf(checked, planned);
    const principal = formatPrincipal(wanted.principal);
    print.result({ principal, ...plan, policy: explained }, () =>
      printPlan(print, plan, { title: `${principal} runs ${plan.executable}`, explained }),
    );
    return explained.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  });
}

/** Refuses like a call does where the tier cannot run the command. */
async function planOf({ executors }: Gateway, checked: CheckedCall): Promise<PlannedCommand> {
  const tier = executors[checked.tier];
  const refused = await tier?.refusal?.(checked);
  if (refused) throw new CodedError(refused.code, refused.message, { remedy: refused.remedy });
  const planned = await tier?.describe?.(checked);
  if (planned) return planned;
  throw new CodedError(
    'tier/unenforceable',
    `Cannot plan the command: tier "${checked.tier}" does not exist`,
  );
}

type PlanDocument = ReturnType<typeof documentOf>;

function documentOf({ process, tier }: CheckedCall, { executor, limits, ...words }: PlannedCommand) {
  if (process === null) throw new TypeError('Cannot show the plan: the call is not a command');
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
  row('arguments', spell(plan.argv));
  row('tier', `${plan.tier} (${plan.executor})`);
  row('workspace', plan.workspace);
  row('cwd', plan.cwd);
  row('environment', spell(Object.entries(plan.env).map(([name, value]) => `${name}=${value}`)));
  row('input', plan.stdinBytes === null ? 'none' : `${plan.stdinBytes} bytes`);
  row('egress', plan.egress);
  row('hosts', spell(plan.egressHosts));
  row('secrets', spell(plan.secrets));
  row('paths', spell(plan.paths));
  row('named hosts', spell(plan.hosts));
  for (const [name, value] of Object.entries(plan.limits)) row('limit', `${name}=${value}`);
  row('launcher', spell(launch.words));
  for (const line of optionLines(launch.args)) row('option', line);
  row('setup', spell(launch.told));
  print.line();
  printExplanation(print, title, explained);
}

/** Arguments quoted as for a shell, so that their boundaries are visible. */
function spell(words: readonly string[]): string {
  if (words.length === 0) return 'none';
  return words.map(shellWord).join(' ');
}

function optionLines(args: readonly string[]): string[] {
  const lines: string[][] = [];
  for (const word of args) {
    const last = lines.at(-1);
    if (last === undefined || word.startsWith('--')) lines.push([word]);
    else last.push(word);
  }
  return lines.map(spell);
}
