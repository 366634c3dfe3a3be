import { expect, it } from 'vitest';
import { orElse } from '../../src/core/result.ts';

it('orElse() gives the value, and the fallback where the look throws', () => {
  expect(orElse(() => 'seen', null)).toBe('seen');
  expect(orElse(() => JSON.parse('{'), null)).toBeNull();
});
