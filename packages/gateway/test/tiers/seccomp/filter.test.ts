import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { seccompProgram } from '../../../src/tiers/seccomp/filter.ts';
import { LAST_CALL, RULES } from '../../../src/tiers/seccomp/syscalls.table.ts';
import { headerNumbers } from './headers.ts';
import { ARM64, run, X64 } from './interpreter.ts';
import { EVERYTHING, INET, INTERFACES, NOTHING, numberOf, UNIX } from './probe.ts';

const ARCHES = [
  { arch: 'x64', audit: X64 },
  { arch: 'arm64', audit: ARM64 },
] as const;
const WISHES = [NOTHING, INET, UNIX, INTERFACES, EVERYTHING];

/** Calls whose answer depends on their arguments: x64 and arm64 agree on all that both have. */
const EXAMPLES: readonly [name: string, args: readonly number[], answer: string][] = [
  ['clone', [0x11], 'allow'],
  ['clone', [0x3d0f00], 'allow'],
  ['clone', [0x10000011], 'EPERM'],
  ['clone', [0x00020011], 'EPERM'],
  ['clone', [0x40000000], 'EPERM'],
  // What file watchers of programs ask for, and each way to see reading.
  ['inotify_add_watch', [3, 0, 0xfc6], 'allow'],
  ['inotify_add_watch', [3, 0, 0x1], 'EPERM'],
  ['inotify_add_watch', [3, 0, 0x10], 'EPERM'],
  ['inotify_add_watch', [3, 0, 0x2000_0020], 'EPERM'],
  ['inotify_add_watch', [3, 0, 0xfff], 'EPERM'],
  ['fcntl', [3, 1], 'allow'],
  ['fcntl', [3, 1025], 'allow'],
  ['fcntl', [3, 1033], 'allow'],
  ['fcntl', [3, 1024], 'EPERM'],
  ['fcntl', [3, 1026], 'EPERM'],
  ['ioctl', [0, 0x5401], 'allow'],
  ['ioctl', [0, 0x5412], 'EPERM'],
  ['ioctl', [0, 0x541c], 'EPERM'],
  ['ioctl', [0, 0x541d], 'EPERM'],
  ['ioctl', [0, 0x5423], 'EPERM'],
  ['ioctl', [0x5412, 0x5413], 'allow'],
  ['personality', [0], 'allow'],
  ['personality', [0xffffffff], 'allow'],
  ['personality', [0x40000], 'allow'],
  ['personality', [0x400000], 'EPERM'],
  ['personality', [8], 'EPERM'],
  ['prlimit64', [0, 7], 'allow'],
  ['prlimit64', [1, 7], 'EPERM'],
  ['fchmod', [3, 0o1777], 'allow'],
  ['fchmod', [3, 0o4755], 'EPERM'],
  ['fchmod', [3, 0o2755], 'EPERM'],
  ['fchmodat', [3, 0x6000, 0o755], 'allow'],
  ['fchmodat', [3, 0, 0o4755], 'EPERM'],
  ['fchmodat2', [3, 0, 0o755], 'allow'],
  ['fchmodat2', [3, 0, 0o2755], 'EPERM'],
  ['openat', [3, 0, 0, 0o7777], 'allow'],
  ['openat', [3, 0, 0x41, 0o666], 'allow'],
  ['openat', [3, 0, 0x41, 0o4755], 'EPERM'],
  ['openat', [3, 0, 0x400001, 0o2755], 'EPERM'],
  ['mknodat', [3, 0, 0o010644], 'allow'],
  ['mknodat', [3, 0, 0o100644], 'allow'],
  ['mknodat', [3, 0, 0o104755], 'EPERM'],
  ['mknodat', [3, 0, 0o020666], 'EPERM'],
  ['mknodat', [3, 0, 0o060666], 'EPERM'],
  ['chmod', [0, 0o755], 'allow'],
  ['chmod', [0, 0o4755], 'EPERM'],
  ['creat', [0, 0o644], 'allow'],
  ['creat', [0, 0o6755], 'EPERM'],
  ['open', [0, 0o2, 0o6000], 'allow'],
  ['open', [0, 0x42, 0o644], 'allow'],
  ['open', [0, 0x42, 0o4644], 'EPERM'],
  ['mknod', [0, 0o010644], 'allow'],
  ['mknod', [0, 0o104755], 'EPERM'],
  ['mknod', [0, 0o020666], 'EPERM'],
];

