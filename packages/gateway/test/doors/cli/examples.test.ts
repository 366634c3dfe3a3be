import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BIN, makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const examples = resolve(import.meta.dirname, '../../../../../examples');

test('examples/first-five-minutes.sh ends well from its first line to its last', async () => {
  const bin = join(scratch, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'palisade'), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`);
  chmodSync(join(bin, 'palisade'), 0o755);
  const env = { PATH: `${bin}:${process.env.PATH}`, TMPDIR: scratch };
  const script = join(examples, 'first-five-minutes.sh');
  const { stdout, stderr } = await promisify(execFile)('bash', [script], { env });
  expect(stdout).toContain('✓ The journal continues the saved checkpoint');
  expect(stderr).toContain('refused  policy/approval-required');
  expect(stderr).toContain('refused  approval/not-allowed');
});

test('every command of the tour in README.md is in examples/first-five-minutes.sh', () => {
  const readme = readFileSync(join(examples, '../README.md'), 'utf8');
  const [, tour = ''] = /## The first five minutes\n([\s\S]*?)\n## /.exec(readme) ?? [];
  const commands = [...tour.matchAll(/^\$ (palisade .*)$/gm)].map(([, command = '']) => command);
  const script = readFileSync(join(examples, 'first-five-minutes.sh'), 'utf8');
  // The README shows the name of a request; the script asks for it.
  const scripted = commands.map((command) => command.replace(/apr_\S+/, '"$request"'));
  expect(commands.length).toBeGreaterThan(8);
  expect(scripted.filter((command) => !script.includes(command))).toEqual([]);
});

test('examples/cases.toml passes on the policies that a new state directory starts with', async () => {
  const file = join(examples, 'cases.toml');
  const { status, out } = await palisade([
    'policy',
    'test',
    file,
    '--state',
    join(scratch, 'state'),
    '--json',
  ]);
  expect(JSON.parse(out)).toMatchObject({ failed: 0 });
  expect(status).toBe(0);
});
