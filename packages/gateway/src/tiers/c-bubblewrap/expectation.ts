import type { ProcessTerms } from '../../core/process.ts';
import { limitFacts, type Standing } from '../plan/launcher-words.ts';
import { listPinned } from './mounts.ts';
import { DEVICE_MOUNTS, JAIL_HOME, JAIL_ID, JAIL_SHM, JAIL_TMP } from './root.table.ts';

/**
 * What the launcher must report from inside, or the run does not count as isolated. Names are without "fact.". The user
 * outside is not among them: inside a user namespace below another it cannot be seen, so it is looked at from outside.
 */
export type JailExpectation = {
  readonly equal: Readonly<Record<string, string>>;
  /** Namespaces that must differ from the gateway's own. */
  readonly newNamespaces: readonly string[];
  /** Every mount that is not read-only, as the launcher writes it, sorted. */
  readonly mountsRw: readonly string[];
};

const NO_CAPABILITIES = '0000000000000000';
const CAPABILITY_SETS = ['capinh', 'capprm', 'capeff', 'capbnd', 'capamb'];

/** The facts that prove the plan of these terms. */
export function expectation(terms: ProcessTerms, inside: string, standing: Standing): JailExpectation {
  const isStrict = terms.egress === 'strict';
  const id = String(JAIL_ID);
  const network = isStrict ? { interfaces: 'lo' } : {};
  const pinned = listPinned(terms.protectedPaths).map((path) => `${inside}/${path}`);
  const writable = [...DEVICE_MOUNTS, JAIL_SHM, JAIL_TMP, JAIL_HOME, inside, ...pinned];
  return {
    equal: {
      ...{ uid: id, gid: id, nnp: '1', seccomp: '2' },
      ...Object.fromEntries(CAPABILITY_SETS.map((set) => [set, NO_CAPABILITIES])),
      ...network,
      ...limitFacts(terms.limits, standing),
    },
    newNamespaces: ['user', 'pid', 'mnt', 'ipc', 'uts', 'cgroup', ...(isStrict ? ['net'] : [])],
    mountsRw: writable.map(mountFact).sort(),
  };
}

/**
 * A mount point as it stands in the launcher's list. The kernel writes white space and backslashes as \NNN; the launcher
 * then writes backslashes, commas and what is not printable as \xNN.
 */
export function mountFact(path: string): string {
  return Array.from(Buffer.from(path), (byte) => {
    const sign = String.fromCharCode(byte);
    if (' \t\n\\'.includes(sign)) return `\\x5c${byte.toString(8).padStart(3, '0')}`;
    return /^[!-~]$/.test(sign) && sign !== ',' ? sign : `\\x${byte.toString(16).padStart(2, '0')}`;
  }).join('');
}
