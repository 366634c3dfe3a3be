import { CodedError } from '../../../core/coded-error.ts';
import { acceptClock } from '../../../invoke/administer.ts';
import { type Finding, gatewayFindings, recordFindings, tierFindings } from '../../../operations/findings.ts';
import type { TierRow } from '../../../tiers/process/inspect.ts';
import { principalOf } from '../input.ts';
import { withGateway, withRecords } from '../opened.ts';
import type { Invocation } from '../verb.ts';

/** The exit status where something is wrong. */
const PROBLEM_STATUS = 2;
const MARKS = { ok: ['green', '✓ '], warning: ['yellow', '! '], problem: ['red', '✗ '] } as const;

export async function doctor(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const findings: Finding[] = [];
  const tiers: TierRow[] = [];
  await add(findings, 'state directory', () =>
    withRecords(invocation, (records) => {
      if (flags['accept-clock'] === true) acceptClock(records, principalOf(invocation));
      return recordFindings(records, invocation.stateDir);
    }),
  );
  await add(findings, 'gateway', () =>
    withGateway(invocation, async (gateway) => {
      tiers.push(...(await gateway.inspectTiers()));
      return [...gatewayFindings(gateway), ...tierFindings(gateway, tiers)];
    }),
  );
  const ok = findings.every(({ state }) => state !== 'problem');
  print.result({ ok, findings, tiers }, () => {
    for (const { name, state, detail, remedy } of findings) {
      const [style, mark] = MARKS[state];
      print.styled(style, mark, `${name}: ${detail}`);
      if (remedy !== null) print.styled('cyan', '  → ', remedy);
    }
  });
  return ok ? 0 : PROBLEM_STATUS;
}

/** A part that cannot be opened is itself a finding. */
async function add(
  findings: Finding[],
  name: string,
  look: () => Promise<readonly Finding[]>,
): Promise<void> {
  try {
    findings.push(...(await look()));
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    if (findings.some(({ detail }) => detail === error.message)) return;
    findings.push({ name, state: 'problem', detail: error.message, remedy: error.remedy });
  }
}
