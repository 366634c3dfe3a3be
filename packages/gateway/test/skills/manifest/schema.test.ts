import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/skills/manifest/manifest-shape.ts';
import { manifestJsonSchema } from './json-schema.ts';
import { LEAVES, lineOf, problemsOf, render, renderWith } from './rendered.ts';

const FILE = new URL('../../../schema/skill.schema.json', import.meta.url);
const isBySchema = new Ajv2020({ strict: false }).compile(manifestJsonSchema());

describe('schema/skill.schema.json', () => {
  it('is what the table of keys says', () => {
    expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(manifestJsonSchema());
  });

  it('takes the manifest of all examples', () => {
    expect(isBySchema(parse(render().text))).toBe(true);
  });

  it.each(LEAVES)('refuses another type for $key, as the reader does', (row) => {
    for (const value of ['1.5', '[[]]', '[1]', '[{}]']) {
      const { text } = renderWith(row.key, value);
      expect([value, isBySchema(parse(text))]).toEqual([value, false]);
      expect(problemsOf(text)).not.toEqual([]);
    }
  });

  it.each(LEAVES)('wants $key exactly where the reader does', (row) => {
    const { text } = render((each) => (each === row ? null : lineOf(each)));
    expect(isBySchema(parse(text))).toBe(row.isRequired !== true);
  });

  it.each(LEAVES)('knows no other key beside $key', (row) => {
    const { text } = render((each) =>
      each === row ? `${lineOf(each)}\nx${nameOf(each.key)} = 1` : lineOf(each),
    );
    expect(isBySchema(parse(text))).toBe(false);
  });
});
