import fc from 'fast-check';
import { stringify as toToml } from 'smol-toml';
import { stringify as toYaml } from 'yaml';
import type { McpClient } from '../../../../src/doors/cli/connect/clients.table.ts';
import { commandFor } from '../../../../src/doors/cli/connect/entry.ts';
import { readSource } from '../../../../src/doors/cli/connect/servers.ts';

/** Files of clients as people and programs leave them: any content, in any layout, with comments. */

type Table = Record<string, unknown>;

const key = fc.oneof(
  fc.stringMatching(/^[a-z][a-zA-Z0-9_-]{0,8}$/),
  fc.constantFrom('$schema', 'a.b', 'with blank', '__proto__', 'constructor', 'ü', '"', '#', ''),
);
const scalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    '// no comment',
    '# none',
    '{',
    ']',
    ',',
    'a: b',
    '- x',
    '\n',
    '\t',
    'null',
    '1',
    '~',
    "it's",
  ),
  fc.integer({ min: -1_000_000, max: 1_000_000 }),
  fc.boolean(),
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 3 }),
  ),
}));
const argvs = fc
  .tuple(
    fc.constantFrom('npx', '/usr/bin/server', 'C:\\tools\\server.exe'),
    fc.array(fc.string({ maxLength: 6 }), { maxLength: 3 }),
  )
  .map(([command, args]) => [command, ...args]);
const more = fc.dictionary(key, tree, { maxKeys: 4 });

/** What the file says: anything, and perhaps some servers where this client has them. */
export function contentFor(client: McpClient): fc.Arbitrary<Table> {
  const name = client.key;
  const names = fc.uniqueArray(fc.constantFrom('files', 'web', 'x-y', 'A b'), { maxLength: 3 });
  const servers = fc.tuple(names, argvs).map(([each, started]) => {
    // Each its own: the writer of YAML makes references of what is there twice.
    const value = () => commandFor(client, [...started]);
    return client.isList
      ? each.map((one) => ({ name: one, ...value() }))
      : Object.fromEntries(each.map((one) => [one, value()]));
  });
  const held = fc.option(servers, { nil: undefined });
  return fc.tuple(more, held, more).map(([before, value, after]) => {
    const own = value === undefined ? {} : { [name]: value };
    const { [name]: _, ...rest } = { ...before, ...after };
    return { ...rest, ...own };
  });
}

const eol = fc.constantFrom('\n', '\r\n');

/** A text that says it. */
export function textFor(client: McpClient, content: Table): fc.Arbitrary<string> {
  const texts = { json: jsonText, jsonc: jsonText, yaml: yamlText, toml: tomlText };
  const text = fc.tuple(texts[client.format](content), eol).map(([each, end]) => each.replaceAll('\n', end));
  // The writers make some texts that their own readers do not take: odd keys that are wrapped, lines that are cut.
  return text.filter((each) => isReadable(client, each));
}

function isReadable(client: McpClient, text: string): boolean {
  try {
    readSource({ client, name: 'file', text });
    return true;
  } catch {
    return false;
  }
}

function jsonText(content: Table): fc.Arbitrary<string> {
  const comment = fc.constantFrom('', '', ' // why', ' /* { */', '\n    // on a line\n');
  const style = fc.record({
    indent: fc.constantFrom('', '  ', '    ', '\t'),
    comments: fc.array(comment, { minLength: 8, maxLength: 8 }),
    trailing: fc.constantFrom('', ','),
    end: fc.constantFrom('', '\n', '\n\n'),
  });
  return style.map(({ indent, comments, trailing, end }) => {
    let used = 0;
    const next = () => comments[used++ % comments.length] ?? '';
    // A comment at the end of a line would swallow the rest of a file of one line.
    const note = () => (indent === '' ? '' : next());
    const write = (value: unknown, outer: string): string => {
      if (typeof value !== 'object' || value === null) return JSON.stringify(value);
      const inner = `${outer}${indent}`;
      const isList = Array.isArray(value);
      const items = Object.entries(value).map(([name, each]) =>
        isList ? write(each, inner) : `${JSON.stringify(name)}: ${write(each, inner)}`,
      );
      const [open, close] = isList ? '[]' : '{}';
      if (items.length === 0) return `${open}${close}`;
      const gap = indent === '' ? '' : '\n';
      const lines = items.map((item, i) => {
        const comma = i < items.length - 1 ? ',' : trailing;
        return `${indent === '' ? '' : inner}${item}${comma}${note()}`;
      });
      return `${open}${gap}${lines.join(gap)}${gap}${indent === '' ? '' : outer}${close}`;
    };
    return `${write(content, '')}${end}`;
  });
}

function yamlText(content: Table): fc.Arbitrary<string> {
  const style = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    collectionStyle: fc.constantFrom<'any' | 'block' | 'flow'>('any', 'block', 'flow'),
    lineWidth: fc.constantFrom(0, 40),
  });
  const lead = fc.constantFrom('', '# a comment\n\n', '---\n', '%YAML 1.2\n---\n');
  const tail = fc.constantFrom('', '# the end\n', '\n\n\n', '\n\n  # indented\n');
  return fc
    .tuple(style, lead, tail, fc.boolean())
    .map(([options, before, after, isCut]) =>
      isCut && after === ''
        ? `${before}${toYaml(content, options)}`.trimEnd()
        : `${before}${toYaml(content, options)}${after}`,
    );
}

function tomlText(content: Table): fc.Arbitrary<string> {
  const lead = fc.constantFrom('', '# a comment\n\n', '\n\n');
  const tail = fc.constantFrom('', '# the end\n', '\n\n\n', '# cut');
  return fc.tuple(lead, tail).map(([before, after]) => `${before}${toToml(content)}${after}`);
}
