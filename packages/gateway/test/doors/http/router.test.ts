import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { makeRouter } from '../../../src/doors/http/router.ts';
import { type HttpMethod, operation } from '../../../src/operations/operation.ts';

const row = (method: HttpMethod, path: string) =>
  operation({
    ...{ name: path, noun: 't', sentence: 's', scope: null, opens: 'records', http: { method, path } },
    input: z.strictObject({ id: z.string().optional(), part: z.string().optional() }),
    output: { sentence: 's' },
    handle: () => null,
  });
const router = makeRouter([
  row('GET', '/v1/items'),
  row('GET', '/v1/items/live'),
  row('GET', '/v1/items/{id}'),
  row('POST', '/v1/items/{id}/parts/{part}'),
]);

test('a router gives the value of a place back for whatever text was put there', () => {
  const value = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter((text) => !/[\p{Cc}\\]|^\.\.?$|^live$/u.test(text));
  fc.assert(
    fc.property(value, value, (id, part) => {
      const path = `/v1/items/${encodeURIComponent(id)}/parts/${encodeURIComponent(part)}`;
      expect(router('POST', path)).toMatchObject({ params: { id, part } });
    }),
  );
});

test('a router never throws, and finds nothing below an address that has nothing below it', () => {
  fc.assert(
    fc.property(fc.string({ unit: CHARACTER }), (text) => {
      router('GET', text);
      expect(router('GET', `/v1/items/live/${text}`)).toBeNull();
    }),
  );
});

test('a router prefers a fixed part, and tells another method from another address', () => {
  expect(router('GET', '/v1/items/live')).toMatchObject({
    binding: { operation: { name: '/v1/items/live' } },
    params: {},
  });
  expect(router('HEAD', '/v1/items')).toMatchObject({ binding: { operation: { name: '/v1/items' } } });
  expect(router('POST', '/v1/items')).toEqual({ allowed: ['GET'] });
  expect(router('GET', '/v1')).toBeNull();
  expect(router('GET', `/v1${'/x'.repeat(10_000)}`)).toBeNull();
});

test('a table with two rows for one address is a mistake that is found at the start', () => {
  expect(() => makeRouter([row('GET', '/a/{id}'), row('GET', '/a/{name}')])).toThrow(
    'two operations have it',
  );
});
