import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { authorize } from '../../src/policy/authorize.ts';
import { type Grant, spend } from '../../src/policy/grant.ts';
import { COUNT, checkedCall, engineWith, FACTS, PERMIT_ALL } from './sample.ts';

const SOURCE = join(import.meta.dirname, '../../src');

function makeOne(): Grant {
  const decision = authorize(engineWith(PERMIT_ALL), checkedCall(COUNT, { text: '' }), FACTS);
  if (decision.verdict !== 'allow') throw new Error(decision.verdict);
  return decision.grant;
}

/** Who imports the maker of grants, by a look at the import statements. */
function makersOf(files: readonly { name: string; text: string }[]): string[] {
  const importsMaker =
    /import[^;]*\bmakeGrant\b[^;]*from|import\s*\*[^;]*grant\.ts|import\([^)]*grant\.ts|export[^;]*from[^;]*grant\.ts/;
  return files.filter(({ text }) => importsMaker.test(text)).map(({ name }) => name);
}

describe('a grant', () => {
  test('is spent once', () => {
    const grant = makeOne();
    expect(spend(grant).tool.id).toBe('text.count');
    expect(() => spend(grant)).toThrow('forged or already spent');
  });

  test('cannot be forged, copied or inherited from', () => {
    const grant = makeOne();
    const forged = [
      { ...grant },
      Object.create(grant),
      structuredClone({ ...grant, call: null }),
      new Proxy(grant, {}),
    ];
    for (const one of forged) expect(() => spend(one as Grant)).toThrow(TypeError);
    expect(spend(grant)).toBeDefined();
  });

  test('cannot be changed after it was made', () => {
    const grant = makeOne() as { -readonly [K in keyof Grant]: Grant[K] };
    expect(() => {
      grant.call = checkedCall(COUNT, { text: 'other' });
    }).toThrow(TypeError);
    expect(() => Object.assign(grant.limits, { wallMs: 1e9 })).toThrow(TypeError);
    expect(() => Object.assign(grant.call, { input: { text: 'other' } })).toThrow(TypeError);
  });

  test('is made by authorize.ts alone', () => {
    const names = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const files = names.map((name) => ({ name, text: readFileSync(join(SOURCE, name), 'utf8') }));
    expect(makersOf(files)).toEqual([join('policy', 'authorize.ts')]);
    const planted = { name: 'x.ts', text: `import { type Grant, makeGrant } from '../policy/grant.ts';` };
    expect(makersOf([planted])).toEqual(['x.ts']);
  });
});
