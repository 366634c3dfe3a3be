import { z } from 'zod';
import { balances } from '../../../budget/balances.ts';
import { UNITS, type Unit } from '../../../budget/rule.ts';
import { requireReader } from '../may-see.ts';
import { type Route, route } from '../route.ts';
import { timeMs } from '../schemas/parts.ts';
import { document, json } from './answer.ts';

/* What the budgets of the tenant are, and what is left of them. */

const MOST_ACCOUNTS = 1000;

const cap = z.number().nullable().describe('Null: it is counted and not limited.');
const rule = z.object({
  name: z.string(),
  per: z.enum(['run', 'principal', 'tool', 'tenant']),
  match: z.string().nullable().describe('The subjects that it is for, with `*`; null: all of them.'),
  windowMs: z.number().nullable().describe('Null: for the whole run.'),
  ...{ calls: cap, wallMs: cap, cpuMs: cap, fuel: cap, outputBytes: cap, egressBytes: cap },
});
const account = z.object({
  budget: z.string(),
  subject: z.string().describe('TENANT, TENANT/PRINCIPAL, TENANT/TOOL or TENANT/RUN.'),
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

export const budgetsRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/budgets', name: 'listBudgets', tag: 'budgets', scope: 'read' },
    sentence:
      'Lists the budgets, and the accounts of the tenant that calls have drawn on, the last used first.',
    replies: {
      200: document(
        z.object({ rules: z.array(rule), accounts: z.array(account) }),
        `The budgets, and ${MOST_ACCOUNTS} accounts at most.`,
      ),
    },
    handle: async (asked) => {
      requireReader(asked);
      const { gateway, caller } = asked;
      const rules = gateway.config.budgets;
      const live = { rules, nowMs: gateway.clock.nowMs(), limit: MOST_ACCOUNTS, tenant: caller.tenant };
      const accounts = balances(gateway.store, live);
      return json({ rules, accounts });
    },
  }),
];
