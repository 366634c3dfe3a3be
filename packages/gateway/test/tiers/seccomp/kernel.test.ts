import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seccompProgram } from '../../../src/tiers/seccomp/filter.ts';
import { RULES } from '../../../src/tiers/seccomp/syscalls.table.ts';
import { EVERYTHING, HERE, INET, INTERFACES, NOTHING, Probe, type ProbeCall, UNIX } from './probe.ts';

const probe = new Probe();
const file = join(probe.directory, 'file');
const AT_FDCWD = -100;
const zeros = `x:${'00'.repeat(128)}`;
/** struct open_how with O_CREAT|O_WRONLY and mode 04755. */
const howSetuid = `x:${['41', 'ed09', '00'].map((hex) => hex.padEnd(16, '0')).join('')}`;

/** How the calls end on this kernel, by name. */
function answers(filter: Parameters<Probe['calls']>[0], calls: readonly ProbeCall[]): Record<string, string> {
  const ended = probe.calls(filter, calls);
  return Object.fromEntries(calls.map((call, index) => [call.join(' '), ended[index] ?? 'nothing']));
}

const all = (calls: readonly ProbeCall[], answer: string) =>
  Object.fromEntries(calls.map((call) => [call.join(' '), answer]));

/** What any user can do on a plain kernel, and a command must not. */
const ATTACKS: readonly (readonly [call: ProbeCall, answer: string])[] = [
  [['unshare', 0x10000000], 'EPERM'],
  [['clone', 0x10000011, 0, 0, 0, 0], 'EPERM'],
  [['ptrace', 0, 0, 0, 0], 'EPERM'],
  [['keyctl', 0, -3, 1], 'EPERM'],
  [['personality', 0x400000], 'EPERM'],
  [['socket', 16, 3, 0], 'EPERM'],
  [['socket', 1, 1, 0], 'EPERM'],
  [['socket', 2, 1, 0], 'EPERM'],
  [['socket', 10, 2, 0], 'EPERM'],
  [['socketpair', 1, 2, 0, zeros], 'EPERM'],
  [['prlimit64', process.pid, 7, 0, zeros], 'EPERM'],
  [['name_to_handle_at', AT_FDCWD, 's:/', `x:80`, zeros, 0], 'EPERM'],
];

/** Ways to make a set-id file; x64 has some that arm64 does not. */
const SET_ID: readonly (readonly [call: ProbeCall, answer: string])[] = [
  [['fchmodat', AT_FDCWD, `s:${file}`, 0o4755], 'EPERM'],
  [['fchmodat', AT_FDCWD, `s:${file}`, 0o2755], 'EPERM'],
  [['fchmodat2', AT_FDCWD, `s:${file}`, 0o4755, 0], 'EPERM'],
  [['openat', AT_FDCWD, `s:${file}`, 0x41, 0o4755], 'EPERM'],
  [['openat2', AT_FDCWD, `s:${file}`, howSetuid, 24], 'ENOSYS'],
  [['mknodat', AT_FDCWD, `s:${file}`, 0o104755, 0], 'EPERM'],
  ...(HERE === 'x64'
    ? ([
        [['chmod', `s:${file}`, 0o6755], 'EPERM'],
        [['creat', `s:${file}`, 0o4755], 'EPERM'],
        [['open', `s:${file}`, 0x41, 0o4755], 'EPERM'],
        [['mknod', `s:${file}`, 0o104755, 0], 'EPERM'],
      ] as const)
    : []),
];

/** What ordinary programs do all the time. */
const ORDINARY: readonly ProbeCall[] = [
  ['read', 0, zeros, 0],
  ['write', 1, zeros, 0],
  ['getpid'],
  ['clone', 17, 0, 0, 0, 0],
  ['openat', AT_FDCWD, 's:/', 0, 0o6000],
  ['openat', AT_FDCWD, `s:${file}`, 0x41, 0o644],
  ['fchmodat', AT_FDCWD, `s:${file}`, 0o755],
  ['mknodat', AT_FDCWD, `s:${file}.fifo`, 0o010644, 0],
  ['personality', 0xffffffff],
  ['personality', 0x40000],
  ['prlimit64', 0, 7, 0, zeros],
  ['socketpair', 1, 0x80801, 0, zeros],
  ['socketpair', 1, 5, 0, zeros],
  ['pidfd_open', process.pid, 0],
  ['memfd_create', 's:name', 0],
  ['inotify_init1', 0],
];

function freshFile(call: ProbeCall): void {
  rmSync(file, { force: true });
  if (!call[0].startsWith('fchmod') && call[0] !== 'chmod') return;
  writeFileSync(file, '');
  chmodSync(file, 0o600);
}

const setIdBits = () => (existsSync(file) ? statSync(file).mode & 0o6000 : 0);

