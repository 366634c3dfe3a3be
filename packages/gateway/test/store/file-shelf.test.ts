import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FileShelf } from '../../src/store/file-shelf.ts';

function newShelf(mostBytes = 1_000) {
  const home = mkdtempSync(join(tmpdir(), 'palisade-shelf-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const dir = join(home, 'shelf');
  return { dir, shelf: new FileShelf(dir, { mostBytes, tag: 'test', nowMs: Date.now }) };
}

describe('a shelf of files', () => {
  it('gives what was put there, and nothing for another name', async () => {
    const { dir, shelf } = newShelf();
    await shelf.write('one', Buffer.from('first'));
    await shelf.write('one', Buffer.from('second'));
    expect(String(await shelf.read('one'))).toBe('second');
    expect(await shelf.read('two')).toBeNull();
    expect(statSync(join(dir, 'one')).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  it('lets go of what was used longest ago when it is full', async () => {
    const { dir, shelf } = newShelf(100);
    for (const [age, name] of ['a', 'b', 'c'].entries()) {
      await shelf.write(name, Buffer.alloc(30, name));
      utimesSync(join(dir, name), new Date(1_000_000 + age), new Date(1_000_000 + age));
    }
    await shelf.read('a');
    await shelf.write('d', Buffer.alloc(30, 'd'));
    expect(readdirSync(dir).sort()).toEqual(['a', 'c', 'd']);
  });

  it('does not keep what is larger than all of it', async () => {
    const { shelf } = newShelf(10);
    await shelf.write('large', Buffer.alloc(11));
    expect(await shelf.read('large')).toBeNull();
  });

  it('takes no name that leads elsewhere', async () => {
    const { dir, shelf } = newShelf();
    writeFileSync(`${dir}-outside`, 'not for you');
    for (const name of ['../shelf-outside', 'a/b', '', '.', 'A', 'a\0b'])
      await expect(shelf.write(name, Buffer.from('x'))).rejects.toThrow('Cannot name file');
    expect(await shelf.read('../shelf-outside')).toBeNull();
  });

  it('that cannot be written to is one that keeps nothing', async () => {
    const { dir } = newShelf();
    writeFileSync(`${dir}-file`, '');
    const broken = new FileShelf(`${dir}-file/below`, { mostBytes: 100, tag: 'test', nowMs: Date.now });
    await broken.write('one', Buffer.from('first'));
    expect(await broken.read('one')).toBeNull();
  });
});
