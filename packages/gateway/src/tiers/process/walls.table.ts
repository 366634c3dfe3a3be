/** What a trial run reports of each wall, one row each. The plan alone judges whether the tier holds. */
import type { Facts } from './trial.ts';

export type Wall = {
  readonly name: string;
  /** What the plan's judge begins with when it speaks of this wall. */
  readonly lack: RegExp;
  readonly detail: (facts: Facts) => string;
};

const LIMITS = ['cpu', 'data', 'fsize', 'nofile', 'nproc', 'core'];

const FILTER: Wall = {
  name: 'system call filter',
  lack: /^seccomp /,
  detail: (facts) => `is active (mode ${facts.seccomp})`,
};
const PRIVILEGES: Wall = {
  name: 'no_new_privs',
  lack: /^nnp /,
  detail: () => 'is set',
};
const RLIMITS: Wall = {
  name: 'limits of a process',
  lack: /^rlimit\./,
  detail: (facts) => `are ${LIMITS.map((name) => `${name} ${facts[`rlimit.${name}`]}`).join(', ')}`,
};

/** In the order in which the plans look at them: what stands before the first lack holds. */
export const WALLS: Readonly<Record<'b' | 'c', readonly Wall[]>> = {
  b: [PRIVILEGES, FILTER, RLIMITS],
  c: [
    PRIVILEGES,
    FILTER,
    { name: 'capabilities', lack: /^cap/, detail: () => 'are none, in all five sets' },
    { name: 'network', lack: /^interfaces /, detail: (facts) => `is none: only ${facts.interfaces}` },
    RLIMITS,
    { name: 'namespaces', lack: /^the \S+ namespace /, detail: () => 'are new, all seven' },
    {
      name: 'writable places',
      lack: /^"/,
      detail: (facts) => `are as planned: ${(facts.mounts_rw ?? '').replaceAll(',', ', ')}`,
    },
  ],
};
