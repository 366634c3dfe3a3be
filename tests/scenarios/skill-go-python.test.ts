import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { run } from '../../tools/command.mjs';
import { ensurePrograms } from '../../tools/programs.mjs';
import { scratch } from '../fixtures/cli.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { BUILD_MS } from '../fixtures/skills/example-skills.ts';

/*
 * Skills in Go and Python. TinyGo and componentize-py are in no package of Debian or npm, so what is shown here is what can be shown
 * without them: the sources compile and pass their cases as programs of this machine, with stand-ins for the host; the
 * compilers are started as they should be; and who has none is told what to install.
 */

const home = scratch();
const at = (...parts: string[]) => join(home, ...parts);
const FIXTURES = join(import.meta.dirname, '../fixtures/skills');
const skill = (...words: string[]) => palisade(['skill', ...words, '--state', at('state')]);

type Case = {
  readonly tool: string;
  readonly input: unknown;
  readonly output?: unknown;
  readonly code?: string;
};

/** The cases of a new skill that reach a tool; one that its schema refuses does not. */
function casesOf(folder: string): readonly Case[] {
  const files = readdirSync(at(folder, 'tests'));
  const cases: Case[] = files.flatMap(
    (name) => JSON.parse(readFileSync(at(folder, 'tests', name), 'utf8')).cases,
  );
  return cases.filter(({ code }) => code !== 'registry/invalid-input');
}

/** Answers of a program to lines on its standard input. */
function answersTo(program: string, lines: readonly string[], words: readonly string[] = []) {
  const output = execFileSync(program, words, { input: `${lines.join('\n')}\n`, encoding: 'utf8' });
  return output.trimEnd().split('\n');
}

/** Holds the answers to the cases: `ok OUTPUT`, or `failed REPORT`. */
function expectPassed(cases: readonly Case[], answers: readonly string[]): void {
  expect(answers).toHaveLength(cases.length);
  for (const [index, { output }] of cases.entries()) {
    const [, ending = '', text = ''] = /^(\w+) (.*)$/.exec(answers[index] ?? '') ?? [];
    expect(ending).toBe(output === undefined ? 'failed' : 'ok');
    expect(JSON.parse(text)).toEqual(output ?? { code: 'no-name', message: expect.any(String) });
  }
}

beforeAll(async () => {
  await ensurePrograms((step: string) => console.error(`skills: ${step}`));
  for (const language of ['go', 'python'])
    expect(await skill('new', at(language), '--language', language, '--id', 'acme.text')).toMatchObject({
      status: 0,
    });
}, BUILD_MS);

