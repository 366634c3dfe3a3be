import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import type { ProcessTerms } from '../../src/core/process.ts';
import { DEFAULT_SETTINGS } from '../../src/runner/settings.ts';
import { accept, ask, type Host, makeHost } from './sample.ts';

/** Runs the terms as a tier does, without its walls. */
function run({ executable, argv, env, cwd, stdin }: ProcessTerms): SpawnSyncReturns<string> {
  const [argv0 = '', ...args] = argv;
  return spawnSync(executable, args, { argv0, env, cwd, encoding: 'utf8', input: stdin ?? '' });
}

function works(host: Host, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = run(accept(host, { command, args }).terms);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}

describe('termsOf()', () => {
  it('lets git, gcc, make and python work with the default settings', () => {
    const host = makeHost();
    writeFileSync(
      join(host.workspace, 'x.c'),
      '#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n',
    );
    writeFileSync(join(host.workspace, 'script.py'), 'import sys\nprint("python", sys.argv[1])\n');
    writeFileSync(join(host.workspace, 'Makefile'), 'all:\n\t@echo made\n');
    works(host, 'git', 'init', '--quiet');
    expect(works(host, 'git', 'status', '--short')).toContain('?? x.c');
    works(host, 'gcc', '-O2', '-Wall', '-I.', '-I/usr/include', '-o', 'x', 'x.c');
    expect(works(host, './x')).toBe('built\n');
    expect(works(host, 'python3', 'script.py', 'arg')).toBe('python arg\n');
    expect(works(host, 'make')).toBe('made\n');
  });

  it('gives terms in which everything is filled', () => {
    const host = makeHost({ protectedPaths: ['.git/hooks'], readOnly: ['/usr'] });
    const { terms } = accept(host, { stdin: 'in', limits: { wallMs: 5 } });
    expect(terms).toMatchObject({
      workspace: host.workspace,
      cwd: host.workspace,
      stdin: 'in',
      egress: 'strict',
      limits: { ...DEFAULT_SETTINGS.defaults, wallMs: 5 },
      readOnly: ['/usr'],
      protectedPaths: ['.git/hooks'],
    });
    expect(run(terms).stdout).toBe('in');
  });

  it('tells the policies the tier, the kind of program and the places', () => {
    const host = makeHost();
    const { facts } = accept(host, { command: 'sort', args: ['a', '-o', 'b'], tier: 'b' });
    expect(facts).toMatchObject({
      tier: 'b',
      kind: 'plain',
      format: 'elf',
      interpreter: null,
      paths: [join(host.workspace, 'a'), join(host.workspace, 'b')],
      hosts: [],
    });
    expect(accept(host, {}).facts.tier).toBe('c');
  });

  it('throws what is no refusal', () => {
    const host = makeHost();
    const deps = { ...host.deps, forbidden: null as never };
    expect(() => ask({ ...host, deps }, {})).toThrow(TypeError);
  });
});

describe('words of a command (C44)', () => {
  const COMMANDS = [
    '$(touch pwned)',
    '`touch pwned`',
    '; touch pwned',
    '&& touch pwned',
    '| touch pwned',
    '\ntouch pwned',
  ];
  const WORDS = ['a\nb', '"\'\\', '--', '-n', '', ' ', '\t', '*', '\u202e\u0007\u001b[2J', 'čau 🦔'];

  it.each(COMMANDS)('%j, which a shell would obey, arrives as it is', (word) => {
    const control = makeHost();
    spawnSync('/bin/sh', ['-c', `printf '%s' x ${word}`], { cwd: control.workspace });
    expect(existsSync(join(control.workspace, 'pwned'))).toBe(true);
    const host = makeHost();
    expect(run(accept(host, { command: 'printf', args: ['%s', word] }).terms).stdout).toBe(word);
    expect(existsSync(join(host.workspace, 'pwned'))).toBe(false);
  });

  it.each(WORDS)('%j arrives as it is', (word) => {
    expect(run(accept(makeHost(), { command: 'printf', args: ['%s', word] }).terms).stdout).toBe(word);
  });

  it('a command line in the place of a command is the name of a file that is not there', () => {
    const host = makeHost();
    for (const command of ['cat; touch pwned', 'sh -c id', '$(id)', 'cat\n', '-c']) {
      expect(ask(host, { command }), command).toMatchObject({ code: 'runner/not-found' });
    }
  });

  it('a message shows a hostile word on one line, and without anything that a terminal obeys', () => {
    const host = makeHost();
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER, minLength: 1, maxLength: 40 }), (word) => {
        fc.pre(!word.includes('\0'));
        const result = ask(host, { command: `no-such${word}`, args: [`/etc/${word}`] });
        const message = result.ok ? '' : result.message;
        expect(message).toMatch(/^Cannot /);
        expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Surrogate}]/u);
      }),
    );
  });
});
