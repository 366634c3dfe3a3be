import type { RunGroup } from '../cgroup/run-group.ts';

/** What enforces the limits that concern all processes of a run, for the receipt. Null: it has no control group. */
export function limitsHeld(
  group: Pick<RunGroup, 'facts' | 'countsCpu' | 'countsTcp'> | null,
): Readonly<Record<string, string | number>> {
  const cpu = { limit_cpu_time: group?.countsCpu === true ? 'control group' : SAMPLED };
  if (group === null) {
    return {
      cgroup_kind: 'none',
      ...cpu,
      limit_memory: EACH_PROCESS,
      limit_processes: 'the user of the command',
    };
  }
  const limit_memory = group.countsTcp ? 'control group' : NO_TCP;
  return { ...group.facts(), ...cpu, limit_memory, limit_processes: 'control group' };
}

const SAMPLED = 'sampled: at least what is reported was used';
const EACH_PROCESS = 'not held: only the data of each process';
const NO_TCP = 'control group, except for buffers of TCP';
