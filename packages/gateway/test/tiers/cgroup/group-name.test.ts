import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupNames } from '../../../src/tiers/cgroup/group-name.ts';

const OWNER = { house: '/var/lib/palisade', process: 'p_1' };
const names = groupNames('palisade', OWNER);
const word = fc.stringMatching(/^[a-zA-Z0-9_]{1,64}$/);

describe('the name of a group', () => {
  it('tells who made it, for every id', () => {
    fc.assert(
      fc.property(word, fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/), (process, id) => {
        const name = groupNames('palisade', { ...OWNER, process }).nameOf(id);
        expect(name).toMatch(/^palisade-[0-9a-f]{12}_[a-zA-Z0-9_]+-[a-zA-Z0-9_-]+$/);
        expect(name.length).toBeLessThanOrEqual(255);
        expect(names.processOf(name)).toBe(process);
      }),
    );
  });

  it('is foreign to a house with another state directory', () => {
    const other = groupNames('palisade', { ...OWNER, house: '/srv/palisade' });
    expect(names.processOf(other.nameOf('1'))).toBeNull();
    expect(other.processOf(names.nameOf('1'))).toBeNull();
  });

  it.each([
    '..',
    'palisade',
    'palisade-gateway',
    'palisade-p_1-1',
    `${names.nameOf('1')}/..`,
    `${names.nameOf('1')}\n`,
    `x${names.nameOf('1')}`,
    names.nameOf('1').slice(0, -1),
    names.nameOf('1').replace('p_1', ''),
    names.nameOf('1').replace('p_1', 'p.1'),
    names.nameOf('1').slice(0, 'palisade-'.length + 12 + 1),
    'user.slice',
  ])('is not %j', (name) => {
    expect(names.processOf(name)).toBeNull();
  });

  it.each(['', '.', '..', 'a/b', '../x', 'a b', 'a\0', 'a\n', 'ä', 'x'.repeat(65)])(
    'takes no id %j',
    (id) => {
      expect(() => names.nameOf(id)).toThrow(/^Cannot name a control group: its id is/);
    },
  );

  it.each(['', 'a-b', 'a/b', 'x'.repeat(65)])('takes no owner %j', (process) => {
    expect(() => groupNames('palisade', { ...OWNER, process })).toThrow(/its owner is/);
  });

  it.each(['', 'a-b', '../a', 'A'])('takes no prefix %j', (prefix) => {
    expect(() => groupNames(prefix, OWNER)).toThrow(/its prefix is/);
  });
});
