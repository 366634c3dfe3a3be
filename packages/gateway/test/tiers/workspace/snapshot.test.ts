import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findingsIn } from '../../../src/tiers/workspace/hygiene.ts';
import { type Snapshot, takeSnapshot } from '../../../src/tiers/workspace/snapshot.ts';
import { BOUNDS, makeFifo, makeGround, put } from './fixture.ts';

const openFds = () => readdirSync('/proc/self/fd').length;
const pathsOf = ({ entries }: Snapshot) => [...entries.keys()].sort();

describe('takeSnapshot()', () => {
  it('records what lstat says of every name, and where a link points', async () => {
    const { workspace } = makeGround(['src/a.txt']);
    linkSync(join(workspace, 'src/a.txt'), join(workspace, 'b.txt'));
    symlinkSync('../secret', join(workspace, 'link'));
    chmodSync(join(workspace, 'b.txt'), 0o4711);
    const snapshot = await takeSnapshot(workspace, BOUNDS);
    expect(snapshot).toMatchObject({ gaps: [], complete: true });
    expect(pathsOf(snapshot)).toEqual(['.', 'b.txt', 'link', 'src', 'src/a.txt']);
    const { ino, dev, mtimeNs, ctimeNs } = lstatSync(join(workspace, 'b.txt'), { bigint: true });
    const common = { kind: 'file', mode: 0o4711, size: 4, nlink: 2, ino, dev, mtimeNs, ctimeNs };
    expect(snapshot.entries.get('b.txt')).toMatchObject({ ...common, target: null });
    expect(snapshot.entries.get('src/a.txt')).toMatchObject(common);
    expect(snapshot.entries.get('link')).toMatchObject({ kind: 'symlink', target: '../secret' });
  });

  it('tells fifos and sockets without opening them', async () => {
    const { workspace } = makeGround();
    makeFifo(join(workspace, 'fifo'));
    const server = createServer().listen(join(workspace, 'socket'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { entries } = await takeSnapshot(workspace, BOUNDS);
    expect(entries.get('fifo')?.kind).toBe('fifo');
    expect(entries.get('socket')?.kind).toBe('socket');
  });

  it('tells a device by what it is', async () => {
    const { entries } = await takeSnapshot('/dev', BOUNDS);
    expect(entries.get('zero')?.kind).toBe('character-device');
  });

  it('keeps names that are not text, with control characters or long', async () => {
    const { workspace } = makeGround();
    const names = [
      Buffer.from([0x61, 0xff, 0xfe]),
      Buffer.from('two\nlines\x1b[31m'),
      Buffer.from('x'.repeat(255)),
    ];
    for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), name]), '');
    expect(pathsOf(await takeSnapshot(workspace, BOUNDS))).toEqual([
      '.',
      'a\\xff\\xfe',
      'two\\x0alines\\x1b[31m',
      'x'.repeat(255),
    ]);
  });

  it('never follows a link, neither to a directory nor to itself', async () => {
    const { outside, workspace } = makeGround(['real/file']);
    symlinkSync(outside, join(workspace, 'up'));
    symlinkSync('loop', join(workspace, 'loop'));
    symlinkSync('.', join(workspace, 'real/here'));
    const snapshot = await takeSnapshot(workspace, BOUNDS);
    expect(pathsOf(snapshot)).toEqual(['.', 'loop', 'real', 'real/file', 'real/here', 'up']);
    expect(snapshot.complete).toBe(true);
  });

  it('sees all of 20,000 files', async () => {
    const { workspace } = makeGround();
    for (let index = 0; index < 20_000; index += 1) {
      if (index % 200 === 0) mkdirSync(join(workspace, `d${index / 200}`));
      writeFileSync(join(workspace, `d${Math.floor(index / 200)}/${index}`), '');
    }
    const { entries, complete } = await takeSnapshot(workspace, BOUNDS);
    expect([entries.size, complete]).toEqual([20_101, true]);
  });

  it('goes 500 directories deep, comes back for what is beside the way, and leaves nothing open', async () => {
    const { workspace } = makeGround();
    const deep = Array.from({ length: 500 }, () => 'd');
    mkdirSync(join(workspace, ...deep), { recursive: true });
    for (let depth = 0; depth < 500; depth += 50) put(workspace, `${deep.slice(0, depth).join('/')}/z/file`);
    const before = openFds();
    const { entries, complete } = await takeSnapshot(workspace, BOUNDS);
    expect([entries.size, complete]).toEqual([1 + 500 + 20, true]);
    expect(entries.has(`${deep.slice(0, 450).join('/')}/z/file`)).toBe(true);
    expect(openFds()).toBe(before);
  });

  it('says where it stopped at a path that no program can open', async () => {
    const { workspace } = makeGround();
    // What Node makes the end of the test with cannot go that deep.
    onTestFinished(() => void execFileSync('rm', ['-rf', workspace]));
    const start = process.cwd();
    const name = 'n'.repeat(250);
    try {
      process.chdir(workspace);
      for (let depth = 0; depth < 20; depth += 1) {
        mkdirSync(name);
        process.chdir(name);
      }
    } finally {
      process.chdir(start);
    }
    const { gaps, complete } = await takeSnapshot(workspace, BOUNDS);
    expect(complete).toBe(false);
    expect(gaps).toEqual([{ path: Array(17).fill(name).join('/'), why: 'too-deep' }]);
  });

  it('is complete at the bound, and says what is missing beyond it', async () => {
    const { workspace } = makeGround(['a/1', 'a/2', 'b/1', 'b/2']);
    expect((await takeSnapshot(workspace, { maxEntries: 6 })).complete).toBe(true);
    const cut = await takeSnapshot(workspace, { maxEntries: 5 });
    expect(cut.complete).toBe(false);
    expect(cut.entries.size).toBe(6);
    expect(cut.gaps).toMatchObject([{ why: 'too-large' }]);
  });

  it('stops when names and targets together are too long for the bound', async () => {
    const { workspace } = makeGround();
    for (let index = 0; index < 40; index += 1)
      symlinkSync('t'.repeat(4000), join(workspace, `link${index}`));
    const { complete, gaps } = await takeSnapshot(workspace, { maxEntries: 50 });
    expect(complete).toBe(false);
    expect(gaps).toEqual([{ path: '.', why: 'too-large' }]);
  });

  it('notes what is mounted, and does not enter it', async () => {
    // Every Linux has file systems of their own below /dev.
    const { entries, gaps } = await takeSnapshot('/dev', BOUNDS);
    expect(gaps).toContainEqual({ path: 'pts', why: 'another-device' });
    expect([...entries.keys()].filter((path) => path.startsWith('pts/'))).toEqual([]);
  });

  it('says that it could not read a directory that is closed to it', async () => {
    const { outside, workspace } = makeGround(['closed/file', 'open/file']);
    const seteuid = (id: number) => process.seteuid?.(id);
    if (process.geteuid?.() === 0) {
      chmodSync(outside, 0o755);
      chownSync(join(workspace, 'closed'), 65_534, 65_534);
      seteuid(65_534);
      onTestFinished(() => seteuid(0));
    }
    chmodSync(join(workspace, 'closed'), 0);
    const snapshot = await takeSnapshot(workspace, BOUNDS);
    chmodSync(join(workspace, 'closed'), 0o700);
    expect(snapshot.gaps).toEqual([{ path: 'closed', why: 'unreadable' }]);
    expect(snapshot.entries.has('open/file')).toBe(true);
    expect(findingsIn([], snapshot, workspace)).toMatchObject([
      { path: 'closed', why: 'unseen', severity: 'danger' },
    ]);
  });
});

