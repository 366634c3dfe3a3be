import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/all.ts';
import { NOUNS } from '../../src/operations/operate.ts';

describe('the table of operations', () => {
  test('has a sentence for each row, and a name and an address of its own', () => {
    for (const { sentence, http } of OPERATIONS) {
      expect(sentence).toMatch(/^[A-Z].*\.$/s);
      expect(http.path).toMatch(/^\/v1\/[a-z{}/]+$/);
    }
    expect(new Set(OPERATIONS.map(({ name }) => name)).size).toBe(OPERATIONS.length);
    const addresses = OPERATIONS.map(({ http: { method, path } }) => `${method} ${path}`);
    expect(new Set(addresses).size).toBe(OPERATIONS.length);
  });

  test('is found by name in the file of its noun', async () => {
    const named = Object.values(NOUNS).flatMap(({ names }): readonly string[] => names);
    expect(named).toEqual(OPERATIONS.map(({ name }) => name));
    for (const { load, names } of Object.values(NOUNS))
      expect((await load()).operations.map((row) => row.name)).toEqual(names);
  });

  test('has every member of an input that an address or a header names', () => {
    for (const { name, http, input } of OPERATIONS) {
      const inPath = [...http.path.matchAll(/\{(\w+)\}/g)].map(([, member = '']) => member);
      const inHeaders = Object.values(http.headers ?? {}).map(({ member }) => member);
      const inBody = http.bytes === undefined ? [] : [http.bytes.member];
      expect(Object.keys(input.shape), name).toEqual(
        expect.arrayContaining([...inPath, ...inHeaders, ...inBody]),
      );
    }
  });
});
