/** What every tier of commands reports of a run. The plan alone decides whether the tier holds. */
import type { IsolationFact } from './tier.ts';

const LIMITS = ['cpu', 'data', 'fsize', 'nofile', 'nproc', 'core'];

export const NO_NEW_PRIVILEGES: IsolationFact = {
  name: 'no_new_privs',
  fact: 'nnp',
  detail: () => 'is set',
};
export const SYSTEM_CALL_FILTER: IsolationFact = {
  name: 'system call filter',
  fact: 'seccomp',
  detail: (facts) => `is active (mode ${facts.seccomp})`,
};
export const RESOURCE_LIMITS: IsolationFact = {
  name: 'limits of a process',
  fact: 'rlimit.',
  detail: (facts) => `are ${LIMITS.map((name) => `${name} ${facts[`rlimit.${name}`]}`).join(', ')}`,
};
