import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { completionScript } from '../../../src/doors/cli/completion.ts';
import { VERBS } from '../../../src/doors/cli/verbs.table.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const script = join(scratch, 'completion.bash');

beforeAll(async () => {
  writeFileSync(script, (await palisade(['completion', 'bash'])).out);
});

/** What bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const program = `
    source "$1"; shift
    complete -p palisade > /dev/null || exit 1
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _palisade
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', program, 'bash', script, 'palisade', ...words];
  return execFileSync('bash', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

describe('palisade completion bash', () => {
  test('prints a script that bash can read', () => {
    expect(() => execFileSync('bash', ['-n', script])).not.toThrow();
  });

  test('completes the first word of a command', () => {
    expect(offered('jour')).toEqual(['journal']);
    expect(offered('')).toEqual(
      expect.arrayContaining([...new Set(VERBS.map(({ words }) => words.split(' ')[0]))]),
    );
  });

  test('completes the second word of a command', () => {
    expect(offered('policy', 'ex')).toEqual(['explain']);
    expect(offered('journal', 'ver')).toEqual(['verify']);
  });

  test.each(VERBS.map((verb) => [verb.words, verb] as const))(
    'offers the flags of %s',
    (words, { flags }) => {
      const names = [...flags.map(({ name }) => `--${name}`), '--state', '--json', '--no-color', '--help'];
      expect(offered(...words.split(' '), '--').sort()).toEqual(names.sort());
    },
  );

  test('offers the flags after an argument, too', () => {
    expect(offered('call', 'palisade.echo', '--in')).toEqual(['--input']);
    expect(offered('approvals', 'deny', 'apr_1', '--no')).toEqual(['--note', '--no-color']);
  });

  test('offers no flag of ours among the words of a command', () => {
    expect(offered('exec', '--tier', 'b', '--di')).toEqual(['--diff']);
    expect(offered('exec', '--', 'ls', '--di')).toEqual([]);
  });
});

describe('completionScript()', () => {
  test('loads the bash script in zsh', () => {
    expect(completionScript('zsh')).toBe(
      `autoload -U +X bashcompinit && bashcompinit\n${completionScript('bash')}`,
    );
  });

  test('quotes every sentence for fish and completes files where a file is wanted', () => {
    const lines = (completionScript('fish') ?? '').trimEnd().split('\n').slice(1);
    for (const line of lines) {
      expect(line).toMatch(/^complete -c palisade /);
      // Outside of quotes nothing but plain words is left.
      expect(line.replace(/'(?:[^'\\]|\\.)*'/g, '')).toMatch(/^[A-Za-z0-9_. -]*$/);
    }
    expect(lines).toContain("complete -c palisade -n '__fish_seen_subcommand_from verify' -F");
  });

  test('knows no other shell', () => {
    expect(completionScript('tcsh')).toBeNull();
  });
});
