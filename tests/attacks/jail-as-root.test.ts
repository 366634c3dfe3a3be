import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { volume } from '../volume/volume.ts';

const OWN_UID = process.getuid?.() ?? 0;
const IS_ROOT = OWN_UID === 0;
/** Commands of a gateway that is root get the first user id of its settings. */
const RUN_UID = IS_ROOT ? 61_000 : OWN_UID;
const STRANGER = IS_ROOT ? 4_242 : OWN_UID;

describe('a command of a gateway that may be root', () => {
  const jail = sharedGateway();
  const sh = (script: string) => jail.run({ command: 'sh', args: ['-s'], stdin: script, tier: 'c' });

  test('is never root outside, and none of its helpers stays so', async () => {
    const args = ['-c', 'until [ -e go ]; do sleep 0.05; done'];
    const running = jail.run({ command: 'sh', args, tier: 'c' });
    const users: string[] = [];
    // It is looked at many times, always as the same.
    while (users.length < 20) {
      users.push(...usersOf(['sh', ...args, ''].join('\0')));
      await sleep(50);
    }
    writeFileSync(join(jail.workspace, 'go'), '');
    const end = await running;
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { isolation: { uid: '1000' } } });
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
    // Who is not known inside is shown as 65534. What is bound read-only is the same at any depth.
    const found = await sh(
      `find / -maxdepth ${volume(64, 5)} -path /proc -prune -o -writable \\( ! -type l ! -path '/dev/*' -user 65534 -printf 'of root: %p\\n' -o -type d ! -path '*pts*' -printf '%p\\n' \\) 2>/dev/null | sort`,
    );
    expect(found, found.message).toMatchObject({ code: 'ok' });
    expect(found.output?.stdout).not.toContain('of root');
    expect(found.output?.stdout).toMatch(/^\/dev\/shm\n\/home\/palisade\n(?:.*\n)*\/tmp\n/m);
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