/** Family, type and protocol, and the wishes that allow them: U for Unix sockets, I for the internet, L for lists of interfaces. */
const SOCKET_EXAMPLES: readonly (readonly [args: readonly [number, number, number], allowedBy: string])[] = [
  [[1, 1, 0], 'U'],
  [[1, 0x80805, 0], 'U'],
  [[1, 0x80802, 0], ''],
  [[1, 3, 0], ''],
  [[2, 1, 0], 'I'],
  [[2, 0x80801, 6], 'I'],
  [[2, 2, 17], 'I'],
  [[10, 1, 0], 'I'],
  [[10, 0x80802, 17], 'I'],
  [[2, 3, 1], ''],
  [[2, 2, 1], ''],
  [[2, 10, 0], ''],
  [[10, 3, 58], ''],
  [[2, 1, 132], ''],
  [[2, 1, 262], ''],
  [[2, 6, 33], ''],
  // NETLINK_ROUTE as getifaddrs() opens it; then another type, SOCK_DIAG, audit, uevents, netfilter and generic.
  [[16, 0x80003, 0], 'L'],
  [[16, 2, 0], 'L'],
  ...[4, 9, 12, 15, 16].map((protocol) => [[16, 3, protocol], ''] as const),
  ...[0, 3, 9, 11, 15, 16, 17, 29, 31, 38, 40, 44, 0x10002].map((family) => [[family, 1, 0], ''] as const),
];

const PAIR_EXAMPLES: readonly [args: readonly [number, number], allowedBy: string][] = [
  [[1, 1], 'UI-'],
  [[1, 0x80801], 'UI-'],
  [[1, 5], 'UI-'],
  [[1, 2], ''],
  [[1, 0x80003], ''],
  [[2, 1], ''],
  [[16, 1], ''],
  [[40, 1], ''],
];

function isAllowed(allowedBy: string, wish: typeof NOTHING): boolean {
  const has = (letter: string) => allowedBy.includes(letter);
  return (
    has('-') || (wish.unixSockets && has('U')) || (wish.inet && has('I')) || (wish.interfaces && has('L'))
  );
}

const big = (args: readonly number[]) => args.map(BigInt);

