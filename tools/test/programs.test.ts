import { describe, expect, test } from 'vitest';
import { missingPackages, PROGRAMS } from '../programs.mjs';

describe('missingPackages()', () => {
  test('names nothing where every program is in one of the usual places', () => {
    expect(missingPackages((path: string) => /^\/usr\/(?:bin|sbin|lib)\//.test(path))).toEqual([]);
  });

  test('names the package of each program that is nowhere', () => {
    const has = (path: string) => !path.endsWith('/bwrap') && !path.endsWith('/rg');
    expect(missingPackages(has)).toEqual(['bubblewrap', 'ripgrep']);
    expect(missingPackages(() => false)).toHaveLength(PROGRAMS.flatMap(([, ...packages]) => packages).length);
    expect(missingPackages((path: string) => !path.endsWith('/cc'))).toEqual(['gcc', 'libc6-dev']);
  });
});
