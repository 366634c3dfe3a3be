import { ROUTES } from '../api.generated.ts';

export { ROUTES };

export type OperationName = keyof typeof ROUTES;

/** Whether a request may be sent again: always, with the key that its call has, or never. */
export type Repeat = 'safe' | 'keyed' | 'never';

/** Requests other than GET that may be repeated all the same: questions with a body, and changes that are the same once and twice. */
const REPEATS: Readonly<Partial<Record<OperationName, Repeat>>> = {
  createCall: 'keyed',
  cancelCall: 'safe',
  checkPolicies: 'safe',
  explainCall: 'safe',
};

/** They answer only when test cases of a skill have run, which takes longer than most requests may. */
const SLOW: ReadonlySet<OperationName> = new Set<OperationName>(['installSkill', 'auditSkill']);

/** A change is asked for once: whether it was made is answered, or has to be looked up. */
export function repeatOf(name: OperationName): Repeat {
  return REPEATS[name] ?? (ROUTES[name].method === 'GET' ? 'safe' : 'never');
}

export function isSlow(name: OperationName): boolean {
  return SLOW.has(name);
}
