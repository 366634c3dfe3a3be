import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { readProse } from '../../../src/skills/manifest/prose.ts';

function proseOf(text: string) {
  return readProse(new TextEncoder().encode(text));
}

function front(...lines: string[]): string {
  return `---\n${lines.join('\n')}\n---\nBody.\n`;
}

describe('readProse()', () => {
  it('gives name and description, whatever the body is', () => {
    expect(proseOf('---\nname: text-tools\ndescription: Counts words.\n---\n\n# Text\r\n---\nmore')).toEqual({
      ok: true,
      value: { name: 'text-tools', description: 'Counts words.' },
    });
  });

  it.each([
    ['plain', 'a: b'.replace(': ', ':'), 'a:b'],
    ['in double quotes', '"a: \\"b\\" \\u00e9 # c"', 'a: "b" é # c'],
    ['in single quotes', "'it''s: # all'", "it's: # all"],
    ['with spaces around', '   Counts.  ', 'Counts.'],
    ['with a # inside a word', 'C# tools', 'C# tools'],
  ])('reads a value %s', (_, raw, description) => {
    expect(proseOf(front('name: a', `description: ${raw}`))).toMatchObject({
      ok: true,
      value: { description },
    });
  });

  it('takes the lines of another system, a byte order mark, empty lines, comments and the other keys of the form', () => {
    const text = `\ufeff${front('# mine', '', 'name: a', 'license: MIT', 'allowed-tools: Read', 'description: b')}`;
    expect(proseOf(text.replaceAll('\n', '\r\n'))).toMatchObject({
      ok: true,
      value: { name: 'a', description: 'b' },
    });
  });

  it('takes the lines beneath metadata, and beneath nothing else', () => {
    const lines = ['name: a', 'metadata:', '  author: acme', '  version: "1.0"', 'description: b'];
    expect(proseOf(front(...lines))).toMatchObject({ ok: true, value: { description: 'b' } });
    const nested = ['name: a', 'license:', '  author: acme', 'description: b'];
    expect(proseOf(front(...nested))).toMatchObject({ ok: false, problem: { line: 4 } });
  });

  it.each([
    ['no front matter', '# Text\n', 1, 'a first line of "---"'],
    ['an empty file', '', 1, 'a first line of "---"'],
    ['front matter that does not end', '---\nname: a\n', 1, 'a second line of "---"'],
    ['no name', front('description: b'), 1, 'has no name'],
    ['no description', front('name: a'), 1, 'has no description'],
    ['a key twice', front('name: a', 'name: b', 'description: c'), 3, 'occurs twice'],
    ['an unknown key', front('name: a', 'descripton: c'), 3, 'the key "descripton" is unknown'],
    ['a nested value', front('name: a', 'license:', '  x: 1', 'description: c'), 4, 'lines such as'],
    ['a list', front('name: a', 'description: c', '- x'), 4, 'lines such as'],
    ['upper case in the name', front('name: Text', 'description: c'), 2, 'the name is "Text"'],
    ['a name with a space', front('name: a b', 'description: c'), 2, 'the name is "a b"'],
    ['a name of 65 characters', front(`name: ${'a'.repeat(65)}`, 'description: c'), 2, 'up to 64'],
    [
      'a description of 1025 characters',
      front('name: a', `description: ${'b'.repeat(1025)}`),
      3,
      '1025 characters',
    ],
    ['an empty description', front('name: a', 'description: ""'), 3, 'it is empty'],
    ['a hidden character', front('name: a', 'description: b\u202ec'), 3, 'U+202E'],
    ['a hidden character in an escape', front('name: a', 'description: "b\\u200bc"'), 3, 'U+200B'],
    ['a line break in an escape', front('name: a', 'description: "b\\nc"'), 3, 'U+000A'],
    ['a NUL', front('name: a', 'description: b\0'), 3, 'a NUL'],
    ['a quote that does not end', front('name: a', 'description: "b'), 3, 'in double quotes'],
    ['text after a quote', front('name: a', 'description: "b" c'), 3, 'in double quotes'],
  ])('refuses %s, with its line', (_, text, line, what) => {
    const prose = proseOf(text);
    expect(prose).toMatchObject({ ok: false, problem: { line } });
    expect(prose.ok ? '' : prose.problem.what).toMatch(/^Cannot read SKILL\.md: .+, expected .+/);
    expect(prose.ok ? '' : prose.problem.what).toContain(what);
  });

  it.each([
    '',
    '|',
    '> folded',
    '[a, b]',
    '{a: b}',
    '&a b',
    '*a',
    '!!str b',
    'a: b',
    'a #b',
    'true',
    'null',
    '1.5',
    '~',
    '@a',
    '`a`',
    '- a',
    '? a',
  ])('refuses the value %j, which other readers of YAML take for something else', (raw) => {
    expect(proseOf(front('name: a', `description: ${raw}`))).toMatchObject({
      ok: false,
      problem: { line: 3 },
    });
  });

  it('refuses bytes that are not UTF-8 and a file of more than 256 KiB', () => {
    const bytes = Uint8Array.of(...new TextEncoder().encode('---\n'), 0xff);
    expect(readProse(bytes)).toMatchObject({ ok: false, problem: { line: 2 } });
    const body = 'x'.repeat(262_144 - front('name: a', 'description: b').length);
    expect(proseOf(front('name: a', 'description: b') + body).ok).toBe(true);
    expect(proseOf(`${front('name: a', 'description: b')}${body}x`).ok).toBe(false);
  });

  it('takes or refuses any text, and ends soon', () => {
    const lines = fc.array(
      fc.oneof(
        fc.constantFrom('---', 'name: a', 'description: b', 'name:', '"', '\0', '\r'),
        fc.string({ maxLength: 10 }),
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(lines, (parts) => {
        const prose = proseOf(parts.join('\n'));
        expect(prose.ok ? prose.value.name.length : prose.problem.line).toBeGreaterThan(0);
      }),
      { numRuns: volume(1_000, 30) },
    );
    expect(proseOf(front('name: a', `description: ${'a '.repeat(100_000)}x`)).ok).toBe(false);
    expect(proseOf(front('name: a', `description: "${'\\\\'.repeat(100_000)}x`)).ok).toBe(false);
  });
});
