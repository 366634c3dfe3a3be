import fc from 'fast-check';
import { expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { matchesPattern } from '../../src/config/grammar.ts';

it.each([
  ['agent:*', 'agent:ada', true],
  ['agent:*', 'user:ada', false],
  ['agent:ada', 'agent:ada', true],
  ['agent:ada', 'agent:ada2', false],
  ['*', '', true],
  ['', '', true],
  ['', 'a', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*.read', 'fs.read', true],
  ['*.read', 'fs.reader', false],
  ['f*.*d', 'fs.read', true],
  ['agent.*', 'agentxada', false],
])('matchesPattern(%j, %j) is %j', (pattern, text, expected) => {
  expect(matchesPattern(pattern, text)).toBe(expected);
});

it('matchesPattern() agrees with the regular expression that says the same', () => {
  const piece = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 10 });
  fc.assert(
    fc.property(piece, text, (pattern, subject) => {
      const source = pattern.replaceAll('.', '\\.').replaceAll('*', '.*');
      expect(matchesPattern(pattern, subject)).toBe(new RegExp(`^${source}$`, 's').test(subject));
    }),
    { numRuns: volume(2000, 30) },
  );
});
