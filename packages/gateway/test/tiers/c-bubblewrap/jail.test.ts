import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sampleTerms } from '../terms.ts';
import { makeJailDirectories, runOutside, shell, without } from './run-jail.ts';

type Places = ReturnType<typeof makeJailDirectories>;
const MIB = 1024 * 1024;

describe('a jail hides the host', () => {
  test.each<[string, (places: Places) => string, RegExp, RegExp]>([
    ['a file beside the workspace', ({ secret }) => `cat ${secret}`, /hunter2/, /No such file/],
    ['a file behind a link', ({ secret }) => `ln -sf ${secret} l; cat l`, /hunter2/, /No such file/],
    ['a file behind a climb', () => 'cat ../secret', /hunter2/, /No such file/],
    ['the passwords', () => 'test -e /etc/shadow && echo there || echo absent', /there/, /absent/],
    ['the users', () => 'grep -c . /etc/passwd', /./, /^3$/m],
    [
      'the settings of git',
      () => 'test -e /etc/gitconfig && echo there || echo absent',
      /there|absent/,
      /absent/,
    ],
    [
      'the id of the machine',
      () => 'test -e /etc/machine-id && echo there || echo absent',
      /there|absent/,
      /absent/,
    ],
    ['private keys', () => 'test -e /etc/ssl/private && echo there || echo absent', /there|absent/, /absent/],
    ['the homes of others', () => 'test -e /root && echo there || echo absent', /there/, /absent/],
    ['the kernel', () => 'test -e /sys/kernel && echo there || echo absent', /there/, /absent/],
    ['the services', () => 'test -e /run && echo there || echo absent', /there/, /absent/],
    ['the state of the system', () => 'test -e /var/lib && echo there || echo absent', /there/, /absent/],
    ['the processes', () => `ls -d /proc/${process.pid}`, /^\/proc\//, /No such file/],
  ])('%s', async (_, line, outside, inside) => {
    const places = makeJailDirectories();
    const free = await runOutside(['/bin/sh', '-c', line(places)], places.workspace);
    expect(free.out + free.errors).toMatch(outside);
    const held = await shell(line(places), places);
    expect(held.out + held.errors).toMatch(inside);
    expect(held.out + held.errors).not.toContain('hunter2');
  });

  test('its name, and every namespace but a network that is shared on purpose', async () => {
    const places = makeJailDirectories();
    const line =
      'cd /proc/self/ns && for n in user pid mnt ipc uts cgroup net; do readlink $n; done; uname -n';
    const free = (await runOutside(['/bin/sh', '-c', line])).out.trim().split('\n');
    const held = (await shell(line, places)).out.trim().split('\n');
    const shared = (await shell(line, places, { terms: { egress: 'none' } })).out.trim().split('\n');
    expect(held).toHaveLength(8);
    expect(held.filter((name) => free.includes(name))).toEqual([]);
    expect(held.at(-1)).toBe('sandbox');
    expect(shared.filter((name) => free.includes(name))).toEqual([free[6]]);
  });

  test('its devices', async () => {
    const { out } = await shell('ls /dev', makeJailDirectories());
    const links = ['core', 'fd', 'ptmx', 'stderr', 'stdin', 'stdout'];
    const nodes = ['full', 'null', 'pts', 'random', 'shm', 'tty', 'urandom', 'zero'];
    expect(out.trim().split('\n').sort()).toEqual([...links, ...nodes].sort());
  });

  test('its network', async () => {
    const places = makeJailDirectories();
    const line =
      'grep -o "^ *[a-z0-9]*:" /proc/net/dev | tr -d " \\n"; echo; cat /proc/net/route | grep -c .';
    const free = await runOutside(['/bin/sh', '-c', line]);
    const shared = await shell(line, places, { terms: { egress: 'none' } });
    const held = await shell(line, places);
    expect(shared.out).toBe(free.out);
    expect(held.out).toBe('lo:\n1\n');
  });

  test('the environment and the command line of what built it', async () => {
    const places = makeJailDirectories();
    const line = 'tr "\\0" "\\n" </proc/1/environ; tr "\\0" "\\n" </proc/1/cmdline';
    const env = { SECRET: 'hunter2' };
    const open = await shell(line, places, { env, change: without('--as-pid-1') });
    expect(open.out).toContain('SECRET=hunter2');
    expect(open.out).toContain('bwrap');
    const held = await shell(line, places, { env });
    expect(held.out).toContain('HOME=/home/palisade');
    expect(held.out).not.toMatch(/SECRET|hunter2|bwrap|--args/);
  });
});

describe('a jail can be written', () => {
  const EVERYWHERE =
    'find / -maxdepth 4 -type d -not -path "/proc*" -not -path "/usr/*/*" | ' +
    'while read -r d; do touch "$d/probe" 2>/dev/null && echo "$d"; done | sort';

  test('in the workspace and in memory, and nowhere else', async () => {
    const places = makeJailDirectories();
    const held = await shell(EVERYWHERE, places);
    const writable = held.out.trim().split('\n');
    expect(writable.sort()).toEqual(['/dev/shm', '/home/palisade', '/tmp', places.workspace].sort());
    expect(readdirSync(places.workspace)).toEqual(['probe']);
  });

  test.each([
    ['/', '/x'],
    ['/dev', '/dev/x'],
  ])('below %s only when it is not closed', async (mount, file) => {
    const places = makeJailDirectories();
    const open = await shell(`touch ${file} && echo wrote`, places, {
      change: without('--remount-ro', mount),
    });
    expect(open.out).toBe('wrote\n');
    const held = await shell(`touch ${file} && echo wrote`, places);
    expect(held.errors).toContain('Read-only file system');
  });

  test('in /proc only when it is not closed', async () => {
    const places = makeJailDirectories();
    const line = '(echo x >/proc/self/comm) && echo wrote';
    const open = await shell(line, places, { change: without('--remount-ro', '/proc') });
    expect(open.out).toBe('wrote\n');
    expect((await shell(line, places)).errors).toMatch(/Read-only file system/);
  });

  test.each(['/tmp', '/home/palisade', '/dev/shm'])('in %s as far as its size goes', async (place) => {
    const places = makeJailDirectories();
    const terms = { limits: { ...sampleTerms().limits, memoryBytes: 8 * MIB } };
    const fill = (bytes: number, path: string) =>
      shell(`head -c ${bytes} /dev/zero >${path}/x && wc -c <${path}/x`, places, { terms });
    expect((await fill(MIB, place)).out).toBe(`${MIB}\n`);
    expect((await fill(5 * MIB, place)).errors).toContain('No space left');
    expect((await fill(5 * MIB, places.workspace)).out).toBe(`${5 * MIB}\n`);
  });
});

describe('a command in a jail', () => {
  test('has no capability, gains none, and is filtered', async () => {
    const line = 'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status | tr "\\t\\n" "  "';
    const free = await runOutside(['/bin/sh', '-c', line]);
    expect(free.out).not.toMatch(/CapBnd: 0{16}/);
    const held = await shell(line, makeJailDirectories());
    const sets = ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => `Cap${set}: ${'0'.repeat(16)}`);
    expect(held.out.trim()).toBe([...sets, 'NoNewPrivs: 1', 'Seccomp: 2'].join(' '));
  });

  test.each([
    ['a user namespace', 'unshare -U echo in'],
    ['a mount', 'unshare -Urm sh -c "mount -t tmpfs none /mnt && echo in"'],
    ['a jail of its own', 'bwrap --ro-bind / / echo in'],
  ])('cannot make %s', async (_, line) => {
    expect((await runOutside(['/bin/sh', '-c', line])).out).toBe('in\n');
    const held = await shell(line, makeJailDirectories());
    expect(held.out).toBe('');
    expect(held.code).not.toBe(0);
  });

  test('finds its working directory, its home and its tools', async () => {
    const places = makeJailDirectories();
    mkdirSync(`${places.workspace}/sub`, { mode: 0o777 });
    const line =
      'pwd; echo $HOME $TMPDIR $LANG; id -un; date +%Z; echo a b | awk "{print \\$2}"; getent hosts localhost';
    const { out } = await shell(line, places, {
      terms: { cwd: `${places.workspace}/sub`, env: { LANG: 'C.UTF-8' } },
    });
    const [pwd, vars, user, zone, word, hosts] = out.split('\n');
    expect([pwd, vars]).toEqual([`${places.workspace}/sub`, '/home/palisade /tmp C.UTF-8']);
    expect([user, word]).toEqual(['palisade', 'b']);
    expect(zone).toBe((await runOutside(['/bin/date', '+%Z'])).out.trim());
    expect(hosts).toMatch(/^(::1|127\.0\.0\.1)/);
  });

  test('finds a workspace in /tmp under both of its names', async () => {
    const places = makeJailDirectories('/tmp');
    const { out, code } = await shell(`pwd; echo x >${places.workspace}/f; cat /workspace/f`, places);
    expect([out, code]).toEqual(['/workspace\nx\n', 0]);
    expect(readdirSync(places.workspace)).toEqual(['f']);
  });

  test('reads what the terms name and cannot write it', async () => {
    const places = makeJailDirectories();
    const extra = makeJailDirectories().workspace;
    await runOutside(['/bin/sh', '-c', 'echo page >book'], extra);
    const line = `cat ${extra}/book; echo x >>${extra}/book`;
    expect((await shell(line, places)).out).toBe('');
    const shown = await shell(line, places, { terms: { readOnly: [extra] } });
    expect(shown.out).toBe('page\n');
    expect(shown.errors).toContain('Read-only file system');
  });
});

