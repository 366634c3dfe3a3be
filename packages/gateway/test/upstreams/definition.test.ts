import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import { readDefinitions } from '../../src/upstreams/definition.ts';
import { differenceOf, inWords } from '../../src/upstreams/difference.ts';

const TOOL = { name: 'read', description: 'Reads.', inputSchema: { type: 'object' } };

function read(...listed: readonly Json[]) {
  const result = readDefinitions(listed);
  if (!result.ok) throw new Error(result.problem);
  return result.value;
}

describe('readDefinitions()', () => {
  test('gives one digest for one set, in whatever order it was listed', () => {
    const others = [
      { ...TOOL, name: 'write' },
      { ...TOOL, name: 'list' },
    ];
    expect(read(TOOL, ...others).digest).toBe(read(...others, TOOL).digest);
  });

  test.each<[string, Json]>([
    ['another name', { ...TOOL, name: 'reads' }],
    ['another description', { ...TOOL, description: 'Reads!' }],
    ['another title', { ...TOOL, title: 'Read' }],
    ['another schema', { ...TOOL, inputSchema: { type: 'object', properties: {} } }],
    ['an output', { ...TOOL, outputSchema: { type: 'object' } }],
    ['a hint', { ...TOOL, annotations: { readOnlyHint: true } }],
  ])('gives another digest for %s', (_, other) => {
    expect(read(other).digest).not.toBe(read(TOOL).digest);
  });

  test('drops what nobody accepts or reads: icons, meta and hints that are no hints', () => {
    const more = { ...TOOL, icons: [], _meta: { x: 1 }, annotations: { title: 'x', readOnlyHint: 'yes' } };
    expect(read(more).digest).toBe(read(TOOL).digest);
  });

  test.each<[string, Json]>([
    ['a space in its name', { ...TOOL, name: 'a b' }],
    ['no name', { ...TOOL, name: '' }],
    ['a long name', { ...TOOL, name: 'a'.repeat(129) }],
    ['a hidden character in its name', { ...TOOL, name: 'a\u200db' }],
    ['a title that turns around', { ...TOOL, title: '\u202eabc' }],
    ['no schema', { name: 'read' }],
    ['a huge schema', { ...TOOL, inputSchema: { type: 'object', x: 'y'.repeat(70_000) } }],
  ])('refuses a set with a tool that has %s', (_, tool) => {
    expect(readDefinitions([TOOL, tool])).toMatchObject({ ok: false });
  });

  test('never throws, and reads what it gave in the same way again', () => {
    const tool = fc.record(
      {
        name: fc.string(),
        title: fc.string(),
        description: fc.string(),
        inputSchema: fc.object(),
        annotations: fc.object(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(tool, fc.jsonValue()), { maxLength: 5 }), (listed) => {
        const first = readDefinitions(JSON.parse(JSON.stringify(listed)));
        if (!first.ok) return;
        const again = readDefinitions(JSON.parse(first.value.text));
        expect(again).toMatchObject({ ok: true, value: { digest: first.value.digest } });
      }),
    );
  });
});

describe('differenceOf()', () => {
  test('tells what was added, removed, renamed and changed, field by field', () => {
    const before = read(
      TOOL,
      { ...TOOL, name: 'b', description: 'B' },
      { ...TOOL, name: 'c', description: 'C' },
    );
    const now = read(
      { ...TOOL, description: 'Reads more.', title: 'Read' },
      { ...TOOL, name: 'd', description: 'B' },
      { ...TOOL, name: 'e', description: 'E' },
    );
    const difference = differenceOf(before.definitions, now.definitions);
    expect(difference).toEqual({
      added: ['e'],
      removed: ['c'],
      renamed: [{ from: 'b', to: 'd' }],
      changed: [{ name: 'read', fields: ['title', 'description'] }],
    });
    expect(inWords(difference)).toBe(
      'added: e; removed: c; renamed: b to d; changed: read (title, description)',
    );
  });
});
