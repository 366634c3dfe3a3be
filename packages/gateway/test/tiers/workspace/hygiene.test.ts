import { chmodSync, linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FINDINGS } from '../../../src/tiers/workspace/findings.table.ts';
import { diffSnapshots, findingsIn } from '../../../src/tiers/workspace/hygiene.ts';
import { afterRun, entry, makeFifo, makeGround, put, snapshotOf, whysOf } from './fixture.ts';

/** What there is to say about these files, had a run added them. */
function judge(...paths: string[]) {
  const after = snapshotOf(paths.map((path) => entry(path, 'file')));
  return findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
}

describe('findingsIn() of what a run left behind', () => {
  it('has nothing to say about ordinary work', async () => {
    const { workspace } = makeGround(['src/a.ts']);
    const { findings, changes } = await afterRun(workspace, () => {
      put(workspace, 'src/b.ts');
      put(workspace, 'out/tool', '', 0o755);
      symlinkSync('../src/a.ts', join(workspace, 'out/a.ts'));
      linkSync(join(workspace, 'src/b.ts'), join(workspace, 'out/b.ts'));
      put(workspace, 'notes/run.sh', '');
    });
    expect(changes.length).toBe(7);
    expect(findings).toEqual([]);
  });

  it('names setuid and setgid files, new or made so', async () => {
    const { workspace } = makeGround(['old', 'dir/x', 'before']);
    chmodSync(join(workspace, 'before'), 0o4755);
    const { findings } = await afterRun(workspace, () => {
      put(workspace, 'new');
      chmodSync(join(workspace, 'new'), 0o4755);
      chmodSync(join(workspace, 'old'), 0o6755);
      chmodSync(join(workspace, 'dir'), 0o2755);
    });
    expect(whysOf(findings, 'new')).toEqual(['setuid']);
    expect(whysOf(findings, 'old')).toEqual(['setuid', 'setgid']);
    expect(whysOf(findings, 'dir')).toEqual(['setgid-directory']);
    expect(whysOf(findings, 'before')).toEqual([]);
  });

  it('names fifos and sockets', async () => {
    const { workspace } = makeGround();
    const { findings } = await afterRun(workspace, async () => {
      makeFifo(join(workspace, 'fifo'));
      const server = createServer().listen(join(workspace, 'socket'));
      onTestFinished(() => void server.close());
      await new Promise((resolve) => server.once('listening', resolve));
    });
    expect(findings).toMatchObject([
      { path: 'fifo', why: 'fifo', severity: 'danger' },
      { path: 'socket', why: 'socket', severity: 'danger' },
    ]);
  });

  it.each(['block-device', 'character-device'] as const)('names a %s', (kind) => {
    const after = snapshotOf([entry('disk', kind)]);
    const findings = findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
    expect(whysOf(findings, 'disk')).toEqual(['device']);
  });

  it('names a file that also has a name outside', async () => {
    const { outside, workspace } = makeGround(['old']);
    const { findings } = await afterRun(workspace, () =>
      linkSync(join(outside, 'secret'), join(workspace, 'new')),
    );
    expect(whysOf(findings, 'new')).toEqual(['hard-link-outside']);
    expect(whysOf(findings, 'old')).toEqual([]);
  });

  it('names a write through a name that was shared with the outside before', async () => {
    const { outside, workspace } = makeGround();
    linkSync(join(outside, 'secret'), join(workspace, 'shared'));
    const { findings } = await afterRun(workspace, () =>
      writeFileSync(join(workspace, 'shared'), 'overwritten'),
    );
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('overwritten');
    expect(whysOf(findings, 'shared')).toEqual(['hard-link-outside']);
  });

  it.each([
    ['two\nlines', 'control-name'],
    ['esc\x1b[2J', 'control-name'],
    ['c1\u009b2J', 'control-name'],
    ['gpj.\u202eexe', 'disguised-name'],
    ['README.md ', 'disguised-name'],
    ['zero\u200bwidth', 'disguised-name'],
  ])('names %j, which pretends', async (name, why) => {
    const { workspace } = makeGround();
    const { findings } = await afterRun(workspace, () => put(workspace, name));
    expect(findings.map((finding) => finding.why)).toEqual([why]);
    expect(findings[0]?.path).not.toMatch(/\p{C}/u);
  });

  it('has nothing to say about a backslash or another script', () => {
    expect(judge('back\\x5cslash', 'grün/日本語', 'with space')).toEqual([]);
  });

  it('lists dangers first', () => {
    expect(judge(' a', 'z\\x1b').map(({ path }) => path)).toEqual(['z\\x1b', ' a']);
  });

  it('says that a part was not looked at', () => {
    const mount = { path: 'mnt', why: 'another-device' } as const;
    const cut = { path: 'big', why: 'too-large' } as const;
    const after = snapshotOf(
      [entry('mnt', 'directory', { dev: 2n }), entry('big', 'directory')],
      [mount, cut],
    );
    expect(findingsIn([], after, '/workspace')).toMatchObject([
      { path: 'big', why: 'unseen', severity: 'danger' },
      { path: 'mnt', why: 'mount', severity: 'notice' },
    ]);
    const fresh = findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
    expect(whysOf(fresh, 'mnt')).toEqual(['unseen']);
  });
});

describe('the table of findings', () => {
  it('has a sentence in every row', () => {
    const rows = Object.values(FINDINGS);
    expect(rows.filter(({ sentence }) => !/^[A-Za-z].*\.$/.test(sentence))).toEqual([]);
  });
});
