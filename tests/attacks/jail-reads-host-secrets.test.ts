import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { matchesPattern } from '../../packages/gateway/src/config/grammar.ts';
import { ETC_BINDS } from '../../packages/gateway/src/tiers/c-bubblewrap/root.table.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, tryInside, tryOutside } from '../fixtures/jail/index.ts';

const SECRET = 'a secret of the host';
const PROGRAM = 'reaches-for-files.py';
/** How the kernel says that there is nothing. */
const NOTHING = /^(ENOENT|ENOTDIR|ENXIO)$/;
/** And how it says that what is there cannot be had. */
const CLOSED = /^(ENOENT|ENOTDIR|EACCES|EPERM|EROFS|EXDEV|ELOOP|EISDIR)$/;

describe('a command that reaches for files of the host', () => {
  const jail = sharedGateway();
  const name = `palisade-canary-${randomUUID()}`;
  const base = dirname(jail.workspace);
  // Open to everybody, so that it is the jail and not their modes that keeps them.
  const files = {
    beside: join(base, 'beside', name),
    state: join(jail.stateDir, name),
    policy: join(jail.stateDir, 'policies', name),
    tmp: join('/tmp', name),
    varTmp: join('/var/tmp', name),
    shm: join('/dev/shm', name),
  };
  const directories = { base, stateDir: jail.stateDir, home: homedir() };
  const system = [
    ...['/etc/shadow', '/etc/sudoers', '/etc/ssh', '/etc/ssl/private', '/etc/machine-id', '/root', '/boot'],
    ...[
      '/run',
      '/var/run',
      '/var/lib',
      '/var/log',
      '/var/run/docker.sock',
      '/run/containerd',
      '/srv',
      '/opt',
    ],
    ...['/sys', '/sys/fs/cgroup', '/mnt', '/media', '/oldroot', '/newroot', '/dev/shm/.x', '/home/root'],
  ];
  const closed = [
    '/',
    '/usr/bin',
    '/etc',
    '/home',
    '/dev',
    '/proc',
    '/.palisade',
    '/var',
    base,
    jail.stateDir,
  ];
  const wish = { files, directories, system, names: [name], writable: [base] };
  let inside: Answers = {};
  let outside: Answers = {};
  beforeAll(async () => {
    mkdirSync(dirname(files.beside));
    for (const path of [base, dirname(files.beside), jail.stateDir, dirname(files.policy)])
      chmodSync(path, 0o755);
    for (const path of Object.values(files)) writeFileSync(path, SECRET, { mode: 0o666 });
    const { end, answers } = await tryInside(jail, PROGRAM, { ...wish, writable: closed });
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { tier: 'c' } });
    inside = answers;
    for (const path of Object.values(files)) expect(readFileSync(path, 'utf8')).toBe(SECRET);
    for (const path of closed) expect(existsSync(join(path, 'made-inside')), path).toBe(false);
    outside = tryOutside(PROGRAM, wish, jail.workspace);
  });
  afterAll(() => {
    for (const path of Object.values(files)) rmSync(path, { force: true });
  });

  test.each(Object.keys(files))('reads and writes the canary "%s" by no way', (canary) => {
    const tried = Object.entries(inside).filter(([probe]) => probe.startsWith(`${canary} `));
    expect(tried).toHaveLength(8);
    // Where the jail has a directory of that name, it is its own: what is written there stays there.
    const isOwn = canary === 'tmp' || canary === 'shm';
    for (const [probe, answer] of tried.slice(0, isOwn ? -1 : undefined))
      expect(answer, probe).toMatch(CLOSED);
    expect(inside[`${canary} read`]).toMatch(NOTHING);
    expect(inside[`${canary} through_link`]).toMatch(NOTHING);
    expect(outside).toMatchObject({
      [`${canary} read`]: SECRET,
      [`${canary} through_link`]: SECRET,
      [`${canary} upward`]: SECRET,
      [`${canary} write`]: 'written',
    });
  });

  test('sees no directory around its workspace, and makes nothing there', () => {
    expect(inside).toMatchObject({ 'home listed': 'ENOENT', 'stateDir listed': 'ENOENT' });
    // The way down to the workspace is made up and holds the workspace alone.
    expect(inside['base listed']).toBe(`['${basename(jail.workspace)}']`);
    expect(outside['base listed']).toContain('state');
  });

  test('finds no canary under any name in its whole root', () => {
    // Those two it has made itself, in memory.
    expect(inside.walk).toBe(`['${files.shm}', '${files.tmp}']`);
    expect(namesIn(outside.walk)).toEqual(expect.arrayContaining(Object.values(files)));
  });

  test('has none of the places where systems keep secrets and sockets', () => {
    expect(Object.fromEntries(system.map((path) => [path, inside[path]]))).toEqual(
      Object.fromEntries(system.map((path) => [path, 'absent'])),
    );
    expect(system.filter((path) => outside[path] === 'there').length).toBeGreaterThan(5);
  });

  test('has a root of few names and an /etc that is made up', () => {
    const root = [
      '.palisade',
      'bin',
      'dev',
      'etc',
      'home',
      'lib',
      'lib32',
      'lib64',
      'libx32',
      'proc',
      'sbin',
      'tmp',
    ];
    for (const entry of namesIn(inside.root)) expect([...root, 'usr', 'var']).toContain(entry);
    const made = ['gitconfig', 'group', 'hostname', 'hosts', 'nsswitch.conf', 'passwd'];
    const shown = [...made, ...ETC_BINDS.map(({ path }) => path.split('/')[2] ?? '')];
    const strange = namesIn(inside.etc).filter((entry) => !shown.some((name) => matchesPattern(name, entry)));
    expect(strange).toEqual([]);
    // Where people keep credentials, and what names this machine, is in no row.
    const secret = /passwd|shadow|ssh|private|sudoers|machine-id|npmrc|pip|profile|apt|wgetrc|settings/;
    expect(ETC_BINDS.filter(({ path }) => secret.test(path))).toEqual([]);
    expect(namesIn(outside.root).length).toBeGreaterThan(namesIn(inside.root).length);
  });

  test('writes nowhere but in its workspace and the places in memory', () => {
    for (const path of closed) {
      expect(inside[`append ${path}`], path).toMatch(CLOSED);
      expect(inside[`make ${path}`], path).toMatch(CLOSED);
    }
    expect(outside).toMatchObject({ [`append ${base}`]: 'written', [`make ${base}`]: 'made' });
  });
});

function namesIn(list: string | undefined): string[] {
  return [...(list ?? '').matchAll(/'([^']*)'/g)].map(([, name]) => name ?? '');
}
