import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildBoth,
  hasNamespaces,
  identity,
  isRoot,
  kinds,
  makeFolder,
  removeFolder,
  shipped,
  start,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const uid = 60_151;
const user = identity(uid);
const READLINK = realpathSync('/usr/bin/readlink');
const SHELL = realpathSync('/bin/sh');

beforeAll(() => {
  Object.assign(built, buildBoth(folder));
});
afterAll(() => removeFolder(folder));

/** Which file it is, as the gateway says it of one that only root can change. */
function same(path: string, of = path): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(of, { bigint: true });
  const times = [mtimeNs, ctimeNs].flatMap((time) => [time / 1_000_000_000n, time % 1_000_000_000n]);
  return `same=${[dev, ino, size, ...times].join(':')}:${path}`;
}

function judged(key: 'program' | 'script', path: string, bytes: Uint8Array = readFileSync(path)): string {
  return `${key}=${bytes.length}:${createHash('sha256').update(bytes).digest('hex')}:${path}`;
}

let made = 0;

/** A file of the command's user, in a directory of its own. */
function put(name: string, bytes: Uint8Array | string): string {
  made += 1;
  const directory = join(folder, String(made));
  mkdirSync(directory);
  const path = join(directory, name);
  writeFileSync(path, bytes);
  chmodSync(path, 0o755);
  for (const each of isRoot ? [directory, path] : []) chownSync(each, uid, uid);
  return path;
}

describe.each(kinds())('the %s launcher', (kind) => {
  const run = (args: readonly string[], argv: readonly string[]) =>
    start(built[kind], [...user, ...args], argv).end;
  const place = hasNamespaces ? ['ns=1'] : [];

  test('executes a file with the numbers that were judged, under its own path', async () => {
    const end = await run([same(READLINK)], [READLINK, '/proc/self/exe']);
    expect([end.code, end.stdout.toString()]).toEqual([0, `${READLINK}\n`]);
  });

  test('does not execute another file, nor a link to the same one', async () => {
    const other = await run([same(READLINK, SHELL)], [READLINK, '/proc/self/exe']);
    expect(other).toMatchObject({ code: 125 });
    expect(other.status.get('failed')).toMatch(/^executable errno=\d+ ESTALE$/);
    const link = join(folder, `link-${kind}`);
    symlinkSync(READLINK, link);
    expect((await run([same(link, READLINK)], [link, '/proc/self/exe'])).code).toBe(125);
    // The control: by its path alone, the link leads to the file.
    expect((await run([], [link, '/proc/self/exe'])).code).toBe(0);
  });

  test('executes a program with the digest that was judged, under its own path, and no other', async () => {
    const path = put('tool', readFileSync(READLINK));
    const end = await run([judged('program', path)], [path, '/proc/self/exe']);
    expect([end.code, end.stdout.toString()]).toEqual([0, `${path}\n`]);
    const other = await run([judged('program', path, readFileSync(SHELL))], [path, '/proc/self/exe']);
    expect(other.status.get('failed')).toMatch(/^executable errno=\d+ ESTALE$/);
  });

  test('does not execute a program that is open for writing, as the kernel does not', async () => {
    const path = put('tool', readFileSync(READLINK));
    const word = judged('program', path);
    const writer = openSync(path, 'r+');
    const end = await run([word], [path, '/proc/self/exe']);
    expect([end.code, end.status.get('execerror')]).toEqual([126, '26 ETXTBSY']);
    closeSync(writer);
    expect((await run([word], [path, '/proc/self/exe'])).code).toBe(0);
  });

  test('releases the program when the command has ended', async () => {
    const path = put('tool', readFileSync(READLINK));
    await run([judged('program', path)], [path, '/proc/self/exe']);
    closeSync(openSync(path, 'r+'));
  });

  test('executes a copy of a program on which it gets no lease, as that of another user', async () => {
    const end = await run([...place, judged('program', READLINK)], [READLINK, '/proc/self/exe']);
    expect([end.code, end.stdout.toString()]).toEqual([0, '/memfd:readlink (deleted)\n']);
    const word = judged('program', READLINK, readFileSync(SHELL));
    const other = await run([...place, word], [READLINK, '/proc/self/exe']);
    expect(other.status.get('failed')).toMatch(/ESTALE/);
  });

  test.each([
    ['is missing', '/nowhere/tool', 127, 'ENOENT'],
    ['is a directory', '/usr', 126, 'EACCES'],
  ])('fails as the kernel would when the file %s', async (_, path, code, error) => {
    const word = `program=0:${createHash('sha256').digest('hex')}:${path}`;
    const end = await run([word], [path, 'x']);
    expect(end.code).toBe(code);
    expect(end.status.get('execerror')).toMatch(new RegExp(`${error}$`));
  });

  test('gives a script to its interpreter as a copy that nothing can change, under its name', async () => {
    const path = put('hello', '#!/bin/sh\necho "$0 $@"; echo changed > "$0"; cat "$0" | wc -l\n');
    const argv = ['/proc/driver/1/hello', 'a', 'b'];
    const end = await run([...place, same(SHELL), judged('script', path)], [SHELL, ...argv]);
    expect(end.stdout.toString()).toBe(`${argv.join(' ')}\n2\n`);
    expect(end.stderr.toString()).toContain('Read-only file system');
    expect(readFileSync(path, 'utf8')).not.toContain('changed\n');
  });

  test('does not start a script that has another digest, or for whose copy it has no place', async () => {
    const path = put('hello', '#!/bin/sh\necho hello\n');
    const command = [SHELL, '/proc/driver/1/hello'];
    const other = judged('script', path, Buffer.from('other'));
    expect((await run([...place, same(SHELL), other], command)).status.get('failed')).toMatch(/ESTALE/);
    const bare = await run([same(SHELL), judged('script', path)], command);
    expect(bare.status.get('failed')).toMatch(/^executable errno=\d+ EOPNOTSUPP$/);
  });

  test('puts copies where it is told to', async () => {
    const path = put('hello', '#!/bin/sh\necho hello\n');
    const copies = join(folder, String(made), 'copies');
    const words = [`copies=${copies}`, judged('script', path), same(SHELL)];
    const end = await run([...words], [SHELL, `${copies}/0/hello`]);
    expect([end.code, end.stdout.toString()]).toEqual([0, 'hello\n']);
  });

  test('has no capability left when the command begins', async () => {
    const path = put('caps', '#!/bin/sh\ngrep Cap /proc/self/status | sort -u -k2\n');
    const words = [...place, same(SHELL), judged('script', path)];
    const end = await run(words, [SHELL, '/proc/driver/1/caps']);
    expect(end.stdout.toString()).toMatch(/^Cap[A-Z][a-z]+:\t0{16}\n$/);
  });

  test.each([0, 1, 55, 56, 63, 64, 65, 262_143, 262_144, 262_145])(
    'computes the digest of %i bytes',
    async (size) => {
      const path = put('data', Buffer.alloc(size, 'x'));
      // Its digest is right, so that only the kernel refuses to execute it.
      const end = await run([judged('program', path)], [path]);
      expect(end.status.get('execerror')).toBe('8 ENOEXEC');
      expect(end.status.get('failed')).toBeUndefined();
    },
  );
});
