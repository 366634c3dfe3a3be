import type { CheckedCall } from '../../../core/checked-call.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { shellWord } from '../../../core/hostile-text.ts';
import { formatPort } from '../../../core/ports.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { LIMIT_NAMES } from '../../../runner/input.ts';
import type { PlannedCommand } from '../../../tiers/tier.ts';
import type { Wanted } from '../make-call.ts';
import type { FactRow } from '../printer.ts';
import { showPlan } from '../show-plan.ts';
import type { Invocation } from '../verb.ts';

/** Shows how a command would be started and what the policies decide; it is neither run nor recorded. */
export function showCommand(invocation: Invocation, wanted: Wanted): Promise<number> {
  return showPlan(invocation, wanted, {
    planOf: async (checked, gateway) => documentOf(checked, await launchOf(gateway, checked)),
    rowsOf,
    titleOf: ({ executable }) => executable,
  });
}

/** Refuses like a call does where the tier cannot run the command. */
async function launchOf({ executors }: Gateway, checked: CheckedCall): Promise<PlannedCommand> {
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

function documentOf({ process, tier }: CheckedCall, { executor, limits, ...launch }: PlannedCommand) {
  if (process === null) throw new TypeError('Cannot show the plan: the call is not a command');
  const { terms, facts } = process;
  const { executable, executableSha256, argv, workspace, cwd, env, egress, stdin } = terms;
  const { egressHosts, secrets, allowedWrites, ports } = terms;
  return {
    ...{ executable, executableSha256, kind: facts.kind, argv },
    ...{ tier, executor, workspace, cwd, env, egress, egressHosts, secrets, allowedWrites },
    ports: ports.map(formatPort),
    stdinBytes: stdin === null ? null : Buffer.byteLength(stdin),
    paths: facts.paths,
    pathsTruncated: facts.pathsTruncated,
    hosts: facts.hosts,
    limits: Object.fromEntries(Object.entries(LIMIT_NAMES).map(([word, name]) => [word, limits[name]])),
    launch,
  };
}

function rowsOf(plan: ReturnType<typeof documentOf>): readonly FactRow[] {
  const { launch } = plan;
  return [
    ['program', `${plan.executable} (${plan.kind})`],
    ['sha256', plan.executableSha256],
    ['arguments', spell(plan.argv)],
    ['tier', `${plan.tier} (${plan.executor})`],
    ['workspace', plan.workspace],
    ['cwd', plan.cwd],
    ['environment', spell(Object.entries(plan.env).map(([name, value]) => `${name}=${value}`))],
    ['input', plan.stdinBytes === null ? 'none' : `${plan.stdinBytes} bytes`],
    ['egress', plan.egress],
    ['hosts', spell(plan.egressHosts)],
    ['secrets', spell(plan.secrets)],
    ['may write', spell(plan.allowedWrites)],
    ['ports', spell(plan.ports)],
    ['paths', plan.pathsTruncated ? `${spell(plan.paths)} … and more` : spell(plan.paths)],
    ['named hosts', spell(plan.hosts)],
    ...Object.entries(plan.limits).map(([name, value]): FactRow => ['limit', `${name}=${value}`]),
    ['launcher', spell(launch.words)],
    ...optionLines(launch.args).map((line): FactRow => ['option', line]),
    ['setup', spell(launch.told)],
  ];
}

/** Arguments quoted as for a shell, so that their boundaries are visible. */
function spell(words: readonly string[]): string {
  return words.length === 0 ? 'none' : words.map(shellWord).join(' ');
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
