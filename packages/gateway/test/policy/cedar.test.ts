import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';

const NODE_MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url));
const FIXTURE = fileURLToPath(new URL('fixtures/give-up-while-deciding.ts', import.meta.url));

test('loadCedar() gives an evaluator that survives optimised code being given up in the middle of a decision', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'palisade-cedar-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  symlinkSync(NODE_MODULES, join(directory, 'node_modules'));
  const outfile = join(directory, 'fixture.mjs');
  await build({
    entryPoints: [FIXTURE],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
  });
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--allow-natives-syntax', outfile]);
  expect(stdout).toBe('allow\n');
});
