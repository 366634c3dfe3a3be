import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';

const OWN_UID = process.getuid?.() ?? 0;
const IS_ROOT = OWN_UID === 0;
/** Commands of a gateway that is root get the first user id of its settings. */
const RUN_UID = IS_ROOT ? 61_000 : OWN_UID;
const STRANGER = IS_ROOT ? 4_242 : OWN_UID;

describe('a command of a gateway that may be root', () => {
  const jail = sharedGateway();
  const sh = (script: string) => jail.run({ command: 'sh', args: ['-s'], stdin: script, tier: 'c' });

  test('is never root outside, and none of its helpers stays so', async () => {
    const running = jail.run({ command: 'sleep', args: ['1.0123'], tier: 'c' });
    const users: string[] = [];
    const looking = setInterval(() => users.push(...usersOf('sleep\u00001.0123\u0000')), 20);
    const end = await running;
    clearInterval(looking);
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { isolation: { uid: '1000' } } });
    // Between its start and its end it was seen many times, always as the same.
    expect([...new Set(users)]).toEqual([String(RUN_UID)]);
    expect(RUN_UID).not.toBe(0);
  });

  test('leaves files that belong to the owner of the workspace, and takes none over', async () => {
    const { uid, gid } = statSync(jail.workspace);
    const end = await sh('mkdir -p a/b && echo x > a/b/made && ln -s made a/b/link && id -u');
    expect(end, end.message).toMatchObject({ code: 'ok', output: { stdout: '1000\n' } });
    for (const path of ['a', 'a/b', 'a/b/made', 'a/b/link']) {
      expect(lstatSync(join(jail.workspace, path)), path).toMatchObject({ uid, gid });
    }
    expect((await sh('chown 0:0 a')).code).toBe('tier/exited');
    expect((await sh('chgrp 0 a')).code).toBe('tier/exited');
  });

  test('neither reads nor writes what belongs to others in its workspace and is closed', async () => {
    const file = join(jail.workspace, 'of-another');
    writeFileSync(file, 'theirs');
    chownSync(file, STRANGER, STRANGER);
    // An ordinary user has no files of others; there what is closed to its owner stands for them.
    chmodSync(file, IS_ROOT ? 0o600 : 0o000);
    for (const act of [
      'cat of-another',
      'echo x >> of-another',
      'chmod 777 of-another && cat of-another && false',
    ]) {
      expect((await sh(act)).code, act).toBe('tier/exited');
    }
    chmodSync(file, 0o600);
    expect(readFileSync(file, 'utf8')).toBe('theirs');
  });

  test('writes no path that belongs to root', async () => {
    // Who is not known inside is shown as 65534.
    const found = await sh(
      'find / \\( -path /proc -o -path /dev \\) -prune -o ! -type l -user 65534 -writable -print 2>/dev/null | head',
    );
    expect(found, found.message).toMatchObject({ code: 'ok', output: { stdout: '' } });
    const own = await sh(
      'find / -path /proc -prune -o -type d -writable -print 2>/dev/null | grep -v pts | sort | head -4',
    );
    expect(own.output?.stdout).toContain('/dev/shm\n/home/palisade\n/tmp\n');
  });

  test('gains nothing from a set-id program or a device in its workspace', async () => {
    const copy = join(jail.workspace, 'id-as-owner');
    spawnSync('cp', ['/usr/bin/id', copy]);
    chmodSync(copy, 0o6755);
    spawnSync('mknod', [join(jail.workspace, 'null'), 'c', '1', '3']);
    const end = await jail.run({ command: './id-as-owner', args: ['-u'], tier: 'c' });
    expect(end, end.message).toMatchObject({ code: 'ok', output: { stdout: '1000\n' } });
    const opened = await sh('test -e null || exit 1; exec 3<> null');
    expect(opened.code).toBe('tier/exited');
    expect(dirname(copy)).toBe(jail.workspace);
  });

  test('is found out when it changes a set-id program in place', async () => {
    const target = join(jail.workspace, 'set-id');
    writeFileSync(target, 'x'.repeat(4096));
    chmodSync(target, 0o4755);
    const script =
      'import mmap\nwith open("set-id", "r+b") as f:\n  m = mmap.mmap(f.fileno(), 4096); m[0:4] = b"harm"; m.flush()';
    const end = await jail.run({ command: '/usr/bin/python3', args: ['-c', script], tier: 'c' });
    expect(readFileSync(target, 'utf8').slice(0, 4)).toBe('harm');
    const isStill = (statSync(target).mode & 0o4000) !== 0;
    const found = end.output?.findings.filter(({ path }) => path === 'set-id').map(({ why }) => why);
    expect(found).toEqual(isStill ? ['setuid'] : []);
    expect(end.output?.changes.map(({ path }) => path)).toContain('set-id');
  });
});

/** The user ids, all four the same or not, of the processes with these words. */
function usersOf(words: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        if (readFileSync(`/proc/${name}/cmdline`, 'utf8') !== words) return [];
        const [, ids = ''] = /^Uid:\t(.*)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8')) ?? [];
        return ids.split('\t');
      } catch {
        // It has ended.
        return [];
      }
    });
}
