import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { CODE_OF } from '../../../src/skills/audit/module/look.ts';
import { wat } from '../../fixture/wat.ts';
import { useBuild } from './palisade.ts';

useBuild();
const root = resolve(import.meta.dirname, '../../../../..');
const examples = join(root, 'examples/wasm');
const page = readFileSync(join(root, 'docs/wasm.md'), 'utf8');
const filesOf = (ending: string) => readdirSync(examples).filter((name) => name.endsWith(ending));

describe.each(filesOf('.mjs'))('examples/wasm/%s', (name) => {
  test('checks itself and ends well', async () => {
    const { stderr } = await promisify(execFile)(process.execPath, [join(examples, name)]);
    expect(stderr).toBe('');
  });

  test('stands in docs/wasm.md word for word', () => {
    expect(page).toContain(`\`\`\`js\n${readFileSync(join(examples, name), 'utf8')}\`\`\`\n`);
  });
});

test.each(filesOf('.wat'))('examples/wasm/%s is the text of the module beside it', (name) => {
  const binary = readFileSync(join(examples, name.replace('.wat', '.wasm')));
  expect(Buffer.from(wat(readFileSync(join(examples, name), 'utf8'))).equals(binary)).toBe(true);
});

test('docs/wasm.md has a row for every code of the engine, and no other', () => {
  const [, table = ''] = /## Errors\n([\s\S]*?)\n## /.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, code]) => code);
  expect(rows.sort()).toEqual(Object.keys(CODE_OF).sort());
});
