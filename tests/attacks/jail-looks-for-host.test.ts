import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, tryInside, tryOutside } from '../fixtures/jail/index.ts';

const PROGRAM = 'looks-around.py';
const CLOSED = /^(ENOENT|EACCES|EPERM|EROFS|ENXIO|ENODEV)$/;

describe('a command that looks for the host in /proc, /sys and /dev', () => {
  const jail = sharedGateway();
  const key = randomInt(1, 2 ** 31 - 1);
  const shm = join('/dev/shm', `palisade-canary-${key}`);
  const firstProcess = [
    'environ',
    'maps',
    'mem',
    'auxv',
    'stack',
    'syscall',
    'fd/1',
    'root/etc',
    'cwd/x',
  ].map((name) => `/proc/1/${name}`);
  const gateway = ['environ', 'cmdline', 'maps', 'status'].map((name) => `/proc/${process.pid}/${name}`);
  const kernel = [
    '/proc/kcore',
    '/proc/kmsg',
    '/proc/timer_list',
    '/proc/vmallocinfo',
    '/sys/kernel/vmcoreinfo',
  ];
  const settings = [
    ...['/proc/sys/kernel/core_pattern', '/proc/sys/vm/stat_interval', '/proc/sys/kernel/hostname'],
    ...['/proc/sys/kernel/ns_last_pid', '/proc/sys/user/max_user_namespaces', '/proc/self/oom_score_adj'],
    ...['/proc/1/oom_score_adj', '/proc/self/uid_map', '/proc/self/setgroups', '/proc/self/timens_offsets'],
  ];
  const opened = [
    '/proc/sysrq-trigger',
    '/proc/1/mem',
    '/proc/irq/0/smp_affinity',
    '/sys/fs/cgroup/cgroup.procs',
  ];
  const devices = [
    ...[
      '/dev/mem',
      '/dev/kmem',
      '/dev/port',
      '/dev/kvm',
      '/dev/fuse',
      '/dev/net/tun',
      '/dev/tty',
      '/dev/console',
    ],
    ...[
      '/dev/tty0',
      '/dev/tty1',
      '/dev/ttyS0',
      '/dev/pts/0',
      '/dev/vda',
      '/dev/sda',
      '/dev/loop-control',
      '/dev/kmsg',
    ],
    ...[
      '/dev/mqueue',
      '/dev/vsock',
      '/dev/userfaultfd',
      '/dev/hwrng',
      '/dev/cpu_dma_latency',
      '/dev/nvidia0',
    ],
  ];
  const wish = { readable: [...firstProcess, ...gateway, ...kernel], devices, key };
  let inside: Answers = {};
  let outside: Answers = {};
  let end: CommandEnd;
  let shmId = '';
  beforeAll(async () => {
    writeFileSync(shm, 'a canary');
    const made = `import ctypes; print(ctypes.CDLL(None).shmget(${key}, 4096, 0o1666))`;
    shmId = execFileSync('/usr/bin/python3', ['-c', made], { encoding: 'utf8' }).trim();
    const before = settings.slice(0, 2).map((path) => readFileSync(path, 'utf8'));
    const tried = await tryInside(jail, PROGRAM, { ...wish, writable: settings, opened });
    [end, inside] = [tried.end, tried.answers];
    expect(settings.slice(0, 2).map((path) => readFileSync(path, 'utf8'))).toEqual(before);
    // Outside nothing is written: the settings are the machine's.
    outside = tryOutside(PROGRAM, { ...wish, devices: [], writable: [], opened: [] }, jail.workspace);
  });
  afterAll(() => {
    rmSync(shm, { force: true });
    execFileSync('ipcrm', ['-m', shmId]);
  });

  test('sees its own processes alone', () => {
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { tier: 'c' } });
    expect(inside.pids).toBe('[1, 2]');
    expect(outside.pids).toContain(`${process.pid}`);
  });

  test.each(firstProcess)('learns nothing from %s', (path) => expect(inside[path]).toMatch(CLOSED));

  test.each(gateway)('does not find the gateway at %s', (path) => {
    expect(inside[path]).toBe('ENOENT');
    expect(outside[path]).not.toMatch(CLOSED);
  });

  test('reads no memory and no log of the kernel, and of its addresses zeros', () => {
    for (const path of kernel) expect(inside[path], path).toMatch(CLOSED);
    expect(inside.symbols).toMatch(/^(\{'0{16}'\}|set\(\)|ENOENT)$/);
  });

  test.each(settings)('does not write %s', (path) => expect(inside[`write ${path}`]).toMatch(CLOSED));

  test.each(opened)('does not open %s for writing', (path) => expect(inside[`open ${path}`]).toMatch(CLOSED));

  test('sees an empty network and a host of another name', () => {
    expect(inside).toMatchObject({ interfaces: 'lo', hostname: 'sandbox' });
    expect(inside.network).toBe('2');
    expect(outside.hostname).toBe(hostname());
    expect(Number(outside.network)).toBeGreaterThan(2);
  });

  test('has few devices: none that leads to memory, disks, terminals or another kernel', () => {
    const few = ['full', 'null', 'pts/ptmx', 'random', 'tty', 'urandom', 'zero'].map(
      (name) => `/dev/${name}`,
    );
    expect(inside.devices).toBe(few.join(' '));
    for (const path of devices) expect(inside[`device ${path}`], path).toMatch(CLOSED);
    expect((outside.devices ?? '').split(' ').length).toBeGreaterThan(few.length);
  });

  test('has terminals of its own, numbered from 0', () => {
    expect(inside['terminal of its own']).toBe('/dev/pts/0');
  });

  test('shares no memory with the host', () => {
    expect(inside).toMatchObject({ 'shared memory': 'ENOENT', shm: '[]' });
    expect(outside['shared memory']).toBe('found');
    expect(outside.shm).toContain(basename(shm));
  });

  test('has nothing mounted below its workspace', () => {
    expect(inside['mounts below']).toBe(`['${jail.workspace}']`);
  });
});
