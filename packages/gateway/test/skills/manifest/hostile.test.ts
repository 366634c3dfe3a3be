import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { readTree } from '../../../src/config/toml-tree.ts';
import { parseManifest } from '../../../src/skills/manifest/parse-manifest.ts';
import { differenceIn, measure } from '../../../src/skills/manifest/read-toml.ts';
import { flat, problemsOf, read, render, renderWith } from './rendered.ts';

const INPUT = 'entrypoints.tools[].input_schema';
const LIMIT = 262_144;

describe('parseManifest() stays alive and refuses', () => {
  it.each([
    ['nested lists', `a = ${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['nested lists that do not end', `a = ${'['.repeat(200_000)}`],
    ['nested inline tables', `a = ${'{a='.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['one endless dotted key', `${'a.'.repeat(100_000)}a = 1`],
    ['one endless header', `[${'a.'.repeat(100_000)}a]`],
    ['endless tables', '[[entrypoints.tools]]\n'.repeat(10_000)],
    ['endless elements', `capabilities.config = [${'"a",'.repeat(60_000)}]`],
    ['more values than can be read soon', `capabilities.config = [${'1,'.repeat(16_385)}]`],
    ['one endless integer', `version = ${'9'.repeat(250_000)}`],
    ['one endless text', `name = "${'a'.repeat(250_000)}"`],
  ])('%s', (_, text) => {
    const problems = problemsOf(text);
    expect(problems.length).toBeGreaterThan(0);
    for (const { what } of problems) expect(what.length).toBeLessThan(600);
  });

  it('a file of one byte more than 256 KiB, and takes one of exactly that size', () => {
    const { text } = render();
    const filled = `${text}#${'x'.repeat(LIMIT - text.length - 1)}`;
    expect(parseManifest(filled, read).ok).toBe(true);
    expect(problemsOf(`${filled}x`)).toMatchObject([
      { line: 1, column: 1, what: 'Cannot use the file: it is too large, expected at most 262144 bytes' },
    ]);
    expect(problemsOf(`${text}#${'é'.repeat(LIMIT / 2)}`)).toHaveLength(1);
  });

  it.each([
    ['a NUL', 'name = "a"\n# \0', 2, 3],
    ['a second byte order mark', '\ufeff\ufeffname = "a"', 1, 1],
    ['half a character', 'name = "a\ud83d"', 1, 10],
    ['bytes that are not UTF-8', Uint8Array.of(0x61, 0x0a, 0x20, 0xff), 2, 2],
    ['a carriage return alone', 'name = "a"\rversion = "1"', 1, 11],
  ])('%s, where it is', (_, source, line, column) => {
    expect(problemsOf(source)).toMatchObject([{ line, column, path: '' }]);
  });

  it.each([
    '[__proto__]\npolluted = 1',
    '__proto__.polluted = 1',
    '[entrypoints.__proto__]\npolluted = 1',
    '[constructor.prototype]\npolluted = 1',
  ])('what would reach a prototype: %j', (more) => {
    const unknown = problemsOf(more).filter(({ what }) => what.includes('is unknown'));
    expect(unknown).toHaveLength(1);
    expect('polluted' in {}).toBe(false);
  });

  it('messages that a terminal would obey', () => {
    const problems = problemsOf(
      '"\\u001b[2J" = 1\n"a\\u202e" = 2\nname = "\\u001b[2J\\u202e"\nversion = "\\u009b2J"',
    );
    const shown = problems.map(({ what, path, hint }) => what + path + hint).join('');
    expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(problems.filter(({ what }) => what.includes('is unknown'))).toHaveLength(2);
  });
});

describe('parseManifest() of inline schemas', () => {
  function inputOf(value: string) {
    const result = parseManifest(renderWith(INPUT, value).text, read);
    return result.ok ? result.value.tools[0]?.inputSchema : result.problem.map(flat);
  }

  it('gives what JSON would', () => {
    const schema =
      '{ type = "object", additionalProperties = false, properties = { "a b" = { type = ["integer"], minimum = -1, maximum = 2.5 } }, constructor.x = 0.0 }';
    expect(inputOf(schema)).toEqual({
      type: 'object',
      additionalProperties: false,
      properties: { 'a b': { type: ['integer'], minimum: -1, maximum: 2.5 } },
      constructor: { x: 0 },
    });
  });

  it.each([
    ['a date', '{ type = "object", x = 1979-05-27 }', '1979', 'x'],
    ['a time in a list', '{ type = "object", x = [07:32:00] }', '07:32', 'x[0]'],
    ['NaN', '{ type = "object", x.y = nan }', 'nan', 'x.y'],
    ['infinity', '{ type = "object", x = -inf }', '-inf', 'x'],
    ['an integer that a double does not hold', '{ type = "object", x = 9007199254740993 }', '9007', 'x'],
    ['a float beyond integers', '{ type = "object", x = 1e300 }', '1e300', 'x'],
    ['__proto__', '{ type = "object", __proto__.x = 1 }', '__proto__', '__proto__'],
    ['__proto__ in quotes', '{ type = "object", a = { "__proto__" = {} } }', '"__proto__', 'a.__proto__'],
  ])('refuses %s, where it is', (_, value, marked, path) => {
    const start = 'input_schema = '.length + 1;
    expect(inputOf(value)).toMatchObject([
      { column: start + value.indexOf(marked), path: `entrypoints.tools[0].input_schema.${path}` },
    ]);
    expect('x' in {}).toBe(false);
  });

  it.each([
    ['no type', '{}'],
    ['the type of a text', '{ type = "string" }'],
    ['two types', '{ type = ["object"] }'],
  ])('refuses an input with %s at its top', (_, value) => {
    expect(inputOf(value)).toMatchObject([{ path: 'entrypoints.tools[0].input_schema' }]);
  });

  it('takes 32 levels and no more', () => {
    const nested = (levels: number) =>
      `{ type = "object", ${'a = { '.repeat(levels - 1)}${'} '.repeat(levels)}`;
    expect(inputOf(nested(32))).toHaveProperty('type', 'object');
    expect(inputOf(nested(33))).toMatchObject([{ what: expect.stringContaining('at most 32 levels') }]);
  });

  it('takes 64 KiB and no more', () => {
    const sized = (chars: number) => `{ type = "object", x = "${'a'.repeat(chars)}" }`;
    const rest = JSON.stringify({ type: 'object', x: '' }).length;
    expect(inputOf(sized(65_536 - rest))).toHaveProperty('type', 'object');
    expect(inputOf(sized(65_536 - rest + 1))).toMatchObject([
      { what: expect.stringContaining('65536 bytes') },
    ]);
  });

  it('asks for files of the package only', () => {
    const requested: string[] = [];
    const spy = (path: string) => {
      requested.push(path);
      return null;
    };
    for (const path of [
      '../a.json',
      '/etc/a.json',
      'a\\\\b.json',
      'a/./b.json',
      '.a.json',
      'a.txt',
      'schemas/a.json',
    ]) {
      parseManifest(renderWith(INPUT, `"${path}"`).text, spy);
    }
    expect(requested).toEqual(['schemas/a.json']);
  });
});

describe('differenceIn()', () => {
  const differs = (one: string, other: string) => {
    const tree = readTree(other);
    if (!tree.ok) throw new Error(tree.problem.is);
    return differenceIn(parse(one, { integersAsBigInt: true }), tree.value);
  };
  const WHOLE = 'a = 1\nb = [1.5, "x"]\nc.d = { e = true }\n[[f]]\n[[f]]\ng = 1979-05-27\n[h]\n';

  it('finds none between the two readings of one text', () => {
    expect(differs(WHOLE, WHOLE)).toBeNull();
  });

  it.each([
    ['a = 1', 'a = 2', 5],
    ['a = 1', 'a = 1.0', 5],
    ['a = 0.0', 'a = -0.0', 5],
    ['a = 1', 'a = "1"', 5],
    ['a = true', 'a = false', 5],
    ['a = []', 'a = {}', 5],
    ['a = [1]', 'a = [1, 2]', 5],
    ['a = [1]', 'a = [2]', 6],
    ['a = { b = 1 }', 'a = { c = 1 }', 5],
    ['a = {}', '[[a]]', 3],
    ['a = "x"', '[a]', 2],
    ['a = 1979-05-27', 'a = "1979-05-27"', 5],
    ['', 'a = 1', 1],
    ['a = 1', '', 1],
  ])('finds it between %j and %j', (one, other, column) => {
    expect(differs(one, other)).toEqual({ line: 1, column });
  });
});

describe('measure()', () => {
  it.each([
    ['', 0, 0],
    ['a = 1', 1, 1],
    ['a = [[], 2]', 2, 3],
    ['a.b.c = 1979-05-27', 3, 3],
    [`${'a.'.repeat(50_000)}a = 1`, 9, 9],
  ])('counts levels and values, and no further than it is told', (text, levels, values) => {
    expect(measure(parse(text), 8)).toEqual({ levels, values });
  });
});
