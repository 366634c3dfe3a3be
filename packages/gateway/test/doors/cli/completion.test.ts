import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** What the functions of zsh and fish offer, asked of the shells themselves. */
const ZSH = `
  compadd() { shift; print -l -- "$@"; }
  _files() { print FILES; }
  compdef() { :; }
  source "$1"; shift
  words=("$@"); CURRENT=$#
  _palisade`;

function inZsh(...words: string[]): string[] {
  const path = join(scratch, '_palisade');
  writeFileSync(path, completionScript('zsh') ?? '');
  const args = ['-f', '-c', ZSH, 'zsh', path, 'palisade', ...words];
  return execFileSync('zsh', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

function inFish(line: string): string[] {
  const path = join(scratch, 'palisade.fish');
  writeFileSync(path, completionScript('fish') ?? '');
  const program = `source ${path}; complete -C '${line}'`;
  const env = { HOME: scratch, PATH: process.env.PATH };
  const out = execFileSync('fish', ['--no-config', '-c', program], { encoding: 'utf8', env });
  return out.split('\n').flatMap((each) => each.split('\t')[0] || []);
}

describe.each([
  ['zsh', inZsh],
  ['fish', (...words: string[]) => inFish(['palisade', ...words].join(' '))],
] as const)('palisade completion %s', (_, offeredThere) => {
  test('completes commands, their second words and their flags', () => {
    expect(offeredThere('')).toEqual(expect.arrayContaining(['call', 'journal', 'service', 'upgrade']));
    expect(offeredThere('service', '')).toEqual(expect.arrayContaining(['install', 'uninstall', 'status']));
    expect(offeredThere('service', 'install', '--')).toEqual(
      expect.arrayContaining(['--listen', '--workspace', '--json']),
    );
    expect(offeredThere('call', 'palisade.echo', '--')).toEqual(expect.arrayContaining(['--input']));
  });
});

test('zsh completes files after --', () => {
  expect(inZsh('exec', '--', 'ls', '')).toEqual(['FILES']);
});

test('palisade completion install writes what shells and man find, once and again', async () => {
  const env = { HOME: join(scratch, 'home'), PATH: process.env.PATH ?? '' };
  mkdirSync(env.HOME);
  for (let i = 0; i < 2; i++)
    expect((await palisade(['completion', 'install', 'zsh'], { env })).status).toBe(0);
  const functions = join(env.HOME, '.local/share/zsh/site-functions');
  expect(readFileSync(join(functions, '_palisade'), 'utf8')).toMatch(/^#compdef palisade\n# Made by/);
  const autoload = `fpath=(${functions} $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[palisade]`;
  expect(execFileSync('zsh', ['-f', '-c', autoload], { encoding: 'utf8' })).toBe('_palisade\n');
  const page = join(env.HOME, '.local/share/man/man1/palisade.1');
  writeFileSync(page, `${readFileSync(page, 'utf8')}.\\" mine\n`);
  const refused = await palisade(['completion', 'install', '--json'], { env });
  expect(JSON.parse(refused.out)).toMatchObject({ code: 'door/wrong-usage' });
});

describe('the manual page', () => {
  test('has every command and every flag, and no mistake of roff', async () => {
    const path = join(scratch, 'palisade.1');
    writeFileSync(path, (await palisade(['man'])).out);
    const lint = spawnSync('mandoc', ['-Tlint', '-Wwarning', path], { encoding: 'utf8' });
    expect(
      lint.stdout
        .split('\n')
        .filter((line) => !/missing date/.test(line))
        .join(''),
    ).toBe('');
    const shown = execFileSync('mandoc', ['-Tutf8', '-Owidth=200', path], { encoding: 'utf8' });
    const text = shown
      .split(/.\p{Cc}(?=[^\s])/u)
      .join('')
      .replace(/\s+/g, ' ');
    for (const { words, flags } of VERBS) {
      expect(text).toContain(`palisade ${words}`);
      for (const { name } of flags) expect(text).toContain(`--${name}`);
    }
  });
});

describe('completionScript()', () => {
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
