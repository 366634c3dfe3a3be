import { ROUTES } from '../api.generated.ts';

export { ROUTES };

export type OperationName = keyof typeof ROUTES;

/** Whether a request may be sent again: always, with the key that its call has, or never. */
export type Repeat = 'safe' | 'keyed' | 'never';

/** Requests other than GET that may be repeated all the same: queries with a body, and idempotent changes. */
const REPEATS: Readonly<Partial<Record<OperationName, Repeat>>> = {
  createCall: 'keyed',
  cancelCall: 'safe',
  checkPolicies: 'safe',
  explainCall: 'safe',
  testPolicies: 'safe',
};

/** They answer only when test cases of a skill have run, which takes longer than most requests may. */
const SLOW: ReadonlySet<OperationName> = new Set<OperationName>(['installSkill', 'auditSkill']);

/** A change is sent once: its result is in the answer, or has to be looked up. */
export function repeatOf(name: OperationName): Repeat {
  return REPEATS[name] ?? (ROUTES[name].method === 'GET' ? 'safe' : 'never');
}

export function isSlow(name: OperationName): boolean {
  return SLOW.has(name);
}
