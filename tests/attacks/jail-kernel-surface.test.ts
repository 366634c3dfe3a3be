import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, answersIn, asNobody, compileInto } from '../fixtures/jail/index.ts';

const DENIED = /^(EPERM|ENOSYS|SIGSYS)$/;

/** What anybody may do in namespaces of his own: each of these is a wall that only the filter is. */
const OPEN_WITHOUT_FILTER = [
  ...['unshare user', 'unshare mounts', 'unshare net', 'clone user', 'clone pid and user', 'clone3'],
  ...[
    'setns of process 1',
    'mount',
    'umount2',
    'chroot',
    'fsopen',
    'mount_setattr',
    'adjtimex',
    'personality',
  ],
  ...['ptrace traceme', 'ptrace seize process 1', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd'],
  ...['prlimit of the parent', 'add_key', 'keyctl', 'name_to_handle_at', 'socket unix datagram'],
  ...[
    'socket unix datagram with high bits',
    'socket netlink uevents',
    'socket netlink netfilter',
    'socket packet',
  ],
  ...['socket raw', 'socketpair datagram', 'socketpair raw', 'chmod set-id', 'chmod set-gid with high bits'],
  ...['fchmod set-id', 'openat set-id', 'openat2 set-id', 'mknod set-id', 'file capabilities'],
];

describe('a command that tries every dangerous system call', () => {
  const jail = sharedGateway();
  // Not in the workspace, which nobody else can enter; and gone with the test, as it gets set-id files.
  const place = mkdtempSync('/var/tmp/palisade-kernel-');
  let inside: Answers = {};
  let outside: Answers = {};
  let end: CommandEnd;
  beforeAll(async () => {
    compileInto(jail.workspace, 'asks-the-kernel.c');
    end = await jail.run({ command: './asks-the-kernel', tier: 'c' });
    inside = answersIn(end.output?.stdout ?? '');
    const program = compileInto(place, 'asks-the-kernel.c');
    chmodSync(place, 0o777);
    const words = [
      '--user',
      '--map-root-user',
      '--mount',
      '--pid',
      '--net',
      '--ipc',
      '--uts',
      '--fork',
      program,
    ];
    const control = spawnSync('unshare', words, { cwd: place, encoding: 'utf8', ...asNobody() });
    outside = answersIn(control.stdout);
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  test('is denied every single one', () => {
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { tier: 'c' } });
    expect(Object.keys(inside).length).toBeGreaterThan(100);
    expect(Object.keys(inside)).toEqual(Object.keys(outside));
    expect(Object.entries(inside).filter(([, answer]) => !DENIED.test(answer))).toEqual([]);
  });

  test('would be given these without the filter', () => {
    expect(OPEN_WITHOUT_FILTER.filter((probe) => outside[probe] !== 'done')).toEqual([]);
  });

  test('is ended for a call of another architecture', () => {
    const expected = process.arch === 'x64' ? 'SIGSYS' : undefined;
    expect(inside['int 0x80 getpid']).toBe(expected);
  });

  test('leaves no set-id file and no device', () => {
    const bad = end.output?.findings.filter(({ why }) => ['setuid', 'setgid', 'device'].includes(why));
    expect(bad).toEqual([]);
    expect(end.output?.changes.map(({ path }) => path)).toContain('set-id');
  });

  test.each([
    ['unshare', ['-Ur', 'true']],
    ['bwrap', ['--ro-bind', '/usr', '/usr', '/usr/bin/true']],
    ['bwrap', ['--unshare-all', '--ro-bind', '/usr', '/usr', '/usr/bin/true']],
    ['nsenter', ['--target', '1', '--all', 'true']],
    ['mount', ['-t', 'tmpfs', 'none', 'm']],
    ['/usr/sbin/chroot', ['.', 'true']],
    ['su', ['-c', 'true']],
  ])('gets nowhere with %s', async (command, args) => {
    const { code, output } = await jail.run({ command, args, tier: 'c' });
    expect(code, output?.stderr).toBe('tier/exited');
    expect(output?.exitCode).not.toBe(0);
  });

  test('has no capability and no way to get one, and its receipt says so', async () => {
    const NONE = '0000000000000000';
    const { output, execution } = await jail.run({
      command: 'sh',
      args: ['-c', 'cat /proc/self/status'],
      tier: 'c',
    });
    const status = output?.stdout ?? '';
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      expect(status).toMatch(new RegExp(`^${set}:\\s*${NONE}$`, 'm'));
    }
    expect(status).toMatch(/^NoNewPrivs:\s*1$/m);
    expect(status).toMatch(/^Seccomp:\s*2$/m);
    expect(execution?.isolation).toMatchObject({
      ...{ boundary: 'bubblewrap', nnp: '1', seccomp: '2', uid: '1000', gid: '1000', interfaces: 'lo' },
      ...{ capinh: NONE, capprm: NONE, capeff: NONE, capbnd: NONE, capamb: NONE },
    });
  });
});
