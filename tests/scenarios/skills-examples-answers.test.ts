import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { BUILD_MS, DRAWN_SKILLS, exampleSkill } from '../fixtures/skills/example-skills.ts';
import { type RawEnd, type RawTool, rawTool } from '../fixtures/skills/raw.ts';
import { CHARACTER } from '../volume/characters.ts';
import { volume } from '../volume/volume.ts';

/* What the skills that only compute say to any input, held against others that know the answer. */

const TOOLS = [
  ...['text/diff', 'text/count', 'text/truncate', 'text/wrap', 'json/format', 'json/merge'],
  ...['hash/sha256', 'hash/encode', 'hash/decode', 'markdown/render'],
] as const;
type ToolName = (typeof TOOLS)[number];

const tools = new Map<ToolName, RawTool>();
const RUNS = { numRuns: volume(300, 30) };

beforeAll(async () => {
  for (const tool of TOOLS) {
    const [name = '', work = ''] = tool.split('/');
    if (!DRAWN_SKILLS.includes(name)) continue;
    const { files } = await exampleSkill(name);
    tools.set(tool, await rawTool(new Uint8Array(files.get(`${name}.wasm`) ?? []), work));
  }
}, BUILD_MS);

function describeSkill(name: string, tests: () => void): void {
  if (DRAWN_SKILLS.includes(name)) describe(name, tests);
}

function end(tool: ToolName, input: object): RawEnd {
  const found = tools.get(tool);
  if (found === undefined) throw new Error(`Cannot call ${tool}: it was not built`);
  return found(JSON.stringify(input));
}

function answer<T>(tool: ToolName, input: object): T {
  const ended = end(tool, input);
  if ('failure' in ended) throw new Error(ended.failure);
  return JSON.parse(ended.output) as T;
}

const text = fc.string({ unit: CHARACTER, maxLength: 60 });

describeSkill('text', () => {
  const line = fc.constantFrom('a', 'b', 'c', '', 'ü');
  const lines = fc
    .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
    .map(([all, hasEnd]) => all.join('\n') + (hasEnd && all.length > 0 ? '\n' : ''));

  test('diff gives what makes one text of the other', () => {
    const context = fc.integer({ min: 0, max: 4 });
    fc.assert(
      fc.property(lines, lines, context, (before, after, around) => {
        const { diff } = answer<{ diff: string }>('text/diff', { before, after, context: around });
        expect(applied(before, diff)).toBe(after);
      }),
      RUNS,
    );
  });

  test('diff makes no more changes than it has to', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const { added, removed } = answer<{ added: number; removed: number }>('text/diff', { before, after });
        expect(added + removed).toBe(leastChanges(linesOf(before), linesOf(after)));
      }),
      RUNS,
    );
  });

  test('truncate never gives more characters than it may, nor half of one', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (whole, most) => {
        const input = { text: whole, max_characters: most };
        const { text: short, is_cut: isCut } = answer<{ text: string; is_cut: boolean }>(
          'text/truncate',
          input,
        );
        expect(Array.from(short).length).toBeLessThanOrEqual(most);
        expect(Buffer.from(short).toString()).toBe(short);
        expect(isCut).toBe(Array.from(whole).length > most);
      }),
      RUNS,
    );
  });

  test('wrap changes nothing but white space', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 30 }), (whole, width) => {
        const { text: narrow } = answer<{ text: string }>('text/wrap', { text: whole, width });
        const words = (each: string) => each.split(/\p{White_Space}+/u).filter((word) => word !== '');
        expect(words(narrow)).toEqual(words(whole));
      }),
      RUNS,
    );
  });
});

describeSkill('json', () => {
  test('format gives every float in the spelling of ECMAScript', () => {
    const float = fc.double({ noNaN: true, noDefaultInfinity: true });
    const decimal = fc.tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 0, max: 9 }));
    const number = fc.oneof(
      float,
      decimal.map(([whole, places]) => whole / 10 ** places),
    );
    fc.assert(
      fc.property(number, (value) => {
        const { text: spelled } = answer<{ text: string }>('json/format', {
          ...{ document: JSON.stringify(value), style: 'canonical' },
        });
        expect(spelled).toBe(JSON.stringify(value));
      }),
      { numRuns: volume(1_000, 30) },
    );
  });

  test('format gives every document as others do', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.integer({ min: 1, max: 8 }), (value, indent) => {
        const document = JSON.stringify(value);
        expect(answer('json/format', { document, indent })).toEqual({
          text: JSON.stringify(JSON.parse(document), null, indent),
        });
      }),
      RUNS,
    );
  });

  test('merge gives what the algorithm of RFC 7396 does', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(value, value, (target, patch) => {
        const input = { target: JSON.stringify(target), patch: JSON.stringify(patch) };
        const { result } = answer<{ result: string }>('json/merge', input);
        expect(JSON.parse(result)).toEqual(merged(JSON.parse(input.target), JSON.parse(input.patch)));
      }),
      RUNS,
    );
  });
});

