import * as z from 'zod';
import { CodedError } from '../core/coded-error.ts';
import { requireHomeReader } from './access.ts';
import { type Finding, gatewayFindings, recordFindings, tierFindings } from './findings.ts';
import { type OpenedGateway, type Operation, operation } from './operation.ts';

/* The state of the gateway, with a remedy for each problem. */

const finding = z.object({
  name: z.string(),
  state: z.enum(['ok', 'warning', 'problem']),
  detail: z.string(),
  remedy: z.string().nullable(),
});
const tierRow = z.object({
  tier: z.enum(['a', 'b', 'c']).nullable().describe('Null: of both that run commands.'),
  name: z.string(),
  holds: z.boolean(),
  detail: z.string(),
  fix: z.string().nullable(),
});

type Report = {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly tiers: readonly unknown[];
};

export const doctorOperations: readonly Operation[] = [
  operation({
    name: 'getDoctor',
    noun: 'gateway',
    sentence: 'Looks at the state directory, the keys, the policies and the tiers, each of which is tried.',
    scope: 'read',
    action: 'readJournal',
    opens: 'gateway',
    http: { method: 'GET', path: '/v1/doctor' },
    input: z.strictObject({}),
    output: {
      schema: z.object({ ok: z.boolean(), findings: z.array(finding), tiers: z.array(tierRow) }),
      sentence: 'What was found; `ok` is false where there is a problem.',
    },
    handle: (context) => {
      requireHomeReader(context);
      return examineOnce(context.gateway);
    },
  }),
];

const underway: WeakMap<OpenedGateway, Promise<Report>> = new WeakMap();

/** Boundary: probing the tiers starts processes, so concurrent callers share one report. */
function examineOnce(gateway: OpenedGateway): Promise<Report> {
  let report = underway.get(gateway);
  if (report === undefined) {
    report = examine(gateway).finally(() => underway.delete(gateway));
    underway.set(gateway, report);
  }
  return report;
}

async function examine(gateway: OpenedGateway): Promise<Report> {
  const tiers = await gateway.inspectTiers();
  const findings = [
    ...look('state directory', () => recordFindings(gateway, { path: gateway.store.directory })),
    ...look('gateway', () => [...gatewayFindings(gateway), ...tierFindings(gateway, tiers)]),
  ];
  return { ok: findings.every(({ state }) => state !== 'problem'), findings, tiers };
}

/** A part that cannot be examined is itself a finding. */
function look(name: string, act: () => readonly Finding[]): readonly Finding[] {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return [{ name, state: 'problem', detail: error.message, remedy: error.remedy }];
  }
}