describe('a new skill in Go', () => {
  const program = at('go-program');

  test(
    'is formatted, and compiles for a machine of 32 bits like that of TinyGo',
    async () => {
      expect(await run('gofmt', ['-l', at('go')], { cwd: home, env: process.env })).toMatchObject({
        ok: true,
        output: '',
      });
      cpSync(at('go'), at('go-tried'), { recursive: true });
      cpSync(join(FIXTURES, 'go/host.go'), at('go-tried/src/palisade/host/host.go'));
      cpSync(join(FIXTURES, 'go/lines.go'), at('go-tried/src/lines.go'));
      const env = {
        ...process.env,
        GOARCH: '386',
        CGO_ENABLED: '0',
        GOCACHE: at('go-cache'),
        GOFLAGS: '-buildvcs=false',
      };
      const built = await run('go', ['build', '-o', program, './src'], { cwd: at('go-tried'), env });
      expect(built).toMatchObject({ ok: true });
    },
    BUILD_MS,
  );

  test('passes its cases', async () => {
    const cases = casesOf('go');
    const lines = cases.map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`);
    expectPassed(cases, answersTo(program, lines));
  });

  test('reads and writes JSON as it is meant', async () => {
    const values = fc.sample(fc.json({ depthSize: 'small' }), 300);
    const texts = [
      ...values,
      '"\\ud83d\\ude42\\u0000\\\\"',
      '[1e-9,-0.5,1E+2]',
      `${'['.repeat(128)}${']'.repeat(128)}`,
    ];
    const answers = answersTo(
      program,
      texts.map((text) => `json ${text.replaceAll('\n', ' ')}`),
    );
    for (const [index, text] of texts.entries()) {
      expect(answers[index]).toMatch(/^ok /);
      expect(JSON.parse((answers[index] ?? '').slice(3))).toEqual(JSON.parse(text));
    }
  });

  test('refuses what is not JSON, or not strict', async () => {
    const wrong = [
      '{"a":1,"a":2}',
      '[1,]',
      '01',
      '1.',
      '"\\ud83d"',
      '"\\udc00x"',
      '{"a"}',
      '1 2',
      '',
      '"',
      '"\t"',
      '1e999',
      'nul',
    ];
    const deep = '['.repeat(200);
    const answers = answersTo(
      program,
      [...wrong, deep].map((text) => `json ${text}`),
    );
    expect(answers).toEqual([...wrong, deep].map(() => 'failed'));
  });
});

describe('a new skill in Python', () => {
  test('passes its cases where the classes of componentize-py are stood in for', async () => {
    const cases = casesOf('python');
    const lines = cases.map(({ tool, input }) => JSON.stringify([tool, JSON.stringify(input)]));
    expectPassed(cases, answersTo('python3', lines, [join(FIXTURES, 'python/lines.py'), at('python/src')]));
  });

  test('says so where there is no such tool', async () => {
    const [answer = ''] = answersTo(
      'python3',
      ['["none","{}"]'],
      [join(FIXTURES, 'python/lines.py'), at('python/src')],
    );
    expect(answer).toContain('no-tool');
  });
});

const SCRIPT = `#!/bin/sh
printf '%s\\n' "$@" > arguments.txt
while [ "$1" != -o ] && [ "$1" != --output ]; do shift; done
printf '\\0asm\\001\\0\\0\\0' > "$2"
`;

describe.each([
  [
    ...['go', 'tinygo', 'https://github.com/tinygo-org/tinygo/releases'],
    [
      ...[
        'build',
        '-target=wasm-unknown',
        '-buildmode=c-shared',
        '-scheduler=none',
        '-gc=leaking',
        '-panic=trap',
      ],
      ...['-opt=z', '-no-debug', "-ldflags=-extldflags '-z stack-size=65536'", '-o', 'OUT', './src'],
    ],
  ],
  [
    ...['python', 'componentize-py', 'pip install'],
    [
      ...['--wit-path', 'WIT', '--world', 'skill', 'componentize', '--stub-wasi', '--python-path', 'src'],
      ...['--output', 'OUT', 'tools'],
    ],
  ],
] as const)('palisade skill build of a skill in %s', (language, program, where, expected) => {
  test('names what is missing and how to get it', async () => {
    const { status, err } = await skill('build', at(language));
    expect(err).toContain(
      `Cannot build with ${program}: ${program} is not installed, expected it on the search path`,
    );
    expect(err).toContain(where);
    expect(status).toBe(1);
  });

  test(
    'starts the compiler of the search path in the folder, and keeps what it writes',
    async () => {
      // In place of the compiler, a script that keeps its arguments and writes an empty module.
      const bin = mkdtempSync('/var/tmp/palisade-compiler-');
      onTestFinished(() => rmSync(bin, { recursive: true }));
      chmodSync(bin, 0o755);
      writeFileSync(join(bin, program), SCRIPT, { mode: 0o755 });
      const process = `[process]\nread_only = ["${bin}"]\nsearch_path = ["/usr/bin", "/bin", "${bin}"]\n`;
      writeFileSync(at('state/palisade.toml'), process);
      const { status, err } = await skill('build', at(language));
      expect({ status, err }).toMatchObject({ status: 0 });
      const given = readFileSync(at(language, 'arguments.txt'), 'utf8').trimEnd().split('\n');
      expect(given.map(withoutFolder)).toEqual(expected);
      expect(readFileSync(at(language, 'skill.wasm'), 'latin1')).toBe('\0asm\x01\0\0\0');
    },
    BUILD_MS,
  );
});

/** An argument with the temporary folder of the build left out. */
function withoutFolder(word: string): string {
  return word
    .replace(/^\.palisade-build-\w+\/module\.wasm$/, 'OUT')
    .replace(/^\.palisade-build-\w+\/wit$/, 'WIT');
}
