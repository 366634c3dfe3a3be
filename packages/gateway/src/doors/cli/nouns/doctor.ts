import { loadConfig } from '../../../config/load.ts';
import { showConfig } from '../../../config/show.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { acceptClock } from '../../../invoke/administer.ts';
import { type Finding, gatewayFindings, recordFindings, tierFindings } from '../../../operations/findings.ts';
import type { TierRow } from '../../../tiers/process/inspect.ts';
import { principalOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

const MARKS = { ok: ['green', '✓ '], warning: ['yellow', '! '], problem: ['red', '✗ '] } as const;

export async function doctor(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const findings: Finding[] = [];
  const tiers: TierRow[] = [];
  await add(findings, 'state directory', async () => {
    const records = await invocation.openRecords();
    try {
      if (flags['accept-clock'] === true) acceptClock(records, principalOf(invocation));
      return recordFindings(records, invocation.stateDir);
    } finally {
      await records.close();
    }
  });
  await add(findings, 'gateway', async () => {
    const gateway = await invocation.openGateway();
    try {
      tiers.push(...(await gateway.inspectTiers()));
      return [...gatewayFindings(gateway), ...tierFindings(gateway, tiers)];
    } finally {
      await gateway.close();
    }
  });
  const isSound = findings.every(({ state }) => state !== 'problem');
  if (print.json) print.document({ ok: isSound, findings, tiers });
  else {
    for (const { name, state, detail, remedy } of findings) {
      const [style, mark] = MARKS[state];
      print.styled(style, mark, `${name}: ${detail}`);
      if (remedy !== null) print.styled('cyan', '  → ', remedy);
    }
  }
  return isSound ? 0 : 2;
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

export async function showSettings({ print, stateDir }: Invocation): Promise<number> {
  const rows = await showConfig(await loadConfig({ stateDir: stateDir.path }), stateDir);
  if (print.json) print.document({ settings: rows });
  else
    print.table(
      ['KEY', 'VALUE', 'FROM', 'MEANING'],
      rows.map(({ key, value, origin, sentence }) => [key, JSON.stringify(value), origin, sentence]),
    );
  return 0;
}
