import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { CodedError } from '../../../src/core/coded-error.ts';
import { type Parsed, parseCommandLine } from '../../../src/doors/cli/parse.ts';
import { COMMON_FLAGS, VERBS } from '../../../src/doors/cli/verbs.table.ts';
import { runInside } from './fake-edge.ts';

/** What was read, or the message of the refusal; anything else that is thrown fails the test. */
function read(argv: readonly string[]): Parsed | string {
  try {
    return parseCommandLine(argv);
  } catch (error) {
    if (error instanceof CodedError && error.code === 'door/wrong-usage') return error.message;
    throw error;
  }
}

const flagNames = [...COMMON_FLAGS, ...VERBS.flatMap(({ flags }) => flags)].map(({ name }) => `--${name}`);
const knownWord = fc.constantFrom(...VERBS.flatMap(({ words }) => words.split(' ')), ...flagNames);
const oddWord = fc.constantFrom(
  '--',
  '-',
  '',
  '--=',
  '-x',
  '--__proto__',
  '--constructor=1',
  '-h',
  '\0',
  '--input=',
);
const anyWord = fc.oneof(knownWord, oddWord, fc.string({ unit: CHARACTER }));
const verb = fc.constantFrom(...VERBS).map(({ words }) => words.split(' '));
const commandLine = fc
  .tuple(fc.oneof(verb, fc.constant([])), fc.array(anyWord, { maxLength: 8 }))
  .map(([words, rest]) => [...words, ...rest]);

describe('parseCommandLine()', () => {
  test('reads any words or refuses them as wrong usage, and never anything else', () => {
    fc.assert(
      fc.property(commandLine, (argv) => {
        const parsed = read(argv);
        if (typeof parsed === 'string') return parsed.startsWith('Cannot ');
        const known = new Set([...COMMON_FLAGS, ...(parsed.verb?.flags ?? [])].map(({ name }) => name));
        return Object.keys(parsed.flags).every((name) => known.has(name));
      }),
      { numRuns: volume(5_000, 30) },
    );
  });

  test('gives every value of a flag as it was written', () => {
    const value = fc.string({ unit: CHARACTER }).filter((text) => !text.startsWith('-'));
    fc.assert(
      fc.property(value, (text) => {
        for (const words of [['--input', text], [`--input=${text}`]]) {
          const parsed = read(['call', 'palisade.echo', ...words]);
          expect(parsed).toMatchObject({ args: ['palisade.echo'], flags: { input: text } });
        }
      }),
    );
  });

  test.each([
    ['an unknown flag', ['call', 'x', '--imput', '{}'], "Unknown option '--imput'"],
    ['a flag of another command', ['doctor', '--input', '{}'], "Unknown option '--input'"],
    ['a flag twice', ['call', 'x', '--as', 'user:a', '--as', 'user:b'], 'The flag --as is given twice'],
    ['a switch twice', ['doctor', '--json', '--json'], 'The flag --json is given twice'],
    ['a flag without its value', ['call', 'x', '--input'], '--input'],
    ['a value for a switch', ['doctor', '--json=yes'], '--json'],
    ['a flag before the command', ['--state', '/tmp/x', 'call', 'x'], 'a flag comes before the command'],
    ['a mistyped flag', ['call', 'x', '--imput', '{}'], 'did you mean --input?'],
    ['a mistyped command', ['doctr'], 'did you mean `palisade doctor`?'],
    ['a mistyped noun', ['aproval', 'list'], 'did you mean `palisade approvals list`?'],
    ['a mistyped verb', ['journal', 'serch'], 'did you mean `palisade journal search`?'],
    ['a group alone', ['policy'], 'expected one of policy list, policy check'],
    ['help of an unknown command', ['nope', '--help'], 'no such command'],
    ['a missing argument', ['receipt'], 'got none, expected CALL'],
    ['an argument too many', ['doctor', 'now'], 'got 1, expected no argument'],
  ])('refuses %s', (_, argv, why) => {
    expect(read(argv)).toContain(why);
  });

  test('gives every word after -- as it was written, to a verb that hands them on', () => {
    fc.assert(
      fc.property(fc.array(anyWord, { minLength: 1, maxLength: 8 }), (words) => {
        expect(read(['exec', '--json', '--', ...words])).toMatchObject({
          args: [],
          rest: words,
          flags: { json: true },
        });
        expect(Object.keys((read(['exec', '--', ...words]) as Parsed).flags)).toEqual([]);
      }),
    );
  });

  test('gives all values of a flag that repeats, in their order', () => {
    expect(read(['exec', '--env', 'A=1', '--env=B=2', '--', 'env'])).toMatchObject({
      flags: { env: ['A=1', 'B=2'] },
      rest: ['env'],
    });
  });

  test.each([[[]], [['--help']], [['-h']], [['policy', '--help']]])('takes %j as a wish for help', (argv) => {
    expect(read(argv)).toMatchObject({ verb: null });
  });
});

describe('the command line', () => {
  test.each([
    ['a state directory with a NUL', ['doctor', '--state', '/tmp/a\0b'], 'NUL'],
    ['an empty state directory', ['doctor', '--state', ''], 'is empty'],
    [
      'a principal without a kind',
      ['call', 'x', '--as', 'ada'],
      'expected agent:NAME, user:NAME or service:NAME',
    ],
    ['a principal with a NUL', ['call', 'x', '--as', 'agent:a\0b'], 'Cannot act as'],
    ['a huge principal', ['call', 'x', '--as', `agent:${'a'.repeat(1_000_000)}`], 'Cannot act as'],
    ['a limit of zero', ['journal', 'tail', '--limit', '0'], 'expected a whole number from 1 to 10000'],
    ['a limit with an exponent', ['journal', 'tail', '--limit', '1e3'], 'expected a whole number'],
    [
      'a limit beyond all numbers',
      ['journal', 'tail', '--limit', '9'.repeat(400)],
      'expected a whole number',
    ],
    ['a time that is none', ['journal', 'search', '--from', 'yesterday'], 'expected a time like'],
    ['a state that is none', ['approvals', 'list', '--only', 'maybe'], 'expected one of pending'],
    ['a mistyped state', ['approvals', 'list', '--only', 'aproved'], 'did you mean "approved"?'],
    ['a shell it does not know', ['completion', 'tcsh'], 'expected bash, zsh or fish'],
  ])('refuses %s before it opens anything', async (_, argv, why) => {
    const { status, err, out } = await runInside(argv);
    expect(err).toContain(why);
    expect(err).not.toContain('\0');
    expect(out).toBe('');
    expect(status).toBe(64);
  });
});
