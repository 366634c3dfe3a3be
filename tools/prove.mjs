/**
 * Runs whole what `npm test` runs a share of: every property, kill round and real program at full volume, on this Node
 * and on Node 24, then the fuzzers. It takes hours; `npm run prove -- --short` is the same with short fuzzers.
 */
import { join } from 'node:path';
import { projectRoot as root } from './check.mjs';
import { run } from './command.mjs';
import { node24 } from './node24.mjs';

const isShort = process.argv.includes('--short');
const tool = (name, ...args) => [join(root, `tools/${name}.mjs`), ...args];
const count = isShort ? ['--count', '20000'] : [];

const STEPS = [
  { name: 'every test, whole', node: process.execPath, args: tool('ok', '--setup') },
  { name: 'every test, whole, on Node 24', node: await node24(), args: tool('ok', '--only', 'vitest') },
  { name: 'fuzz the engine', node: process.execPath, args: tool('fuzz', ...count) },
  { name: 'fuzz egress', node: process.execPath, args: tool('fuzz-egress', ...count) },
  { name: 'fuzz skill packages', node: process.execPath, args: tool('fuzz-skills', ...count) },
];

const env = { ...process.env, PALISADE_VOLUME: '1' };
const failed = [];
for (const { name, node, args } of STEPS) {
  console.log(`prove: ${name}`);
  const { ok } = await run(node, args, { cwd: root, env, live: true });
  if (!ok) failed.push(name);
}
for (const name of failed) console.log(`FAIL ${name}`);
console.log(`${STEPS.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
