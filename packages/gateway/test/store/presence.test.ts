import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Presence } from '../../src/store/presence.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { refusalOf } from './sample.ts';

function present(directory: string, id: string): Presence {
  const presence = new Presence(directory, id);
  onTestFinished(() => {
    if (existsSync(join(directory, 'instances', `${id}.lock`))) presence.close();
  });
  return presence;
}

describe('Presence', () => {
  it('knows a process as alive until it is killed, and as gone from then on', async () => {
    const directory = tempDir();
    const here = present(directory, 'p_here');
    const child = new Child(await bundleProgram('hold-presence.ts'), [directory, 'p_there']);
    expect(await child.line()).toBe('there');
    expect(here.isGone('p_there')).toBe(false);
    expect(here.isGone('p_there')).toBe(false);
    await child.kill();
    expect(here.isGone('p_there')).toBe(true);
    here.forget('p_there');
    expect(readdirSync(join(directory, 'instances')).filter((name) => name.startsWith('p_there'))).toEqual(
      [],
    );
    expect(here.isGone('p_there')).toBe(true);
  });

  it('keeps two in one process apart', () => {
    const directory = tempDir();
    const [a, b] = [present(directory, 'p_a'), present(directory, 'p_b')];
    expect([a.isGone('p_b'), b.isGone('p_a')]).toEqual([false, false]);
    b.close();
    expect(a.isGone('p_b')).toBe(true);
    // Looking at another must not have let go of our own lock.
    const c = present(directory, 'p_c');
    expect(c.isGone('p_a')).toBe(false);
  });

  it('is not gone in its own eyes', () => {
    expect(present(tempDir(), 'p_a').isGone('p_a')).toBe(false);
  });

  it('leaves no file behind, and makes none by looking', () => {
    const directory = tempDir();
    const a = present(directory, 'p_a');
    expect(a.isGone('p_never')).toBe(true);
    expect(readdirSync(join(directory, 'instances'))).toEqual(['p_a.lock']);
    a.close();
    expect(readdirSync(join(directory, 'instances'))).toEqual([]);
  });

  it('forgets one that is gone, twice without complaint', () => {
    const directory = tempDir();
    const [a, b] = [present(directory, 'p_a'), new Presence(directory, 'p_b')];
    b.close();
    a.forget('p_b');
    expect(a.isGone('p_b')).toBe(true);
  });

  it('sweeps away those that are gone, but for those that are still needed', async () => {
    const directory = tempDir();
    const program = await bundleProgram('hold-presence.ts');
    const ids = ['p_gone', 'p_needed', 'p_alive'];
    const children = ids.map((id) => new Child(program, [directory, id]));
    for (const child of children) await child.line();
    await children[0]?.kill();
    await children[1]?.kill();
    const here = present(directory, 'p_here');
    here.sweep(new Set(['p_needed']));
    expect(readdirSync(join(directory, 'instances')).sort()).toEqual([
      'p_alive.lock',
      'p_here.lock',
      'p_needed.lock',
    ]);
  });

  it('sweeps away one that is gone behind any number of living ones', () => {
    const directory = tempDir();
    const living = Array.from({ length: 130 }, (_, i) =>
      present(directory, `p_${String(i).padStart(3, '0')}`),
    );
    const gone = join(directory, 'instances', 'p_gone.lock');
    writeFileSync(gone, '');
    for (const one of living) one.sweep(new Set());
    expect(existsSync(gone)).toBe(false);
    expect(readdirSync(join(directory, 'instances'))).toHaveLength(living.length);
  });

  it('sweeps away what a process left that died an hour ago while it started, and nothing younger', () => {
    const directory = tempDir();
    const here = present(directory, 'p_here');
    const folder = join(directory, 'instances');
    for (const [name, minutesAgo] of [
      ['p_old', 61],
      ['p_young', 59],
    ] as const) {
      const path = join(folder, `${name}.lock.new`);
      writeFileSync(path, '');
      const at = statSync(join(folder, 'p_here.lock')).mtimeMs / 1000 - minutesAgo * 60;
      utimesSync(path, at, at);
    }
    here.sweep(new Set());
    expect(readdirSync(folder).sort()).toEqual(['p_here.lock', 'p_young.lock.new']);
  });

  it('is refused with a code where its folder cannot be made', () => {
    const path = join(tempDir(), 'file');
    writeFileSync(path, '');
    expect(refusalOf(() => new Presence(path, 'p_a')).code).toBe('store/unwritable');
  });
});
