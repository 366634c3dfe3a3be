import { execFileSync } from 'node:child_process';
import { assert as hold, nat, property, string, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import {
  isAtLeast,
  parseOptions,
  parseVersion,
  REQUIRED_OPTIONS,
} from '../../../src/tiers/c-bubblewrap/probe.ts';

const BWRAP = '/usr/bin/bwrap';

function bwrapSays(option: string): string {
  return execFileSync(BWRAP, [option], { encoding: 'utf8' });
}

test('parseVersion() reads what bubblewrap prints', () => {
  expect(parseVersion(bwrapSays('--version'))).toHaveLength(3);
  expect(parseVersion('bubblewrap 0.8.0\n')).toEqual([0, 8, 0]);
  expect(parseVersion('bubblewrap 1.0')).toEqual([1, 0, 0]);
});

test.each(['', 'bubblewrap', 'bubblewrap 0.8', 'evil 0.8.0', 'bubblewrap 0.8.0\nx', 'bubblewrap -1.0.0'])(
  'parseVersion() reads %j as a version only when it is one',
  (text) => {
    const isVersion = text === 'bubblewrap 0.8';
    expect(parseVersion(text) !== null).toBe(isVersion);
  },
);

test('parseVersion() gives back every version that it is shown, and never throws', () => {
  const part = nat({ max: 99_999 });
  hold(
    property(tuple(part, part, part), (version) => {
      expect(parseVersion(`bubblewrap ${version.join('.')}\n`)).toEqual(version);
    }),
  );
  hold(
    property(string(), (text) => {
      expect([null, 3]).toContain(parseVersion(text)?.length ?? null);
      expect(Array.isArray(parseOptions(text))).toBe(true);
    }),
  );
});

test('parseOptions() finds every option that a jail needs in the help of bubblewrap', () => {
  const options = parseOptions(bwrapSays('--help'));
  expect(options).toEqual(expect.arrayContaining([...REQUIRED_OPTIONS, '--disable-userns', '--ro-bind-fd']));
  expect(options).not.toContain('--evil');
});

test('isAtLeast() compares number by number', () => {
  expect(isAtLeast([0, 12, 0], [0, 12, 0])).toBe(true);
  expect(isAtLeast([0, 8, 99], [0, 12, 0])).toBe(false);
  expect(isAtLeast([1, 0, 0], [0, 12, 0])).toBe(true);
  expect(isAtLeast([0, 12, 0], [0, 12, 1])).toBe(false);
});
