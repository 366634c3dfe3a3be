import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST = 0x10_ffff;

/**
 * Any character of Unicode, for `fc.string`. The `binary` unit of fast-check has the same ones, and a table of a million of
 * them that costs a second and a hundred MiB in each process.
 */
export const CHARACTER = fc
  .integer({ min: 0, max: LAST - SURROGATES.count })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));

const URL_CHARACTER = fc.oneof(
  fc.constantFrom(...'abcXYZ019-._~!$&()*+,;=:@'),
  CHARACTER.map(encodeURIComponent),
);
const URL_PART = fc.string({ unit: URL_CHARACTER, maxLength: 8 });

/** Any URL with an authority, a path and perhaps a query. */
export function webUrl(schemes: readonly string[] = ['http', 'https']): fc.Arbitrary<string> {
  const query = fc.oneof(
    fc.constant(''),
    URL_PART.map((text) => `?${text}`),
  );
  return fc
    .tuple(fc.constantFrom(...schemes), fc.webAuthority(), fc.array(URL_PART, { maxLength: 4 }), query)
    .map(
      ([scheme, authority, parts, rest]) =>
        `${scheme}://${authority}${parts.map((part) => `/${part}`).join('')}${rest}`,
    );
}
