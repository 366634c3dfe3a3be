import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bed, picture } from './bed.ts';

const NAMES = ['a', 'b', 'c d', 'é'] as const;
const path = fc
  .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
  .map((names) => names.join('/'));
const act = fc.record({
  path,
  what: fc.constantFrom('write', 'remove', 'link', 'directory', 'mode'),
  text: fc.string({ maxLength: 8 }),
  mode: fc.constantFrom(0o600, 0o644, 0o700, 0o755),
});

type Act = { readonly path: string; readonly what: string; readonly text: string; readonly mode: number };

/** Does it, or not: a file where a directory should be, and so on, leaves things as they are. */
function carryOut(workspace: string, { path: name, what, text, mode }: Act): void {
  const at = join(workspace, name);
  try {
    if (what === 'remove') rmSync(at, { recursive: true, force: true });
    else if (what === 'mode') {
      if (!statSync(at).isDirectory() || (mode & 0o100) !== 0) chmodSync(at, mode);
    } else {
      mkdirSync(join(at, '..'), { recursive: true });
      if (what === 'write') writeFileSync(at, text);
      if (what === 'link') symlinkSync(text || 'x', at);
      if (what === 'directory') mkdirSync(at);
    }
  } catch {
    // It cannot be done there.
  }
}

describe('undo', () => {
  test('gives back any tree after any changes, and an undo of the undo the changed one', async () => {
    const acts = fc.array(act, { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(acts, acts, async (first, changes) => {
        const { workspace, run, undo } = bed();
        for (const each of first) carryOut(workspace, each);
        const before = picture(workspace);
        const { id, output } = await run(() => {
          for (const each of changes) carryOut(workspace, each);
        });
        const after = picture(workspace);
        expect(output).toMatchObject({ undo: 'whole' });
        if (JSON.stringify(before) === JSON.stringify(after)) return;
        const undone = await undo(id);
        expect(undone).toMatchObject({ conflicts: [], missing: [], failed: [] });
        expect(picture(workspace)).toEqual(before);
        const again = await undo(undone.undoId);
        expect(again).toMatchObject({ conflicts: [], missing: [], failed: [] });
        expect(picture(workspace)).toEqual(after);
      }),
      { numRuns: 60 },
    );
  });

  test('leaves alone what was changed after the command, unless it is forced', async () => {
    const { workspace, write, read, run, undo } = bed();
    write('mine', 'before');
    write('other', 'before');
    const { id } = await run(() => {
      for (const name of ['mine', 'other', 'made']) write(name, 'command');
    });
    write('mine', 'my own work');
    write('made', 'my own work, too');
    const first = await undo(id);
    expect(first.conflicts.map(({ path: name }) => name)).toEqual(['made', 'mine']);
    expect([read('mine'), read('made'), read('other')]).toEqual([
      'my own work',
      'my own work, too',
      'before',
    ]);
    const forced = await undo(id, true);
    expect(forced).toMatchObject({ conflicts: [], already: 1 });
    expect(picture(workspace)).toMatchObject({ mine: expect.stringContaining('YmVmb3Jl') });
    expect(existsSync(join(workspace, 'made'))).toBe(false);
    await undo(forced.undoId);
    expect([read('mine'), read('made')]).toEqual(['my own work', 'my own work, too']);
  });

  test('removes no directory in which there is something else, forced or not', async () => {
    const { write, read, run, undo } = bed();
    const { id } = await run(() => write('made/deep/file', 'command'));
    write('made/deep/mine', 'my own');
    for (const isForced of [false, true]) {
      const { conflicts } = await undo(id, isForced);
      expect(conflicts.map(({ path: name }) => name)).toContain('made/deep');
      expect(read('made/deep/mine')).toBe('my own');
    }
  });

  test('gives recreated files their time, and restored ones the present one, so that a build notices', async () => {
    const { at, write, run, undo } = bed();
    for (const name of ['removed', 'rewritten']) {
      write(name, 'text');
      utimesSync(at(name), 1e9, 1e9);
    }
    const { id } = await run(() => {
      rmSync(at('removed'));
      write('rewritten', 'other');
    });
    await undo(id);
    expect(statSync(at('removed')).mtimeMs).toBe(1e12);
    expect(statSync(at('rewritten')).mtimeMs).toBeGreaterThan(1e12);
  });

  test('writes through no hard link', async () => {
    const { base, at, write, read, run, undo } = bed();
    writeFileSync(join(base, 'outside'), 'outside');
    write('file', 'before');
    const { id } = await run(() => {
      rmSync(at('file'));
      linkSync(join(base, 'outside'), at('file'));
    });
    expect(await undo(id)).toMatchObject({ conflicts: [], failed: [] });
    expect([read('file'), readFileSync(join(base, 'outside'), 'utf8')]).toEqual(['before', 'outside']);
  });

  test('restores several names of one file', async () => {
    const { at, write, read, run, undo } = bed();
    write('one', 'before');
    linkSync(at('one'), at('two'));
    const { id } = await run(() => write('one', 'changed'));
    expect(read('two')).toBe('changed');
    expect(await undo(id)).toMatchObject({ conflicts: [], failed: [] });
    expect([read('one'), read('two')]).toEqual(['before', 'before']);
  });

  test('is refused while a command runs in the workspace', async () => {
    const { write, run, begin, undo } = bed();
    const { id } = await run(() => write('a', 'x'));
    const running = await begin();
    await expect(undo(id)).rejects.toThrow(running.id);
    await expect(undo(running.id)).rejects.toThrow('it has not ended');
    await running.finish();
    expect(await undo(id)).toMatchObject({ failed: [] });
  });

  test('is refused in a directory that has taken the place of the workspace', async () => {
    const { workspace, write, run, undo } = bed();
    const { id } = await run(() => write('a', 'x'));
    renameSync(workspace, `${workspace}-moved`);
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'a'), 'x');
    await expect(undo(id)).rejects.toThrow('not the directory');
    expect(existsSync(join(workspace, 'a'))).toBe(true);
  });
});

