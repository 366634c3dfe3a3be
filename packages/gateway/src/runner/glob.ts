import type { Lookups } from './resolve-path.ts';

const LONGEST_NAME = 255;
/** `*`, `?`, a set in brackets, or alternatives in braces. */
const MAGIC = /\*+|\?|\[[^\]]+\]|\{[^{}]*(?:,|\.\.)[^{}]*\}/;
const ONE = Symbol('any one character');
const MANY = Symbol('any characters');

type Token = string | typeof ONE | typeof MANY;

/** Tells whether a program that expands patterns could take this for one; texts with quotes are code or data. */
export function isPattern(text: string): boolean {
  return MAGIC.test(text) && text.length <= LONGEST_NAME && !text.includes('"');
}

/**
 * The paths that a pattern can mean to a program that expands it. It may give too much, since a set is read as any
 * character and alternatives as any characters, and never too little.
 */
export function expandPattern(pattern: string, from: string, lookups: Lookups): readonly string[] {
  let bases = [pattern.startsWith('/') ? '' : from];
  for (const part of pattern.split('/').filter((each) => each !== '')) {
    bases = MAGIC.test(part)
      ? bases.flatMap((base) => matchesIn(base, tokensOf(part), lookups))
      : bases.map((base) => `${base}/${part}`);
  }
  return bases;
}

function matchesIn(directory: string, tokens: readonly Token[], lookups: Lookups): readonly string[] {
  const names = lookups.namesIn(directory === '' ? '/' : directory);
  // A name costs less than a lookup, but not nothing.
  lookups.spend(Math.ceil(names.length / 16));
  return names.filter((name) => matches(tokens, name)).map((name) => `${directory}/${name}`);
}

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  let rest = pattern;
  for (let magic = MAGIC.exec(rest); magic !== null; magic = MAGIC.exec(rest)) {
    tokens.push(...rest.slice(0, magic.index), /^[?[]/.test(magic[0]) ? ONE : MANY);
    rest = rest.slice(magic.index + magic[0].length);
  }
  return [...tokens, ...rest];
}

/** Boundary: goes back to the last MANY only, so that no pattern takes more than the product of both lengths. */
function matches(tokens: readonly Token[], name: string): boolean {
  const chars = [...name];
  let token = 0;
  let char = 0;
  let many = { token: -1, char: 0 };
  while (char < chars.length) {
    if (tokens[token] === MANY) {
      many = { token, char };
      token += 1;
    } else if (tokens[token] === ONE || tokens[token] === chars[char]) {
      token += 1;
      char += 1;
    } else if (many.token >= 0) {
      many = { token: many.token, char: many.char + 1 };
      token = many.token + 1;
      char = many.char;
    } else return false;
  }
  return tokens.slice(token).every((each) => each === MANY);
}
