import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { volume } from '../../../../../../tests/volume/volume.ts';
import { unifiedDiff } from '../../../../src/doors/cli/connect/print.ts';
import { tempDir } from '../../../fixture/temp-dir.ts';

test('unifiedDiff() shows what goes and what comes, with three lines around it', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ''].join('\n');
  const after = before.replace('e\n', 'E\nnew\n');
  expect(unifiedDiff('f', before, after)).toBe(
    '--- f\n+++ f\n@@ -2,7 +2,8 @@\n b\n c\n d\n-e\n+E\n+new\n f\n g\n h\n',
  );
});

test('unifiedDiff() of equal texts is empty', () => {
  expect(unifiedDiff('f', 'a\n', 'a\n')).toBe('');
});

test('unifiedDiff() of any two texts makes the one of the other by patch', () => {
  const folder = tempDir();
  const [file, patch] = [join(folder, 'file'), join(folder, 'patch')];
  const text = fc.array(fc.constantFrom('a', 'b', '{', '}', '  x'), { maxLength: 12 });
  const whole = fc.tuple(text, fc.boolean()).map(([lines, isCut]) => lines.join('\n') + (isCut ? '' : '\n'));
  fc.assert(
    fc.property(whole, whole, (before, after) => {
      fc.pre(before !== after && after !== '');
      writeFileSync(file, before);
      writeFileSync(patch, unifiedDiff('file', before, after));
      execFileSync('patch', ['-s', '-u', '--no-backup-if-mismatch', file, patch]);
      expect(readFileSync(file, 'utf8')).toBe(after);
    }),
    { numRuns: volume(60, 30) },
  );
});
