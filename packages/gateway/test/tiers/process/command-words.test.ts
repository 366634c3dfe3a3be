import { describe, expect, test } from 'vitest';
import type { Digest } from '../../../src/core/digest.ts';
import type { JudgedFile } from '../../../src/core/process.ts';
import { commandWords } from '../../../src/tiers/process/command-words.ts';

const sha256 = 'a'.repeat(64) as Digest;
const ROOTS = { sha256, sizeBytes: 9, interpreter: [], identity: '1:2:3:4:5:6:7', isPinned: false };
const SHELL: JudgedFile = { ...ROOTS, path: '/usr/bin/dash' };
const TOOL: JudgedFile = { ...ROOTS, path: '/w/tool', identity: null, isPinned: true };
const SCRIPT: JudgedFile = { ...TOOL, path: '/w/run.sh', interpreter: ['/bin/sh', '-e'] };

function words(files: readonly JudgedFile[], argv = ['./x', 'arg']): readonly string[] {
  return commandWords({ executable: files[0]?.path ?? '/usr/bin/git', files, argv });
}

describe('commandWords()', () => {
  test('executes by its path what was not judged', () => {
    expect(words([])).toEqual(['facts=1', '--', '/usr/bin/git', './x', 'arg']);
    expect(words([{ ...TOOL, isPinned: false }])).toEqual(['facts=1', '--', '/w/tool', './x', 'arg']);
  });

  test('holds a file of root by its numbers, and any other program by its digest', () => {
    expect(words([SHELL])).toContain('same=1:2:3:4:5:6:7:/usr/bin/dash');
    expect(words([TOOL])).toContain(`program=9:${sha256}:/w/tool`);
    // Its numbers are enough, also where a digest decided.
    expect(words([{ ...SHELL, isPinned: true }])).toEqual(words([SHELL]));
  });

  test('starts a script as the kernel would, from a copy where a digest decided', () => {
    const rest = ['same=1:2:3:4:5:6:7:/usr/bin/dash', 'facts=1', '--', '/usr/bin/dash', '/bin/sh', '-e'];
    expect(words([{ ...SCRIPT, isPinned: false }, SHELL])).toEqual([...rest, '/w/run.sh', 'arg']);
    const copy = `script=9:${sha256}:/w/run.sh`;
    expect(words([SCRIPT, SHELL])).toEqual([copy, ...rest, '/proc/driver/0/run.sh', 'arg']);
  });

  test('follows a script that is read by a script, each with its own copy', () => {
    const outer = { ...SCRIPT, path: '/w/outer', interpreter: ['run.sh', '-x'] };
    expect(words([outer, SCRIPT, SHELL]).slice(-8)).toEqual([
      ...['--', '/usr/bin/dash', '/bin/sh', '-e'],
      ...['/proc/driver/1/run.sh', '-x', '/proc/driver/0/outer', 'arg'],
    ]);
  });

  test('numbers a copy by its place among the arguments', () => {
    const unheld = { ...SCRIPT, path: '/w/outer', isPinned: false };
    expect(words([unheld, SCRIPT, SHELL])).toContain('/proc/driver/0/run.sh');
  });

  test('never executes an interpreter that could not be judged', () => {
    expect(words([SCRIPT])).toContain('same=0:0:0:0:0:0:0:/bin/sh');
  });

  test('has the paths of the sandbox, and its place for copies', () => {
    const inside = (path: string) => path.replace(/^\/w\//, '/workspace/');
    const places = { inside, copies: '/tmp/.palisade' };
    const jailed = commandWords({ executable: '/w/run.sh', files: [SCRIPT, SHELL], argv: ['x'] }, places);
    expect(jailed.slice(0, 2)).toEqual(['copies=/tmp/.palisade', `script=9:${sha256}:/workspace/run.sh`]);
    expect(jailed.at(-1)).toBe('/tmp/.palisade/0/run.sh');
  });
});
