import { describe, expect, it } from 'vitest';
import { chooseStateDir } from '../../src/config/environment.ts';
import { CodedError } from '../../src/core/coded-error.ts';

const ENV = { state: '/env', xdgStateHome: '/xdg', home: '/home/ada' };
const cwd = '/srv/here';

describe('chooseStateDir() takes', () => {
  it.each([
    ['the flag before all', { flag: '/flag', env: ENV }, '/flag', 'flag --state'],
    ['PALISADE_STATE next', { env: ENV }, '/env', 'environment PALISADE_STATE'],
    ['XDG_STATE_HOME next', { env: { ...ENV, state: null } }, '/xdg/palisade', 'environment XDG_STATE_HOME'],
    [
      'the home directory last',
      { env: { ...ENV, state: null, xdgStateHome: null } },
      '/home/ada/.local/state/palisade',
      'default',
    ],
    [
      'a relative XDG_STATE_HOME for none',
      { env: { ...ENV, state: null, xdgStateHome: 'x' } },
      '/home/ada/.local/state/palisade',
      'default',
    ],
    [
      'a relative flag from the current directory',
      { flag: '../state', env: ENV },
      '/srv/state',
      'flag --state',
    ],
    [
      'a relative variable from the current directory',
      { env: { ...ENV, state: 's/' } },
      '/srv/here/s',
      'environment PALISADE_STATE',
    ],
  ])('%s', (_, choice, path, origin) => {
    expect(chooseStateDir({ ...choice, cwd })).toEqual({ path, origin });
  });
});

describe('chooseStateDir() refuses', () => {
  it.each([
    ['an empty flag', { flag: '', env: ENV }, 'flag --state is empty, expected a path'],
    ['a flag with NUL', { flag: '/a\0b', env: ENV }, 'flag --state has a NUL character'],
    ['an empty variable', { env: { ...ENV, state: '' } }, 'environment PALISADE_STATE is empty'],
    [
      'no home at all',
      { env: { state: null, xdgStateHome: null, home: null } },
      'the home directory is unknown',
    ],
  ])('%s', (_, choice, expected) => {
    const choose = () => chooseStateDir({ ...choice, cwd });
    expect(choose).toThrow(CodedError);
    expect(choose).toThrow(`Cannot choose the state directory: ${expected}`);
    expect(choose).toThrow(expect.objectContaining({ code: 'door/wrong-usage' }));
  });
});
