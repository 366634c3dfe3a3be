/** `npm run demo`: builds an example skill from its source, then shows the whole line at work, that skill included. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot as root } from './check.mjs';
import { run } from './command.mjs';
import { setUp, setUpCompilers } from './setup.mjs';

const say = (step) => console.error(`demo: ${step}`);

/** The ways to build one; the first available is used: clang is often installed, the other compiler is on npm. */
const WAYS = [
  {
    skill: 'hash',
    prepare: async () =>
      (await words('clang', ['--print-target-triple'])).ok && (await words('wasm-ld', ['--version'])).ok,
    program: 'clang',
    words: [
      ...['--target=wasm32', '-nostdlib', '-O2', '-mbulk-memory', '-I', join(root, 'packages/guest/include')],
      ...['-Wl,--no-entry', '-Wl,--stack-first', 'src/hash.c', '-o', 'hash.wasm'],
    ],
  },
  {
    skill: 'text',
    prepare: async () => {
      await setUpCompilers(root, say);
      return true;
    },
    program: process.execPath,
    words: [
      join(root, 'packages/guest/tools/node_modules/assemblyscript/bin/asc.js'),
      ...['src/text.ts', '--config', join(root, 'packages/guest/asconfig.json')],
      ...['--path', join(root, 'node_modules'), '--outFile', 'text.wasm'],
    ],
  },
];

function words(program, list, cwd = root) {
  return run(program, list, { cwd, env: process.env });
}

async function build(folder) {
  for (const { skill, prepare, program, words: list } of WAYS) {
    if (!(await prepare())) continue;
    cpSync(join(root, 'skills', skill), folder, { recursive: true });
    const { ok, output } = await words(program, list, folder);
    if (ok) return;
    say(`skills/${skill} could not be built:\n${output}`);
  }
  throw new Error('Cannot build an example skill: no compiler did it, expected clang with wasm-ld, or asc');
}

await setUp(root, say);
const folder = mkdtempSync(join(tmpdir(), 'palisade-demo-skill-'));
try {
  await build(folder);
  const palisade = [join(root, 'packages/gateway/bin/palisade.js'), 'demo', '--skill', folder];
  const { ok } = await run(process.execPath, [...palisade, ...process.argv.slice(2)], {
    cwd: root,
    env: process.env,
    live: true,
  });
  process.exitCode = ok ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
