import * as z from 'zod';
import { type DoctorReport, examine, examineGateway, recordFindings } from './findings.ts';
import { type OpenedGateway, type Operation, operation, READS_GATEWAY } from './operation.ts';

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

export const operations: readonly Operation[] = [
  operation({
    ...READS_GATEWAY,
    name: 'getDoctor',
    noun: 'gateway',
    sentence: 'Looks at the state directory, the keys, the policies and the tiers, each of which is tried.',
    opens: 'gateway',
    http: { method: 'GET', path: '/v1/doctor' },
    input: z.strictObject({}),
    output: {
      schema: z.object({ ok: z.boolean(), findings: z.array(finding), tiers: z.array(tierRow) }),
      sentence: 'What was found; `ok` is false where there is a problem.',
    },
    handle: ({ gateway }) => examineOnce(gateway),
  }),
];

const underway: WeakMap<OpenedGateway, Promise<DoctorReport>> = new WeakMap();

/** Boundary: probing the tiers starts processes, so concurrent callers share one report. */
function examineOnce(gateway: OpenedGateway): Promise<DoctorReport> {
  let report = underway.get(gateway);
  if (report === undefined) {
    const records = async () => recordFindings(gateway, { path: gateway.store.directory });
    report = examine(records, () => examineGateway(gateway)).finally(() => underway.delete(gateway));
    underway.set(gateway, report);
  }
  return report;
}
