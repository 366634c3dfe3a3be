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
