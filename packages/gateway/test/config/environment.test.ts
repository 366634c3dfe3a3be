import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readEnvironment, secretsOf } from '../../src/config/environment.ts';
import { matchesPattern } from '../../src/config/grammar.ts';

const ACCOUNT = { username: 'ada', homedir: '/home/ada' };

describe('readEnvironment()', () => {
  it('gives what is set and null for the rest', () => {
    const env = readEnvironment(
      { PALISADE_STATE: '/s', XDG_STATE_HOME: '/x', HOME: '/h', NO_COLOR: '1' },
      ACCOUNT,
    );
    expect(env).toMatchObject({ state: '/s', xdgStateHome: '/x', home: '/h', noColor: true, user: 'ada' });
    expect(readEnvironment({}, null)).toMatchObject({
      state: null,
      xdgStateHome: null,
      home: null,
      noColor: false,
      user: null,
    });
  });

  it('keeps an empty PALISADE_STATE apart from an unset one', () => {
    expect(readEnvironment({ PALISADE_STATE: '' }, ACCOUNT).state).toBe('');
  });

  it('takes the user from the account, not from a variable that anybody can set', () => {
    expect(readEnvironment({ USER: 'root' }, ACCOUNT).user).toBe('ada');
    expect(readEnvironment({ USER: 'root' }, null).user).toBe('root');
    expect(readEnvironment({}, { username: 'no name', homedir: '/' }).user).toBeNull();
  });

  it('takes the home directory of the account where HOME is unset or empty', () => {
    expect(readEnvironment({ HOME: '' }, ACCOUNT).home).toBe('/home/ada');
  });

  it('shows no value when it is printed', () => {
    const env = readEnvironment({ API_TOKEN: 'hunter2hunter2' }, ACCOUNT);
    expect(inspect(env, { depth: 9 }) + JSON.stringify(env)).not.toContain('hunter2');
  });
});

describe('secretsOf()', () => {
  it('gives the variables whose whole name matches a pattern, each once', () => {
    const env = readEnvironment({ A_TOKEN: '1', A_TOKENS: '2', TOKEN: '3', MY_KEY: '4', PATH: '5' }, ACCOUNT);
    expect(secretsOf(env, ['*_TOKEN', 'A_*', 'MY_KEY'])).toEqual([
      { name: 'A_TOKEN', value: '1' },
      { name: 'A_TOKENS', value: '2' },
      { name: 'MY_KEY', value: '4' },
    ]);
    expect(secretsOf(env, [])).toEqual([]);
  });
});

describe('matchesPattern()', () => {
  it.each([
    ['A', 'A', true],
    ['A', 'AB', false],
    ['', '', true],
    ['', 'A', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['**', 'anything', true],
    ['A*', 'A', true],
    ['*A', 'BA', true],
    ['*A', 'AB', false],
    ['A*A', 'A', false],
    ['A*A', 'AA', true],
    ['*B*', 'ABC', true],
    ['A*B*C', 'AxBxC', true],
    ['A*B*C', 'AxCxB', false],
    ['a', 'A', false],
    ['A.C', 'ABC', false],
  ])('of "%s" and "%s" is %s', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  it('ends soon on a pattern that would explode in a backtracking matcher', () => {
    expect(matchesPattern(`${'*a'.repeat(60)}b`, 'a'.repeat(128))).toBe(false);
  });
});
