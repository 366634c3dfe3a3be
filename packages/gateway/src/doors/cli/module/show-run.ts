import { CODES } from '@palisade/sdk';
import type { CheckedCall } from '../../../core/checked-call.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { checkCall, explainNow } from '../../../operations/explain-call.ts';
import { hostsOf } from '../../../skills/capabilities/http.ts';
import { spellGrants } from '../../../skills/capabilities/kinds.ts';
import { callOf } from '../asked-call.ts';
import type { Wanted } from '../call-once.ts';
import { printExplanation } from '../explained-call.ts';
import { textOf } from '../input.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import type { LocalRun } from './local-tool.ts';

/** Shows what a module would be run as and what the policies say to it; it is neither run nor recorded. */
export async function showRun(invocation: Invocation, wanted: Wanted, run: LocalRun): Promise<number> {
  const { edge, print } = invocation;
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const call = callOf(edge, { ...wanted, tenant, run: textOf(invocation, 'run') ?? null });
    const checked = await checkCall(gateway, call);
    const explained = explainNow(gateway, checked, edge.clock.nowMs());
    const principal = formatPrincipal(wanted.principal);
    const plan = documentOf(checked, run);
    const { explanation, approval } = explained;
    if (print.json) print.document({ principal, ...plan, policy: { ...explanation, approval } });
    else {
      printPlan(print, plan);
      printExplanation(print, `${principal} runs ${plan.tool}`, explained);
    }
    return explanation.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  } finally {
    await gateway.close();
  }
}

function documentOf({ tool, tier, limits }: CheckedCall, { file, exportName, grants }: LocalRun) {
  const { wallMs, fuel, memoryBytes, outputBytes, egressBytes } = limits;
  return {
    tool: tool.id,
    file: file.name,
    sha256: file.sha256,
    export: exportName,
    ...{ tier, risk: tool.risk, capabilities: tool.capabilities, hosts: hostsOf(grants) },
    grants: spellGrants(grants),
    limits: { wallMs, fuel, memoryBytes, outputBytes, egressBytes },
  };
}

function printPlan(print: Printer, plan: ReturnType<typeof documentOf>): void {
  const row = (name: string, value: string) => print.styled('dim', name.padEnd(12), value);
  row('tool', plan.tool);
  row('module', plan.file);
  row('sha256', plan.sha256);
  row('export', plan.export);
  row('tier', plan.tier);
  row('risk', plan.risk);
  for (const grant of plan.grants) row('grant', grant);
  if (plan.grants.length === 0) row('grant', 'none');
  for (const [name, value] of Object.entries(plan.limits)) row('limit', `${name}=${value}`);
  print.line();
}
