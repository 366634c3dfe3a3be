import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareStateDir } from '../../src/store/state-dir.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { openNotes, refusalOf } from './sample.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('prepareStateDir()', () => {
  it('makes a missing directory, and those above it, for its owner alone', () => {
    const path = join(tempDir(), 'a', 'b');
    prepareStateDir(path);
    expect(modeOf(path)).toBe('700');
  });

  it.each([0o701, 0o710, 0o740, 0o755, 0o777])('refuses mode %o and says how to correct it', (mode) => {
    const path = tempDir();
    chmodSync(path, mode);
    const { code, message, remedy } = refusalOf(() => prepareStateDir(path));
    expect({ code, message, remedy }).toEqual({
      code: 'store/unwritable',
      message: `Cannot use the state directory "${path}": its mode is ${mode.toString(8)}, expected 700`,
      remedy: `Run \`chmod 700 ${path}\`, or choose another directory with --state.`,
    });
    expect(modeOf(path)).toBe(mode.toString(8));
  });

  it('refuses a file in its place', () => {
    const path = join(tempDir(), 'state');
    writeFileSync(path, 'not a directory');
    expect(refusalOf(() => prepareStateDir(path))).toMatchObject({
      code: 'store/unwritable',
      message: expect.stringContaining(`Cannot use the state directory "${path}"`),
    });
  });

  it('refuses a directory below a file', () => {
    const path = join(tempDir(), 'state');
    writeFileSync(path, 'not a directory');
    expect(refusalOf(() => prepareStateDir(join(path, 'below'))).code).toBe('store/unwritable');
  });

  it.each([
    ['another directory', true],
    ['nothing', false],
  ])('refuses a link to %s and calls it one', (_, isThere) => {
    const [target, path] = [join(tempDir(), 'target'), join(tempDir(), 'state')];
    if (isThere) mkdirSync(target, { mode: 0o700 });
    symlinkSync(target, path);
    expect(refusalOf(() => prepareStateDir(path))).toMatchObject({
      code: 'store/unwritable',
      message: expect.stringMatching(/symbolic link|cannot be used/),
    });
  });
});

describe('Store', () => {
  it('keeps the database and what SQLite puts beside it readable by the owner alone', () => {
    const directory = tempDir();
    const store = openNotes(directory);
    store.transact(() => undefined);
    for (const name of ['palisade.db', 'palisade.db-wal', 'palisade.db-shm']) {
      expect([name, modeOf(join(directory, name))]).toEqual([name, '600']);
    }
  });
});

describe('a state directory of another user', () => {
  /** Opens the store as a user who owns neither the directory nor, when we are root, the machine. */
  async function openAsNobody(directory: string): Promise<string> {
    const program = await bundleProgram('open-store.ts');
    return new Child(program, isRoot ? [directory, String(NOBODY)] : [directory]).line();
  }

  it('is refused when it is open to others but belongs to another uid', async () => {
    // Without root the only directories of others are those of the system.
    const directory = isRoot ? tempDir() : '/usr';
    if (isRoot) chmodSync(directory, 0o755);
    expect(await openAsNobody(directory)).toBe('store/unwritable');
  });

  it('is refused when its owner cannot write to it', async () => {
    const directory = tempDir();
    if (isRoot) chownSync(directory, NOBODY, NOBODY);
    chmodSync(directory, 0o500);
    expect(await openAsNobody(directory)).toBe('store/unwritable');
    chmodSync(directory, 0o700);
    expect(await openAsNobody(directory)).toBe('ready');
  });
});

describe('a database that is open twice in one process', () => {
  it('is still there for it when another process opens and closes the same one', async () => {
    const directory = tempDir();
    const open = () => openNotes(directory, { migrations: [] });
    const [first] = [open(), open()];
    const program = await bundleProgram('open-store.ts');
    const other = new Child(program, [directory]);
    expect([await other.line(), await other.ended()]).toEqual(['ready', 0]);
    // The last one to close it removes the log; the other process is not the last.
    expect(existsSync(join(directory, 'palisade.db-wal'))).toBe(true);
    const ask = (sql: string) => ({ sql: () => sql, bind: () => [] });
    first.transact((tx) => tx.run(ask('PRAGMA user_version = 7'), {}));
    expect(open().get(ask('PRAGMA user_version'), {})).toEqual({ user_version: 7 });
  });
});