describe('takeSnapshot() while hostile code moves things', () => {
  /** Does something the moment before the directory is entered. */
  const before = (wanted: string, act: () => void) => ({
    beforeEntering: (path: string) => {
      if (path === wanted) act();
    },
  });

  it('is not led outside by a directory that becomes a link', async () => {
    const { outside, workspace } = makeGround(['trap/file', 'other/file']);
    const swap = () => {
      renameSync(join(workspace, 'trap'), join(workspace, 'away'));
      symlinkSync(outside, join(workspace, 'trap'));
    };
    const snapshot = await takeSnapshot(workspace, BOUNDS, before('trap', swap));
    expect(snapshot.gaps).toEqual([{ path: 'trap', why: 'moved' }]);
    expect(pathsOf(snapshot)).toEqual(['.', 'other', 'other/file', 'trap']);
    // Positive control: by its path, the link really leads to the secret.
    expect(readdirSync(join(workspace, 'trap'))).toContain('secret');
  });

  it('is not led outside by an ancestor that becomes a link', async () => {
    const { outside, workspace } = makeGround(['a/b/file']);
    mkdirSync(join(outside, 'b'));
    writeFileSync(join(outside, 'b/secret'), '');
    const swap = () => {
      renameSync(join(workspace, 'a'), join(workspace, 'away'));
      symlinkSync(outside, join(workspace, 'a'));
    };
    const snapshot = await takeSnapshot(workspace, BOUNDS, before('a/b', swap));
    expect(pathsOf(snapshot)).toEqual(['.', 'a', 'a/b', 'a/b/file']);
    expect(readdirSync(join(workspace, 'a/b'))).toEqual(['secret']);
  });

  it('does not list one directory under the name of another', async () => {
    const { outside, workspace } = makeGround(['trap/file']);
    mkdirSync(join(outside, 'other'));
    writeFileSync(join(outside, 'other/secret'), '');
    const swap = () => {
      rmSync(join(workspace, 'trap'), { recursive: true });
      renameSync(join(outside, 'other'), join(workspace, 'trap'));
    };
    const snapshot = await takeSnapshot(workspace, BOUNDS, before('trap', swap));
    expect(snapshot.gaps).toEqual([{ path: 'trap', why: 'moved' }]);
  });

  it('does not climb out of a directory that is moved outside while it is in it', async () => {
    const { outside, workspace } = makeGround();
    const deep = Array.from({ length: 70 }, () => 'd');
    for (const top of ['a/1', 'a/2', 'b/1', 'b/2'])
      mkdirSync(join(workspace, top, ...deep), { recursive: true });
    // Where the way up would lead, there are directories of the same names.
    for (const name of ['a', 'b', '1', '2']) put(outside, `${name}/secret`);
    const moved: string[] = [];
    // At the end of the first way down, the directories at its top are no longer held open.
    const beforeEntering = (path: string) => {
      const [first = '', second = '', ...rest] = path.split('/');
      if (rest.length < deep.length || moved.length > 0) return;
      moved.push(first, second);
      renameSync(join(workspace, first, second), join(outside, 'moved'));
    };
    const { entries, gaps } = await takeSnapshot(workspace, BOUNDS, { beforeEntering });
    const [first, second] = moved;
    expect(gaps).toEqual([
      { path: `${first}/${second === '1' ? '2' : '1'}`, why: 'moved' },
      { path: first === 'a' ? 'b' : 'a', why: 'moved' },
    ]);
    expect([...entries.keys()].filter((path) => /secret|moved/.test(path))).toEqual([]);
  });

  it.each(['link', 'file', 'missing'])('refuses a workspace that is a %s', async (name) => {
    const { outside, workspace } = makeGround();
    symlinkSync(workspace, join(outside, 'link'));
    writeFileSync(join(outside, 'file'), '');
    await expect(takeSnapshot(join(outside, name), BOUNDS)).rejects.toThrow(/^Cannot look at the workspace/);
  });

  it('refuses a workspace below a link', async () => {
    const { outside } = makeGround();
    symlinkSync(outside, join(outside, 'link'));
    await expect(takeSnapshot(join(outside, 'link/workspace'), BOUNDS)).rejects.toThrow(/it leads to/);
  });

  it('reaches what matters though names that do not have used up their share of the text', async () => {
    const { workspace } = makeGround(['.git/hooks/pre-push', 'z/.envrc']);
    const deep = `a/${Array.from({ length: 8 }, () => 'n'.repeat(240)).join('/')}`;
    for (let index = 0; index < 60; index += 1) put(workspace, `${deep}/${index}`);
    const matters = (path: string) => path.includes('.git') || path.endsWith('.envrc');
    const bounds = { maxEntries: 100, maxNames: 10_000 };
    const { entries, complete, isSparse } = await takeSnapshot(workspace, bounds, undefined, { matters });
    expect([...entries.keys()]).toEqual(expect.arrayContaining(['.git/hooks/pre-push', 'z/.envrc']));
    expect({ complete, isSparse }).toEqual({ complete: true, isSparse: true });
    expect((await takeSnapshot(workspace, bounds)).complete).toBe(false);
  });
});