describe('what is kept', () => {
  test('is copied once for all runs, and again when it changed', async () => {
    const { folder, write, run, wait } = bed();
    for (let n = 0; n < 20; n += 1) write(`src/${n}`, `text ${n}`);
    wait(10_000);
    const copies = () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.copies'));
    await run(() => undefined);
    expect(copies()).toHaveLength(1);
    await run(() => undefined);
    expect(copies()).toHaveLength(1);
    write('src/1', 'changed');
    await run(() => undefined);
    expect(copies()).toHaveLength(2);
  });

  test.each([
    ['a file that is too large', { snapshotFileBytes: 10 }, 'too large'],
    ['more bytes than are kept', { snapshotBytes: 10 }, 'too large'],
    ['more files than are kept', { snapshotFiles: 1 }, 'too many'],
  ])('does not have %s, and the result says so', async (_, settings, why) => {
    const { write, read, run, undo } = bed(settings);
    write('a', 'small');
    write('big', 'x'.repeat(20));
    const { id, output, isolation } = await run(() => {
      write('a', 'wrecked');
      write('big', 'wrecked');
    });
    expect(isolation).toEqual({ undo: 'in part' });
    expect(output).toMatchObject({ undoMissing: [{ why }] });
    const { missing } = await undo(id);
    expect(missing).toHaveLength(1);
    expect([read('a'), read('big')].filter((text) => text === 'wrecked')).toHaveLength(1);
  });

  test('is copied beside the run where the start does not wait, unless the run was faster', async () => {
    const { write, begin, read, undo } = bed({ snapshotWaitMs: 0 });
    for (let n = 0; n < 100; n += 1) write(`src/${n}`, `text ${n}`);
    write('dist/last', 'text');
    const { id, finish } = await begin();
    // Some files are copied at once; what tools make comes last, and has changed by then.
    write('dist/last', 'changed at once');
    for (let n = 0; n < 100; n += 1) write(`src/${n}`, 'wrecked');
    expect((await finish()).isolation.undo).toBe('in part');
    const { missing, steps } = await undo(id);
    expect(missing.map(({ path: name }) => name)).toContain('dist/last');
    expect(steps.length).toBeGreaterThan(30);
    for (const { path: name } of steps) expect(read(name)).toBe(`text ${name.slice('src/'.length)}`);
  });

  test('is that of the tenant alone', async () => {
    const { undos, write, run } = bed();
    const { id } = await run(() => write('a', 'x'), 'acme');
    expect(undos.list('default')).toEqual([]);
    expect(undos.list('acme')).toMatchObject([{ id, tenant: 'acme' }]);
  });

  test('can be read by its owner alone', async () => {
    const { folder, write, run } = bed();
    write('a', 'before');
    await run(() => write('a', 'after'));
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const facts = statSync(join(folder, name));
      expect([name, facts.mode & 0o077]).toEqual([name, 0]);
    }
  });

  test('goes when it is too old or too much, the oldest first', async () => {
    const { records, undos, write, run, wait } = bed();
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      write('a', `${n}`.repeat(10_000));
      ids.push((await run(() => write('a', 'x'))).id);
    }
    records.sweep({ keepMs: 1e9, totalBytes: 30_000 }, Date.now());
    expect(undos.list(null).map(({ id }) => id)).toEqual(ids.slice(2).reverse());
    expect(undos.bytes()).toBeLessThanOrEqual(30_000);
    wait(1);
    records.sweep({ keepMs: 0, totalBytes: 1e9 }, Date.now() + 10_000);
    expect([undos.list(null), undos.bytes()]).toEqual([[], 0]);
  });

  test.each(['cut', 'altered'])('is not used when a copy was %s', async (how) => {
    const { folder, write, read, run, undo } = bed();
    write('a', 'before');
    const { id } = await run(() => write('a', 'after'));
    const [copy = ''] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.copies'),
    );
    writeFileSync(join(folder, copy), how === 'cut' ? 'bef' : 'BEFORE');
    const { failed } = await undo(id);
    expect(failed).toMatchObject([{ path: 'a' }]);
    expect(read('a')).toBe('after');
  });

  test('is not used when a record was altered', async () => {
    const { folder, write, run, undo } = bed();
    const { id } = await run(() => write('a', 'after'));
    const [record = ''] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.record'),
    );
    const bytes = readFileSync(join(folder, record));
    for (const change of [0, 80, bytes.length - 1]) {
      const altered = Buffer.from(bytes);
      altered[change] = (altered[change] ?? 0) ^ 1;
      writeFileSync(join(folder, record), altered);
      await expect(undo(id)).rejects.toThrow('nothing is recorded');
    }
  });
});

describe('a run whose gateway was killed', () => {
  test('is undone by the next one', async () => {
    const { workspace, open, begin, gone, write } = bed();
    write('a', 'before');
    const before = picture(workspace);
    const dead = open('p_dead');
    const { id } = await begin(dead.recordings);
    write('a', 'wrecked');
    write('new/b', 'made');
    const next = open('p_next');
    await next.recordings.settle();
    expect(next.undos.list(null), 'it may still run').toEqual([]);
    gone.add('p_dead');
    await next.recordings.settle();
    expect(next.undos.list(null)).toMatchObject([{ id, isEndKnown: false, changes: 3 }]);
    await next.undos.undo({ id, isForced: false, undoId: 'undo_9', principal: 'user:eve' });
    expect(picture(workspace)).toEqual(before);
  });
});