describeSkill('hash', () => {
  test('gives the digest and the spellings that Node gives', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER, maxLength: 200 }), (data) => {
        const sha256 = createHash('sha256').update(data).digest('hex');
        expect(answer('hash/sha256', { data })).toEqual({ bytes: Buffer.byteLength(data), sha256 });
        for (const as of ['hex', 'base64', 'base64url'] as const) {
          const spelled = Buffer.from(data).toString(as);
          expect(answer('hash/encode', { text: data, as })).toMatchObject({ data: spelled });
          expect(answer('hash/decode', { data: spelled, from: as })).toMatchObject({ text: data });
        }
      }),
      RUNS,
    );
  });
});

describeSkill('markdown', () => {
  const TAGS =
    /<(?:\/?(?:p|em|strong|code|pre|blockquote|ul|ol|li|h[1-6]|a)|(?:hr|br) \/|ol start="[0-9]+"|code class="language-[^"<>]*"|a href="(?:https?:\/\/|mailto:)[^"<>\s]*"(?: title="[^"<>]*")?)>/gi;
  const piece = fc.oneof(
    fc.constantFrom(...'*_`[]()!<>&#-+=~"\'\\\n\t '),
    fc.constantFrom(
      '](',
      '[a](',
      'javascript:x',
      'https://x.y',
      '<script>',
      '<img src=x onerror=y>',
      '&lt;',
      '&#60;',
    ),
    fc.constantFrom(
      '```',
      '> ',
      '- ',
      '1. ',
      '    ',
      '<https://a.b/"onclick=x>',
      '"><b>',
      'a',
      'data:text/html,x',
    ),
    text,
  );

  test('gives no tag of its input, whatever that is', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const { html } = answer<{ html: string }>('markdown/render', { markdown: pieces.join('') });
        expect(html.replaceAll(TAGS, '')).not.toMatch(/[<>"]|&(?!(?:amp|lt|gt|quot);)/);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  test('closes every tag that it opens, in their order', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const { html } = answer<{ html: string }>('markdown/render', { markdown: pieces.join('') });
        const open: string[] = [];
        for (const [, slash, name = '', rest = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/g)) {
          if (slash === '/') expect(open.pop()).toBe(name);
          else if (!rest.endsWith('/')) open.push(name);
        }
        expect(open).toEqual([]);
      }),
      { numRuns: volume(1_000, 30) },
    );
  });
});

function linesOf(whole: string): readonly string[] {
  return whole.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** What a unified diff makes of a text; throws where it does not fit. */
function applied(before: string, diff: string): string {
  const old = linesOf(before);
  const made: string[] = [];
  let at = 0;
  const pieces = linesOf(diff.replaceAll('\n\\ No newline at end of file\n', '␀'));
  // A line without an end took its mark with it, and maybe the line behind it.
  const marked = pieces.flatMap((each) => each.split(/(?<=␀)/).map((line) => line.replace('␀', '')));
  for (const piece of marked) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? /.exec(piece);
    if (hunk !== null) {
      const from = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      made.push(...old.slice(at, from));
      at = from;
      continue;
    }
    const content = piece.slice(1);
    if (piece[0] !== '+') expect(old[at]).toBe(content);
    if (piece[0] !== '+') at += 1;
    if (piece[0] !== '-') made.push(content);
  }
  return [...made, ...old.slice(at)].join('');
}

/** All lines without twice those of the longest sequence that both have. */
function leastChanges(a: readonly string[], b: readonly string[]): number {
  let above = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const row = [0];
    for (const [at, other] of b.entries())
      row.push(line === other ? (above[at] ?? 0) + 1 : Math.max(above[at + 1] ?? 0, row[at] ?? 0));
    above = row;
  }
  return a.length + b.length - 2 * (above[b.length] ?? 0);
}

function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
