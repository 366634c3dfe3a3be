import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { openGateway, systemClock, systemRandom } from '../../../src/open.ts';
import { wat, writeModule } from '../../fixture/wat.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const root = resolve(import.meta.dirname, '../../../../..');
const page = readFileSync(join(root, 'docs/abi.md'), 'utf8');
const blocks = [...page.matchAll(/```wat\n([\s\S]*?)```/g)].map(([, text = '']) => text);

test('docs/abi.md has examples/wasm/hello.wat word for word, and every guest of it is a module', () => {
  expect(blocks[0]).toBe(readFileSync(join(root, 'examples/wasm/hello.wat'), 'utf8'));
  expect(blocks.length).toBeGreaterThan(1);
  for (const block of blocks) expect(WebAssembly.validate(wat(block))).toBe(true);
});

test('the guest of docs/abi.md that keeps a note recalls it in another call', async () => {
  const notes = writeModule(scratch, 'notes', blocks[1] ?? '');
  const run = async (tool: string, input: string) => {
    const words = [
      'wasm',
      'run',
      notes,
      '--tool',
      tool,
      '--input',
      input,
      '--grant',
      'storage=note',
      '--json',
    ];
    const parts = { clock: systemClock, random: systemRandom, openGateway };
    return JSON.parse((await runInside([...words, '--state', join(scratch, 'state')], parts)).out);
  };
  expect(await run('recall', '{}')).toMatchObject({ status: 'ok', output: null });
  expect(await run('keep', '{"milk":2}')).toMatchObject({ status: 'ok', output: true });
  expect(await run('recall', '{}')).toMatchObject({ status: 'ok', output: { milk: 2 } });
});

test('docs/abi.md tells every code that a call of a module can end with, and no other', () => {
  const [, table = ''] = /## How a call ends\n([\s\S]*?)\n## /.exec(page) ?? [];
  const documented = [...table.matchAll(/^\| `(tier\/[a-z-]+)` \|/gm)].map(([, code]) => code);
  const tier = join(root, 'packages/gateway/src/tiers/a-wasm');
  const sources = readdirSync(tier).filter((name) => /^(ending|run)\.ts$/.test(name));
  const found = sources.flatMap(
    (name) => readFileSync(join(tier, name), 'utf8').match(/tier\/[a-z-]+/g) ?? [],
  );
  expect(sources).toHaveLength(2);
  expect(documented.sort()).toEqual([...new Set(found)].sort());
});