describe('under the filter of this machine', () => {
  it('the kernel answers every call that is always denied as the table says', () => {
    const rows = RULES.filter((rule) => rule.denied === undefined && rule[HERE] !== null);
    // With arguments that the kernel itself would refuse, so that a hole in the filter harms nothing.
    const calls = rows.map((rule): ProbeCall => [rule.name, -1, -1, -1, -1, -1, -1]);
    const expected = rows.map((rule, index) => [calls[index]?.join(' ') ?? '', rule.answer]);
    expect(answers(NOTHING, calls)).toEqual(Object.fromEntries(expected));
  });

  it('what any user can do otherwise is denied', () => {
    const calls = ATTACKS.map(([call]) => call);
    const expected = ATTACKS.map(([call, answer]) => [call.join(' '), answer]);
    expect(answers(null, calls)).toEqual(all(calls, 'ok'));
    expect(answers(NOTHING, calls)).toEqual(Object.fromEntries(expected));
  });

  it('io_uring does not exist, although this kernel knows it', () => {
    // A kernel on which it is switched off says EPERM.
    const call: ProbeCall = ['io_uring_setup', 1, zeros];
    expect(['ok', 'EPERM']).toContain(probe.calls(null, [call])[0]);
    expect(probe.calls(NOTHING, [call])).toEqual(['ENOSYS']);
  });

  it.each(SET_ID)('a set-id file is not made by %j', (call, answer) => {
    freshFile(call);
    expect(probe.calls(null, [call])).toEqual(['ok']);
    expect(setIdBits()).not.toBe(0);
    freshFile(call);
    expect(probe.calls(EVERYTHING, [call])).toEqual([answer]);
    expect(setIdBits()).toBe(0);
  });

  it('ordinary calls work', () => {
    writeFileSync(file, '');
    expect(answers(NOTHING, ORDINARY)).toEqual(all(ORDINARY, 'ok'));
  });

  it('clone3 and openat2 are missing, so that programs go the older way', () => {
    const calls: ProbeCall[] = [
      ['clone3', zeros, 64],
      ['openat2', AT_FDCWD, 's:/', zeros, 24],
    ];
    expect(answers(null, calls)).toEqual(all(calls, 'ok'));
    expect(answers(NOTHING, calls)).toEqual(all(calls, 'ENOSYS'));
  });

  it.each([0x5412, 0x541c, 0x541d, 0x5423, 0x1_0000_5412])(
    'a terminal does not hear request %d',
    (request) => {
      // Standard input is no terminal here: the kernel says so when the call reaches it.
      const call: ProbeCall = ['ioctl', 0, request, zeros];
      expect(probe.calls(null, [call])).toEqual(['ENOTTY']);
      expect(probe.calls(EVERYTHING, [call])).toEqual(['EPERM']);
      expect(probe.calls(EVERYTHING, [['ioctl', 0, 0x5401, zeros]])).toEqual(['ENOTTY']);
    },
  );

  it.each([
    ['vsock', 40, 1, 0],
    ['alg', 38, 5, 0],
    ['SCTP', 2, 1, 132],
    ['SOCK_PACKET', 2, 10, 0x300],
    ['MPTCP', 2, 1, 262],
    ['a ping', 2, 2, 1],
    ['uevents', 16, 3, 15],
    ['netfilter', 16, 3, 12],
    ['generic netlink', 16, 3, 16],
  ])('no wish gives %s', (_, ...args) => {
    expect(probe.calls(EVERYTHING, [['socket', ...args]])).toEqual(['EPERM']);
  });

  it('each wish gives its own sockets and no others', () => {
    const calls: ProbeCall[] = [
      ['socket', 1, 1, 0],
      ['socket', 2, 0x80801, 6],
      ['socket', 10, 2, 17],
      ['socketpair', 1, 2, 0, zeros],
      ['socket', 16, 3, 0],
    ];
    expect(probe.calls(UNIX, calls)).toEqual(['ok', 'EPERM', 'EPERM', 'EPERM', 'EPERM']);
    expect(probe.calls(INET, calls)).toEqual(['EPERM', 'ok', 'ok', 'EPERM', 'EPERM']);
    expect(probe.calls(INTERFACES, calls)).toEqual(['EPERM', 'EPERM', 'EPERM', 'EPERM', 'ok']);
    expect(probe.calls(EVERYTHING, calls)).toEqual(['ok', 'ok', 'ok', 'EPERM', 'ok']);
  });

  it('one end of a socket pair reaches no socket of the host', () => {
    const streams = ['stream: a pair, not reached', 'seqpacket: a pair, not reached'];
    const open = ['datagram: a pair, reached', 'raw: a pair, reached', ...streams];
    expect(probe.reach(null)).toEqual(open);
    for (const wish of [INET, UNIX])
      expect(probe.reach(wish)).toEqual([
        'datagram: no pair, not reached',
        'raw: no pair, not reached',
        ...streams,
      ]);
  });

  it('a call that is younger than the table, or of the x32 ABI, does not exist', () => {
    expect(probe.calls(NOTHING, [['470'], ['547'], [String(0x40000027)]])).toEqual([
      'ENOSYS',
      'ENOSYS',
      'ENOSYS',
    ]);
  });

  it('a process of another architecture is killed at its first call', () => {
    const other = seccompProgram(HERE === 'x64' ? 'arm64' : 'x64', EVERYTHING);
    expect(probe.calls(seccompProgram(HERE, EVERYTHING), [['getpid']])).toEqual(['ok']);
    expect(probe.calls(other, [['getpid']])).toEqual(['SIGSYS']);
  });
});

// Only x64 has a second way into the kernel that a 64-bit program can take; for arm64 there is no such test to run.
if (HERE === 'x64') {
  describe('under the filter of x64', () => {
    it('a 32-bit call through int 0x80 kills the process', () => {
      expect(probe.calls(null, [['int80']])).toEqual(['ok']);
      expect(probe.calls(EVERYTHING, [['int80']])).toEqual(['SIGSYS']);
    });
  });
}
