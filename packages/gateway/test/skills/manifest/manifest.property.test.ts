import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { MANIFEST_KEYS } from '../../../src/skills/manifest/manifest-keys.table.ts';
import { parseManifest } from '../../../src/skills/manifest/parse-manifest.ts';
import { manifests, writeManifest } from './arbitrary.ts';
import { manifestJsonSchema } from './json-schema.ts';
import { flat, read, render } from './rendered.ts';

const GOOD = render().text;
const isBySchema = new Ajv2020({ strict: false }).compile(manifestJsonSchema());

/** What holds of every ending, whatever was read. */
function expectSound(result: ReturnType<typeof parseManifest>, text: string): void {
  if (result.ok) {
    expect(isBySchema(parse(text)), JSON.stringify(isBySchema.errors)).toBe(true);
    return;
  }
  const problems = result.problem.map(flat);
  const lines = text.split('\n').length;
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.length).toBeLessThanOrEqual(50);
  for (const [i, { line, column, what }] of problems.entries()) {
    expect(what).toMatch(/^Cannot (use|read) .+, expected .+/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a message
    expect(what).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e\u200b]/);
    expect(line).toBeGreaterThanOrEqual(problems[i - 1]?.line ?? 1);
    expect(line).toBeLessThanOrEqual(lines);
    expect(column).toBeGreaterThanOrEqual(1);
  }
}

const names = MANIFEST_KEYS.flatMap(({ key }) => key.replaceAll('[]', '').split('.'));
const key = fc.oneof(
  fc.constantFrom(...names),
  fc.constantFrom('__proto__', 'constructor', '"a b"', '""', 'x'),
);
const dotted = fc.array(key, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
const scalar = fc.constantFrom(
  '1',
  '0',
  '-1',
  '1.5',
  'nan',
  '0x7fffffffffffffff',
  'true',
  '1979-05-27',
  '07:32:00',
  '"acme"',
  "'''\nx'''",
  '"\\u202e\\e"',
  '"',
  '[',
  '',
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }).map((list) => `[${list.join(', ')}]`),
  fc.tuple(dotted, scalar).map(([name, content]) => `{ ${name} = ${content} }`),
  fc.tuple(dotted, scalar).map(([name, content]) => `[{ ${name} = ${content} }, {\n}]`),
);
const line = fc.oneof(
  fc.tuple(dotted, value).map(([name, content]) => `${name} = ${content}`),
  dotted.map((name) => `[${name}]`),
  dotted.map((name) => `[[${name}]]`),
  fc.string({ maxLength: 8 }),
);

type Mutation = { readonly at: number; readonly cut: number; readonly put: string };
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(GOOD.length),
  cut: fc.nat(12),
  put: fc.oneof(
    fc.constant(''),
    fc.string({ maxLength: 4 }),
    fc.constantFrom('\n', '"', '[[', ']', '= 1', '\u202e', '\0', '.__proto__', '\r\n', '{ a = '),
  ),
});

function mutate(text: string, { at, cut, put }: Mutation): string {
  return text.slice(0, at) + put + text.slice(at + cut);
}

describe('parseManifest()', () => {
  it('reads back what a manifest says, for every manifest', () => {
    fc.assert(
      fc.property(manifests, (manifest) => {
        const text = writeManifest(manifest);
        const result = parseManifest(text, read);
        expect(result).toEqual({ ok: true, value: manifest });
        expectSound(result, text);
      }),
      { numRuns: 400 },
    );
  });

  it('takes text and bytes alike, with a byte order mark or without', () => {
    fc.assert(
      fc.property(manifests, (manifest) => {
        const text = writeManifest(manifest);
        const bytes = new TextEncoder().encode(`\ufeff${text.replaceAll('\n', '\r\n')}`);
        expect(parseManifest(bytes, read)).toEqual(parseManifest(text, read));
      }),
      { numRuns: 50 },
    );
  });

  it('takes or refuses TOML-like text, and never throws', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const text = lines.join('\n');
        expectSound(parseManifest(text, read), text);
      }),
      { numRuns: 2_000 },
    );
    expect('polluted' in {}).toBe(false);
  });

  it('takes or refuses a valid manifest with pieces cut out and put in, and never throws', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        const text = mutations.reduce(mutate, GOOD);
        const result = parseManifest(text, read);
        expectSound(result, text);
        if (!result.ok) refused += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  it('takes or refuses arbitrary bytes, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const result = parseManifest(bytes, read);
        expectSound(result, new TextDecoder().decode(bytes));
      }),
      { numRuns: 1_000 },
    );
  });
});
