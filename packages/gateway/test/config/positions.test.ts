import { describe, expect, it } from 'vitest';
import { findPositions } from '../../src/config/load.ts';

describe('findPositions()', () => {
  it.each([
    [['a'], { line: 1, column: 1 }, { line: 1, column: 7 }],
    [['a', 'b'], { line: 1, column: 3 }, { line: 1, column: 7 }],
    [['t'], { line: 2, column: 2 }, { line: 2, column: 2 }],
    [['t', 'x y', 1, 'c'], { line: 3, column: 15 }, { line: 3, column: 19 }],
    [['l', 0], { line: 4, column: 3 }, { line: 4, column: 3 }],
    [['l', 1, 'd'], { line: 7, column: 1 }, { line: 7, column: 5 }],
    [['l', 1, 'd', 2], { line: 8, column: 2 }, { line: 8, column: 2 }],
  ])('knows where %j stands', async (path, key, value) => {
    const positions = await findPositions(
      'a.b = 1\n[t]\n"x y" = [1, { c = 2 }]\n[[l]]\nd = []\n[[l]]\nd = [1, 2,\n 3]',
    );
    expect([positions(path, 'key'), positions(path, 'value')]).toEqual([key, value]);
  });

  it('gives no place for what is not there, nor for a text that is no TOML', async () => {
    expect((await findPositions('a = 1'))(['b'], 'key')).toBeUndefined();
    expect((await findPositions('a = ['))(['a'], 'key')).toBeUndefined();
  });

  it('knows each part of a header, and what is deeper than any key of palisade.toml', async () => {
    const text = '[a.bc.d]\nx = { y = [[{ z = 1 }]] }\n[[a.list]]\n[a.list.in]\nv = 1';
    const positions = await findPositions(text);
    expect(positions(['a', 'bc'], 'key')).toEqual({ line: 1, column: 4 });
    expect(positions(['a', 'bc', 'd'], 'value')).toEqual({ line: 1, column: 7 });
    expect(positions(['a', 'bc', 'd', 'x', 'y', 0, 0, 'z'], 'value')).toEqual({ line: 2, column: 19 });
    expect(positions(['a', 'list', 0], 'key')).toEqual({ line: 3, column: 3 });
    expect(positions(['a', 'list', 0, 'in', 'v'], 'key')).toEqual({ line: 5, column: 1 });
  });

  it('does not write through __proto__', async () => {
    const positions = await findPositions('[__proto__]\npolluted = 1\n[a.__proto__]\npolluted = 1');
    expect(positions(['__proto__', 'polluted'], 'key')).toEqual({ line: 2, column: 1 });
    expect('polluted' in {}).toBe(false);
  });
});
