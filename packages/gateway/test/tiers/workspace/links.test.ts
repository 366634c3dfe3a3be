import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { diffSnapshots, findingsIn } from '../../../src/tiers/workspace/hygiene.ts';
import { otherNamesIn, resolveLinks } from '../../../src/tiers/workspace/links.ts';
import { takeSnapshot } from '../../../src/tiers/workspace/snapshot.ts';
import { afterRun, BOUNDS, entry, makeGround, snapshotOf, whysOf } from './fixture.ts';

const NOTHING: ReadonlySet<string> = new Set();
const link = (path: string, target: string) => entry(path, 'symlink', { target });

describe('links that a run leaves behind', () => {
  it.each([
    ['absolute', (outside: string) => [['link', `${outside}/secret`]]],
    ['relative', () => [['link', '../secret']]],
    ['relative, deeper', () => [['dir/sub/link', '../../../secret']]],
    [
      'over another link',
      () => [
        ['way', '..'],
        ['link', 'way/secret'],
      ],
    ],
    [
      'up from where another link leads',
      () => [
        ['way', 'dir/sub'],
        ['link', 'way/../../../secret'],
      ],
    ],
    ['out and in again', () => [['link', '../workspace/file']]],
    ['dangling', () => [['link', '../not-there']]],
    ['dangling, over what is not there', () => [['link', 'no/../../secret']]],
    ['through the workspace and up', (outside: string) => [['link', `${outside}/workspace/../secret`]]],
    ['into the process', () => [['link', '/proc/self/cwd']]],
  ])('are a danger when they lead outside: %s', async (_, linksOf) => {
    const { outside, workspace } = makeGround(['file', 'dir/sub/file']);
    const links = linksOf(outside) as [string, string][];
    const { findings } = await afterRun(workspace, () => {
      for (const [path, target] of links) symlinkSync(target, join(workspace, path));
    });
    const path = links.at(-1)?.[0] ?? '';
    expect(whysOf(findings, path)).toEqual(['link-outside']);
    expect(findings.find((finding) => finding.path === path)?.sentence).toContain(links.at(-1)?.[1]);
  });

  it.each(['file', './dir//sub/.', 'dir/sub/../../file', 'way/file', 'not-there', '.'])(
    'are left alone when they stay inside: %s',
    async (target) => {
      const { workspace } = makeGround(['file', 'dir/sub/file']);
      const { findings } = await afterRun(workspace, () => {
        symlinkSync('dir/sub', join(workspace, 'way'));
        symlinkSync(target, join(workspace, 'link'));
        symlinkSync(join(workspace, 'dir'), join(workspace, 'absolute'));
      });
      expect(findings).toEqual([]);
    },
  );

  it('may lead in a circle without holding anything', async () => {
    const { workspace } = makeGround();
    const { findings } = await afterRun(workspace, () => {
      symlinkSync('self', join(workspace, 'self'));
      symlinkSync('b/x', join(workspace, 'a'));
      symlinkSync('a/x', join(workspace, 'b'));
    });
    expect(findings.map(({ path, why }) => `${why} ${path}`)).toEqual([
      'link-loop a',
      'link-loop b',
      'link-loop self',
    ]);
  });

  it('are named when they were there before and a run turned their way outward', async () => {
    const { workspace } = makeGround(['one/two/file', 'other']);
    symlinkSync('one/two', join(workspace, 'way'));
    symlinkSync('way/../../other', join(workspace, 'link'));
    expect(readFileSync(join(workspace, 'link'), 'utf8')).toBe('text');
    const { findings } = await afterRun(workspace, () => {
      rmSync(join(workspace, 'way'));
      symlinkSync('one', join(workspace, 'way'));
    });
    expect(findings.map(({ path, why }) => `${why} ${path}`)).toEqual(['link-outside link']);
  });

  it('are not named again when a run had nothing to do with them', async () => {
    const { workspace } = makeGround(['file']);
    symlinkSync('../secret', join(workspace, 'link'));
    const { findings } = await afterRun(workspace, () => mkdirSync(join(workspace, 'new')));
    expect(findings).toEqual([]);
  });

  it('are a danger when they lead where nobody looked', () => {
    const after = snapshotOf(
      [link('link', 'big/x'), entry('big', 'directory')],
      [{ path: 'big', why: 'too-large' }],
    );
    const findings = findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
    expect(whysOf(findings, 'link')).toEqual(['link-unseen']);
  });
});

describe('resolveLinks()', () => {
  it('agrees with the system about where links lead', async () => {
    const part = fc.constantFrom('a', 'b', 'c', 'd', '..', '.', 'no');
    const target = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
    const places = ['a/l', 'b', 'c', 'a/d/m'];
    await fc.assert(
      fc.asyncProperty(fc.tuple(target, target, target, target), async (targets) => {
        const { outside, workspace } = makeGround(['a/d/file']);
        places.forEach((place, index) => void symlinkSync(targets[index] ?? '', join(workspace, place)));
        const links = resolveLinks(await takeSnapshot(workspace, BOUNDS), workspace, NOTHING);
        for (const place of places) {
          const real = resolvedByTheSystem(join(workspace, place));
          if (real === null) continue;
          const isInside = real === workspace || real.startsWith(`${workspace}/`);
          const { verdict, to } = links.get(place) ?? { verdict: 'none', to: '' };
          expect(verdict).toBe(isInside ? 'inside' : 'outside');
          expect(join(workspace, isInside ? to : '')).toBe(isInside ? real : workspace);
        }
        rmSync(outside, { recursive: true });
      }),
      { numRuns: volume(150, 30) },
    );
  });

  it('gives up, and says so, when links are made to be dear', () => {
    const long = Array(1_000).fill('d/..').join('/');
    const links = Array.from({ length: 20_000 }, (_, index) => link(`l${index}`, `${long}/l${index + 1}`));
    const after = snapshotOf([entry('d', 'directory'), ...links]);
    const verdicts = [...resolveLinks(after, '/w', NOTHING, 1_000_000).values()].map(
      ({ verdict }) => verdict,
    );
    expect(new Set(verdicts)).toEqual(new Set(['loop', 'unjudged']));
    expect(verdicts.filter((verdict) => verdict === 'unjudged').length).toBeGreaterThan(19_000);
  });
});

describe('otherNamesIn()', () => {
  const namesIn = (entries: Parameters<typeof snapshotOf>[0]) => {
    return otherNamesIn(resolveLinks(snapshotOf(entries), '/w', NOTHING));
  };

  it('ends on links into their own directory', () => {
    const { names } = namesIn([entry('a', 'directory'), link('a/self', '.'), entry('a/file', 'file')])(
      'a/file',
    );
    expect(names).toContain('a/self/file');
  });

  it('says when a file has more names than it lists', () => {
    const links = Array.from({ length: 1_000 }, (_, index) => link(`l${index}`, 'file'));
    expect(namesIn([entry('file', 'file'), ...links])('file').more).toBe(true);
  });

  it('does not use up the stack on a long chain of directories and links', () => {
    const chain = Array.from({ length: 50_000 }, (_, index) => [
      entry(`d${index}`, 'directory'),
      link(`d${index}/l`, `../d${index + 1}`),
    ]).flat();
    expect(namesIn(chain)('d49999').more).toBe(true);
  });
});

function resolvedByTheSystem(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
