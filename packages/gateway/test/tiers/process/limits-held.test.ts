import { expect, test } from 'vitest';
import { limitsHeld } from '../../../src/tiers/process/limits-held.ts';

const facts = () => ({ cgroup_kind: 'v1', memory_max_bytes: 64 });

test('a run without a group claims no limit of its tree but what samples show', () => {
  expect(limitsHeld(null)).toEqual({
    cgroup_kind: 'none',
    limit_cpu_time: 'sampled: at least what is reported was used',
    limit_memory: 'not held: only the data of each process',
    limit_processes: 'the user of the command',
  });
});

test.each([
  [true, true, 'control group', 'control group'],
  [true, false, 'control group', 'control group, except for buffers of TCP'],
  [false, true, 'sampled: at least what is reported was used', 'control group'],
])('a group that counts CPU time (%s) and TCP (%s) claims as much', (countsCpu, countsTcp, cpu, memory) => {
  expect(limitsHeld({ facts, countsCpu, countsTcp })).toEqual({
    ...facts(),
    ...{ limit_cpu_time: cpu, limit_memory: memory, limit_processes: 'control group' },
  });
});