describe.each(ARCHES)('seccompProgram() for $arch', ({ arch, audit }) => {
  const programs = WISHES.map((wish) => ({ wish, program: seccompProgram(arch, wish) }));
  const has = (name: string) => RULES.some((rule) => rule.name === name && rule[arch] !== null);
  const always = RULES.filter(
    (rule) => rule.denied === undefined && rule.unless === undefined && rule[arch] !== null,
  );

  it.each(always.map((rule) => [rule.name, rule.answer] as const))('answers %s with %s', (name, answer) => {
    const call = { arch: audit, number: numberOf(name, arch), args: big([0, 0, 0, 0, 0, 0]) };
    expect(programs.map(({ program }) => run(program, call).answer)).toEqual(WISHES.map(() => answer));
  });

  it('allows pidfd_getfd to the wish for Unix sockets alone, whose launcher denies it to the command', () => {
    const call = { arch: audit, number: numberOf('pidfd_getfd', arch), args: big([0, 0, 0]) };
    const expected = WISHES.map(({ unixSockets }) => (unixSockets ? 'allow' : 'EPERM'));
    expect(programs.map(({ program }) => run(program, call).answer)).toEqual(expected);
    expect(RULES.filter(({ unless }) => unless !== undefined).map(({ name }) => name)).toEqual([
      'pidfd_getfd',
    ]);
  });

  it('has an example for and against every rule that looks at arguments', () => {
    const looking = RULES.filter((rule) => rule.denied !== undefined && !rule.name.startsWith('socket'));
    const answers = looking.map(({ name }) => EXAMPLES.filter((row) => row[0] === name).map((row) => row[2]));
    expect(answers.every((each) => each.includes('allow') && each.includes('EPERM'))).toBe(true);
  });

  it.each(EXAMPLES.filter(([name]) => has(name)))('answers %s%j with %s', (name, args, answer) => {
    const call = { arch: audit, number: numberOf(name, arch), args: big(args) };
    expect(programs.map(({ program }) => run(program, call).answer)).toEqual(WISHES.map(() => answer));
  });

  it.each(SOCKET_EXAMPLES)('allows socket%j to the wishes "%s"', (args, allowedBy) => {
    const call = { arch: audit, number: numberOf('socket', arch), args: big(args) };
    for (const { wish, program } of programs) {
      expect(run(program, call).answer).toBe(isAllowed(allowedBy, wish) ? 'allow' : 'EPERM');
    }
  });

  it.each(PAIR_EXAMPLES)('allows socketpair%j to the wishes "%s"', (args, allowedBy) => {
    const call = { arch: audit, number: numberOf('socketpair', arch), args: big(args) };
    for (const { wish, program } of programs) {
      expect(run(program, call).answer).toBe(isAllowed(allowedBy, wish) ? 'allow' : 'EPERM');
    }
  });

  it('allows every call of the kernel headers that has no row, within 16 instructions', () => {
    const others = [...headerNumbers(arch)].filter(
      ([name, number]) => number <= LAST_CALL && !RULES.some((rule) => rule.name === name),
    );
    expect(others.length).toBeGreaterThan(200);
    for (const [name, number] of others) {
      const { answer, steps } = run(seccompProgram(arch, NOTHING), { arch: audit, number, args: [] });
      expect({ name, answer, quick: steps <= 16 }).toEqual({ name, answer: 'allow', quick: true });
    }
  });

  it.each(['read', 'write', 'mmap', 'futex', 'execve', 'landlock_restrict_self', 'seccomp', 'pidfd_open'])(
    'allows %s',
    (name) => {
      const call = { arch: audit, number: numberOf(name, arch), args: big([1, 2, 3, 4, 5, 6]) };
      expect(programs.map(({ program }) => run(program, call).answer)).toEqual(WISHES.map(() => 'allow'));
    },
  );

  it('kills a process that calls with another architecture, whatever the call', () => {
    // i386, arm, riscv64, the other one of ours, and the bits of ours in other places.
    const others = [
      0x40000003,
      0x40000028,
      0xc00000f3,
      audit === X64 ? ARM64 : X64,
      audit & 0xff,
      0,
      0xffffffff,
    ];
    for (const { program } of programs) {
      for (const other of others) {
        for (const number of [0, 20, 63, LAST_CALL, 0x40000000]) {
          expect(run(program, { arch: other, number, args: [] }).answer).toBe('kill');
        }
      }
    }
  });

  it.each([LAST_CALL + 1, 512, 547, 0x3fffffff, 0x40000000, 0x40000001, 0x40000027, 0x80000000, 0xffffffff])(
    'answers number %d with ENOSYS, as it is too young or of the x32 ABI',
    (number) => {
      const answers = programs.map(({ program }) => run(program, { arch: audit, number, args: [] }).answer);
      expect(answers).toEqual(WISHES.map(() => 'ENOSYS'));
    },
  );

  it('ends every call with a known answer, and with that of the table where it does not look at arguments', () => {
    const rows = new Map(RULES.map((rule) => [rule[arch], rule]));
    const number = fc.oneof(
      fc.nat(LAST_CALL + 40),
      fc.nat(0xffffffff),
      fc.constantFrom(...RULES.flatMap((rule) => rule[arch] ?? [])),
    );
    const args = fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(number, args, fc.constantFrom(...programs), (nr, values, { program }) => {
        const { answer } = run(program, { arch: audit, number: nr, args: values });
        const row = rows.get(nr);
        if (nr > LAST_CALL) expect(answer).toBe('ENOSYS');
        else if (row === undefined) expect(answer).toBe('allow');
        else if (row.denied === undefined && row.unless === undefined) expect(answer).toBe(row.answer);
        else expect(['allow', row.answer]).toContain(answer);
      }),
      { numRuns: volume(2000, 30) },
    );
  });

  it('is not led astray by the upper halves of arguments', () => {
    const examples = EXAMPLES.filter(([name]) => has(name));
    const high = fc.array(fc.nat(0xffffffff), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.constantFrom(...examples),
        high,
        fc.constantFrom(...programs),
        (example, halves, { program }) => {
          const [name, low, answer] = example;
          const args = halves.map((half, index) => (BigInt(half) << 32n) | BigInt(low[index] ?? 0));
          expect(run(program, { arch: audit, number: numberOf(name, arch), args }).answer).toBe(answer);
        },
      ),
      { numRuns: volume(500, 30) },
    );
  });
});
