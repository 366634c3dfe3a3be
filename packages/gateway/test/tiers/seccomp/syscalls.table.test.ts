import { describe, expect, it } from 'vitest';
import { LAST_CALL, RULES, type SyscallRule } from '../../../src/tiers/seccomp/syscalls.table.ts';
import { headerConstant, headerNumbers } from './headers.ts';

function ruleOf(name: string): SyscallRule {
  const rule = RULES.find((each) => each.name === name);
  if (rule === undefined) throw new Error(`no rule for ${name}`);
  return rule;
}

describe.each(['x64', 'arm64'] as const)('the table for %s', (arch) => {
  const numbers = headerNumbers(arch);
  const newest = Math.max(...numbers.values());

  it('has the number of the kernel headers in every row, and none where they have none', () => {
    const wrong = RULES.filter(({ name, [arch]: ours }) => {
      const theirs = numbers.get(name);
      if (theirs !== undefined) return ours !== theirs;
      // Headers older than the call do not know it; then its number lies above all that they know.
      return ours !== null && ours <= newest;
    });
    expect(wrong).toEqual([]);
  });

  it('has each number once, and none above the last call', () => {
    const ours = RULES.flatMap((rule) => rule[arch] ?? []);
    expect(new Set(ours).size).toBe(ours.length);
    expect(Math.max(...ours)).toBeLessThanOrEqual(LAST_CALL);
  });
});

describe('the table', () => {
  it('has each name once', () => {
    expect(new Set(RULES.map((rule) => rule.name)).size).toBe(RULES.length);
  });

  it('gives a reason in every row', () => {
    expect(RULES.filter((rule) => !/^[A-Z].+\.$/.test(rule.why))).toEqual([]);
  });

  it('has the numbers of calls that are younger than the headers of many machines', () => {
    const young = RULES.filter((rule) => (rule.x64 ?? 0) > 450).map((rule) => [
      rule.name,
      rule.x64,
      rule.arm64,
    ]);
    expect(young.sort()).toEqual([
      ['fchmodat2', 452, 452],
      ['listmount', 458, 458],
      ['lsm_set_self_attr', 460, 460],
      ['open_tree_attr', 467, 467],
      ['statmount', 457, 457],
    ]);
  });

  it('denies clone() exactly the flags of namespaces', () => {
    const flags = ['NS', 'CGROUP', 'UTS', 'IPC', 'USER', 'PID', 'NET'].map((name) =>
      headerConstant('/usr/include/linux/sched.h', `CLONE_NEW${name}`),
    );
    const bits = flags.reduce((all, each) => all | each);
    expect(ruleOf('clone').denied).toEqual({ kind: 'bits', argument: 0, bits });
  });

  it('denies the requests of terminals by the numbers of the headers', () => {
    const values = ['TIOCSTI', 'TIOCLINUX', 'TIOCCONS', 'TIOCSETD'].map((name) =>
      headerConstant('/usr/include/asm-generic/ioctls.h', name),
    );
    expect(ruleOf('ioctl').denied).toEqual({ kind: 'values', argument: 1, values });
  });

  it('looks at the mode of open() when a file is made, by the flags of the headers', () => {
    const fcntl = '/usr/include/asm-generic/fcntl.h';
    const bits = headerConstant(fcntl, 'O_CREAT') | headerConstant(fcntl, '__O_TMPFILE');
    expect(ruleOf('open').denied).toMatchObject({ onlyIf: { argument: 1, bits } });
    expect(ruleOf('openat').denied).toMatchObject({ onlyIf: { argument: 2, bits } });
  });
});
