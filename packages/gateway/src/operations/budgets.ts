import * as z from 'zod';
import { balances } from '../budget/balances.ts';
import { UNITS, type Unit } from '../budget/rule.ts';
import { tenantOf } from './access.ts';
import { type Operation, operation, READS } from './operation.ts';
import { timeMs } from './schema-parts.ts';

/* What the budgets of the tenant are, and what is left of them. */

const MOST_ACCOUNTS = 1000;

const cap = z.number().nullable().describe('Null: it is counted and not limited.');
const rule = z.object({
  name: z.string(),
  per: z.enum(['run', 'principal', 'tool', 'tenant']),
  match: z.string().nullable().describe('The subjects that it is for, with `*`; null: all of them.'),
  windowMs: z.number().nullable().describe('Null: for the whole run.'),
  calls: cap,
  wallMs: cap,
  cpuMs: cap,
  fuel: cap,
  outputBytes: cap,
  egressBytes: cap,
});
export const account = z.object({
  budget: z.string(),
  subject: z.string().describe('TENANT, TENANT/PRINCIPAL, TENANT/TOOL or TENANT/SESSION.'),
  windowStartMs: timeMs,
  resetsAtMs: timeMs.nullable(),
  units: z.array(
    z.object({
      unit: z.enum(UNITS.map(({ unit }) => unit) as [Unit, ...Unit[]]),
      spent: z.number(),
      reserved: z.number().describe('By calls that run.'),
      limit: z.number().nullable(),
      left: z.number().nullable(),
    }),
  ),
});

export const operations: readonly Operation[] = [
  operation({
    ...READS,
    name: 'listBudgets',
    noun: 'budgets',
    sentence:
      'Lists the budgets, and the accounts of the tenant that calls have drawn on, the last used first.',
    opens: 'records',
    http: { method: 'GET', path: '/v1/budgets' },
    input: z.strictObject({}),
    output: {
      schema: z.object({ rules: z.array(rule), accounts: z.array(account) }),
      sentence: `The budgets, and ${MOST_ACCOUNTS} accounts at most.`,
    },
    handle: (context) => {
      const { config, store, clock } = context.gateway;
      const tenant = tenantOf(context);
      const accounts = balances(store, {
        rules: config.budgets,
        nowMs: clock.nowMs(),
        limit: MOST_ACCOUNTS,
        ...(tenant === null ? {} : { tenant }),
      });
      return { rules: config.budgets, accounts };
    },
  }),
];
