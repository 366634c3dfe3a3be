import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { nodeOf } from '../node24.mjs';

test('nodeOf() gives this Node where it is new enough', async () => {
  const major = Number.parseInt(process.versions.node, 10);
  expect(await nodeOf(major)).toBe(process.execPath);
});

test('nodeOf() gives one that is new enough where this one is not', async () => {
  const node = await nodeOf(24);
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' });
  expect(Number.parseInt(version.slice(1), 10)).toBeGreaterThanOrEqual(24);
});
