import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { type Finding, gatewayFindings, recordFindings, tierFindings } from '../../documents/findings.ts';
import { requireHome, requireReader } from '../may-see.ts';
import { type Asked, type Route, route } from '../route.ts';
import { document, json } from './answer.ts';

/* What the gateway is like, with a remedy for each thing that is not as it should be. */

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

type Gateway = Asked['gateway'];
type Report = {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly tiers: readonly unknown[];
};

export const doctorRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/doctor', name: 'getDoctor', tag: 'gateway', scope: 'read' },
    sentence: 'Looks at the state directory, the keys, the policies and the tiers, each of which is tried.',
    replies: {
      200: document(
        z.object({ ok: z.boolean(), findings: z.array(finding), tiers: z.array(tierRow) }),
        'What was found; `ok` is false where there is a problem.',
      ),
    },
    handle: async (asked) => {
      requireHome(asked);
      requireReader(asked);
      return json(await examineOnce(asked.gateway));
    },
  }),
];

const underway: WeakMap<Gateway, Promise<Report>> = new WeakMap();

/** Boundary: to try the tiers starts processes, so all who ask meanwhile get the same report. */
function examineOnce(gateway: Gateway): Promise<Report> {
  let report = underway.get(gateway);
  if (report === undefined) {
    report = examine(gateway).finally(() => underway.delete(gateway));
    underway.set(gateway, report);
  }
  return report;
}

async function examine(gateway: Gateway): Promise<Report> {
  const tiers = await gateway.inspectTiers();
  const findings = [
    ...look('state directory', () => recordFindings(gateway, { path: gateway.store.directory })),
    ...look('gateway', () => [...gatewayFindings(gateway), ...tierFindings(gateway, tiers)]),
  ];
  return { ok: findings.every(({ state }) => state !== 'problem'), findings, tiers };
}

/** A part that cannot be looked at is itself the finding. */
function look(name: string, act: () => readonly Finding[]): readonly Finding[] {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return [{ name, state: 'problem', detail: error.message, remedy: error.remedy }];
  }
}
