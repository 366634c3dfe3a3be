import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { makeJailDirectories, runJail } from './run-jail.ts';

const LAUNCHER = fileURLToPath(new URL('../../../../launcher/dist/palisade-launcher', import.meta.url));

async function runWithLauncher(line: string) {
  const { workspace } = makeJailDirectories();
  const observed = await runJail({ workspace, launcher: LAUNCHER, argv: ['/bin/sh', '-c', line] });
  const lines = observed.status.trim().split('\n');
  const pairs = lines.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]);
  return { ...observed, told: Object.fromEntries(pairs) as Record<string, string> };
}

test('the launcher is built', () => {
  expect(existsSync(LAUNCHER)).toBe(true);
});

test('a jail reports from inside every fact that its plan expects', async () => {
  const { plan, told, code, out } = await runWithLauncher('echo ran; exit 3');
  expect([out, code, told.exit, told.done]).toEqual(['ran\n', 3, '3', '1']);
  const facts = Object.keys(plan.expected.equal).map((name) => [name, told[`fact.${name}`]]);
  expect(Object.fromEntries(facts)).toEqual(plan.expected.equal);
  expect(told['fact.mounts_rw']?.split(',').sort()).toEqual(plan.expected.within?.mounts_rw);
});

test('a command has the three descriptors of a program and none of the jail', async () => {
  const { out } = await runWithLauncher('ls -l /proc/self/fd | grep -o "[0-9]* ->.*"');
  const [first, second, third, own, ...more] = out.trim().split('\n');
  expect(first).toBe('0 -> /dev/null');
  expect([second, third]).toEqual([expect.stringMatching(/^1 -> pipe/), expect.stringMatching(/^2 -> pipe/)]);
  expect(own).toMatch(/^3 -> \/proc\//);
  expect(more).toEqual([]);
});

test('the first process of a jail shows a command nothing of itself', async () => {
  const { out, errors } = await runWithLauncher(
    'cat /proc/1/environ; ls /proc/1/fd; tr "\\0" " " </proc/1/cmdline',
  );
  expect(out).not.toMatch(/status=|HOME=/);
  expect(errors).toMatch(/environ: Permission denied(.|\n)*fd': Permission denied/);
});