describe('a workspace', () => {
  test('that is swapped for a link after it was opened leads nowhere else', async () => {
    const line = 'ls; touch came-here';
    const elsewhere = makeJailDirectories().workspace;
    writeFileSync(`${elsewhere}/secret`, 'hunter2');
    const swap = (places: Places) => () => {
      renameSync(places.workspace, `${places.workspace}.aside`);
      symlinkSync(elsewhere, places.workspace);
    };
    const fooled = makeJailDirectories();
    const byName = (args: readonly string[]) =>
      args.map((word, index) =>
        word === '--bind-fd' ? '--bind' : args[index - 1] === '--bind-fd' ? fooled.workspace : word,
      );
    const open = await shell(line, fooled, { meanwhile: swap(fooled), change: byName });
    expect(open.out).toContain('secret');

    const places = makeJailDirectories();
    const held = await shell(line, places, { meanwhile: swap(places) });
    expect(held.out).not.toContain('secret');
    expect(readdirSync(`${places.workspace}.aside`)).toEqual(['came-here']);
  });

  test('keeps what is protected, and the directories above it in their place', async () => {
    const attempts = ['(echo x >.git/hooks/run) && echo wrote', 'mv .git old && echo moved; mv old .git'];
    const line = [...attempts, 'touch .git/free && echo free'].join('; ');
    const open = await makeRepository();
    expect((await shell(line, open)).out).toBe('wrote\nmoved\nfree\n');
    const kept = await shell(line, await makeRepository(), {
      terms: { protectedPaths: ['.git/hooks'] },
      // Nobody planted a link in this workspace, so the fault of an old version does not matter here.
      host: { bwrapVersion: [0, 12, 0] },
    });
    expect(kept.out).toBe('free\n');
    expect(kept.errors).toMatch(/Read-only file system(.|\n)*Device or resource busy/);
  });
});

async function makeRepository(): Promise<Places> {
  const places = makeJailDirectories();
  await runOutside(['/bin/mkdir', '-p', `${places.workspace}/.git/hooks`]);
  return places;
}
