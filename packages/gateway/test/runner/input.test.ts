import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { CodedError } from '../../src/core/coded-error.ts';
import type { Json } from '../../src/core/json.ts';
import { parseAllowList } from '../../src/egress/allowlist.ts';
import { inputToCedar, planInput, printType } from '../../src/policy/input-type.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { INPUT_SCHEMA, parseInput } from '../../src/runner/input.ts';

const fits = new Schemas().compile(INPUT_SCHEMA);

const FULL = {
  command: 'make',
  args: ['-j2', 'all'],
  cwd: 'src',
  env: { LANG: 'C' },
  stdin: 'yes\n',
  workspace: '/srv/project',
  egress: 'strict',
  egress_hosts: ['api.example.com', 'GET https://example.org/v1/'],
  secrets: ['github', 'npm'],
  allow_writes: ['git-hooks', 'ci'],
  ports: [5173, '8080:3000'],
  tier: 'c',
  limits: {
    cpu_time_ms: 1,
    memory_bytes: 2,
    output_bytes: 3,
    wall_ms: 4,
    file_size_bytes: 5,
    processes: 6,
    open_files: 7,
  },
  output_overflow: 'kill',
} satisfies Json;

/** The refusal of an input, or null where it is taken; anything else that is thrown fails the test. */
function problemOf(read: () => unknown): CodedError | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
}

describe('INPUT_SCHEMA', () => {
  it('takes a bare command and a full one', () => {
    expect(fits({ command: 'true' })).toBeNull();
    expect(fits(FULL)).toBeNull();
  });

  it('is told to the policies field by field', () => {
    const plan = planInput(INPUT_SCHEMA);
    expect(printType(plan)).toContain('"args"?: Set<String>');
    expect(printType(plan)).toContain('"wall_ms"?: Long');
    expect(printType(plan)).toContain('"egress_hosts"?: Set<String>');
    expect(printType(plan)).toContain('"secrets"?: Set<String>');
    expect(inputToCedar(plan, FULL)).toEqual({
      ...FULL,
      env: '{"LANG":"C"}',
      ports: '[5173,"8080:3000"]',
    });
  });

  it.each<[string, Json]>([
    ['no command', {}],
    ['an empty command', { command: '' }],
    ['a long command', { command: 'x'.repeat(257) }],
    ['129 arguments', { command: 'x', args: Array.from({ length: 129 }, () => '') }],
    ['an argument of more than 64 KiB', { command: 'x', args: ['y'.repeat(65_537)] }],
    ['an argument that is a number', { command: 'x', args: [1] }],
    [
      '65 variables',
      { command: 'x', env: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`V${i}`, ''])) },
    ],
    ['an unknown key', { command: 'x', shell: true }],
    ['an unknown limit', { command: 'x', limits: { time: 1 } }],
    ['an unknown tier', { command: 'x', tier: 'a' }],
    ['an unknown egress', { command: 'x', egress: 'all' }],
    ['65 entries', { command: 'x', egress_hosts: Array.from({ length: 65 }, (_, i) => `h${i}.example`) }],
    [
      '65 times the same entry',
      { command: 'x', egress_hosts: Array.from({ length: 65 }, () => 'a.example') },
    ],
    ['an entry that is a number', { command: 'x', egress_hosts: [1] }],
    ['an empty entry', { command: 'x', egress_hosts: [''] }],
    ['an endless entry', { command: 'x', egress_hosts: [`https://a.example/${'y'.repeat(2048)}`] }],
    ['an entry in the place of a list', { command: 'x', egress_hosts: 'a.example' }],
    ['null in the place of a list', { command: 'x', egress_hosts: null }],
    ['17 secrets', { command: 'x', secrets: Array.from({ length: 17 }, (_, i) => `s${i}`) }],
    ['a secret in the place of a list', { command: 'x', secrets: 'github' }],
    ['a secret with its value', { command: 'x', secrets: [{ name: 'github', value: 'x' }] }],
    ['an endless secret', { command: 'x', secrets: ['s'.repeat(129)] }],
  ])('and parseInput() both refuse %s', (_, input) => {
    expect(fits(input)).not.toBeNull();
    expect(() => parseInput(input)).toThrow(CodedError);
  });

  it.each([0, -1, 0.5, 1e-9])('refuses the limit %d', (value) => {
    expect(fits({ command: 'x', limits: { wall_ms: value } })).not.toBeNull();
  });
});

describe('parseInput()', () => {
  it('gives every field its inner name, and null where nothing is asked', () => {
    const { egress_hosts: egressHosts, allow_writes: allowWrites, ...rest } = FULL;
    const { output_overflow: outputOverflow, ...full } = rest;
    expect(parseInput(FULL)).toEqual({
      ...full,
      ports: [
        { host: 5173, inside: 5173 },
        { host: 8080, inside: 3000 },
      ],
      egressHosts,
      allowWrites,
      outputOverflow,
      limits: {
        cpuMs: 1,
        memoryBytes: 2,
        outputBytes: 3,
        wallMs: 4,
        fileBytes: 5,
        processes: 6,
        openFiles: 7,
      },
    });
    expect(parseInput({ command: 'true' })).toEqual({
      command: 'true',
      args: [],
      cwd: null,
      env: {},
      stdin: null,
      workspace: null,
      egress: null,
      egressHosts: null,
      secrets: [],
      allowWrites: [],
      ports: [],
      tier: null,
      limits: {},
      outputOverflow: null,
    });
  });

  it.each<[string, Json, RegExp]>([
    ['a NUL in the command', { command: 'a\0b' }, /command has a NUL/],
    ['a NUL in an argument', { command: 'x', args: ['a', 'b\0'] }, /args\[1\] has a NUL/],
    ['a NUL in a variable', { command: 'x', env: { LANG: '\0' } }, /NUL/],
    ['a NUL in the name of a variable', { command: 'x', env: { 'A\0': '' } }, /NUL/],
    ['a NUL in cwd', { command: 'x', cwd: '\0' }, /NUL/],
    ['half a character', { command: 'x', args: ['\ud800'] }, /lone surrogate/],
    ['few characters of many bytes', { command: '€'.repeat(86) }, /258 bytes/],
    [
      'too much in all',
      { command: 'x', args: Array.from({ length: 33 }, () => 'y'.repeat(4000)) },
      /bytes of text/,
    ],
    ['a NUL in a secret', { command: 'x', secrets: ['a\0'] }, /secrets\[0\] has a NUL/],
    [
      'too much in entries alone',
      {
        command: 'x',
        args: ['y'.repeat(4096)],
        egress_hosts: Array.from({ length: 64 }, (_, i) => `https://a.example/${`${i}`.padEnd(2000, 'y')}`),
      },
      /bytes of text/,
    ],
    ['too long a standard input', { command: 'x', stdin: 'y'.repeat(131_072) }, /bytes of text/],
  ])('refuses %s', (_, input, message) => {
    expect(fits(input)).toBeNull();
    expect(() => parseInput(input)).toThrow(message);
  });

  it('tells an empty list of hosts, which is no network, from none, which is all that is allowed', () => {
    expect(parseInput({ command: 'x', egress_hosts: [] }).egressHosts).toEqual([]);
    expect(parseInput({ command: 'x' }).egressHosts).toBeNull();
  });

  it('takes an entry and a secret once, however often they are named', () => {
    const twice = {
      command: 'x',
      egress_hosts: ['a.example', 'b.example', 'a.example'],
      secrets: ['s', 's'],
    };
    expect(fits(twice)).toBeNull();
    expect(parseInput(twice)).toMatchObject({ egressHosts: ['a.example', 'b.example'], secrets: ['s'] });
  });

  it.each([
    ['every host', '*', /means? every host/],
    ['a top-level domain', '*.com', /every name of a top-level domain/],
    ['half of all addresses', '0.0.0.0/1', /its prefix has 1 bits/],
    ['an octal address', '010.0.0.1', /it is not plain/],
    ['a user', 'good.example@evil.example', /it has a user name/],
    ['a line break', 'a.example\nb.example', /it is not one target/],
    ['a tab', 'a.example\tb.example', /it is not one target/],
    ['another scheme', 'ftp://a.example', /the scheme is "ftp"/],
    ['an unknown method', 'STEAL https://a.example/', /"STEAL" is not a known method/],
    ['a way up', 'https://a.example/v1/../admin', /its path is not plain/],
    ['two ports', 'a.example:80:443', /more than one ":"/],
    ['a port that is none', 'a.example:0', /not a port number/],
  ])('refuses an entry for %s and says which one it is', (_, entry, why) => {
    const input = { command: 'x', egress_hosts: ['a.example', entry] };
    expect(fits(input)).toBeNull();
    expect(() => parseInput(input)).toThrow(
      /^Cannot read the command: egress_hosts\[1\] is not a valid allow-list entry/,
    );
    expect(() => parseInput(input)).toThrow(why);
  });

  it.each(['!a.example', '!*.example.com', '!GET https://a.example/v1/', '!*.com'])(
    'refuses the entry %s, which would deny',
    (entry) => {
      expect(() => parseInput({ command: 'x', egress_hosts: [entry] })).toThrow(
        'Cannot read the command: egress_hosts[0] is a denial, expected an entry without "!"',
      );
    },
  );

  it.each<[string, Json]>([
    ['egress_hosts', { egress_hosts: ['a.example'] }],
    ['egress_hosts', { egress_hosts: [] }],
    ['secrets', { secrets: ['github'] }],
    ['egress_hosts', { egress_hosts: ['a.example'], secrets: ['github'] }],
  ])('refuses %s where nothing holds them, and says what to do', (name, wish) => {
    const input = { command: 'x', ...(wish as object) };
    for (const egress of ['preflight', 'none'] as const) {
      const error = problemOf(() => parseInput({ ...input, egress }));
      expect(error).toMatchObject({
        code: 'registry/invalid-input',
        message: `Cannot read the command: it has ${name} with the egress "${egress}", expected them with "strict" alone`,
        remedy: `Leave out ${name}, or ask for the egress "strict".`,
      });
    }
    for (const egress of [{}, { egress: 'strict' }]) {
      expect(parseInput({ ...input, ...egress }).command).toBe('x');
    }
    expect(parseInput({ command: 'x', egress: 'none', secrets: [] }).egress).toBe('none');
  });

  it('takes an entry exactly when the allow-list does, and never one that denies', () => {
    const part = fc.constantFrom(
      '!',
      '*.',
      'a.example',
      '10.0.0.1',
      '/24',
      ':443',
      'GET ',
      'https://',
      '/v1/',
      '@',
      ' ',
    );
    const entry = fc.oneof(
      fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
      fc.string({ unit: CHARACTER, minLength: 1, maxLength: 30 }),
    );
    let taken = 0;
    fc.assert(
      fc.property(entry, (text) => {
        const error = problemOf(() => parseInput({ command: 'x', egress_hosts: [text] }));
        const isFine = parseAllowList([text]).ok && !text.startsWith('!');
        expect(error === null).toBe(isFine);
        if (error === null) taken += 1;
        else expect(error.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Surrogate}]/u);
      }),
      { numRuns: 1_000 },
    );
    expect(taken).toBeGreaterThan(10);
  });

  it('keeps a NUL in the standard input, which is bytes to the command', () => {
    expect(parseInput({ command: 'x', stdin: 'a\0b' }).stdin).toBe('a\0b');
  });

  it('takes what fits the schema, or refuses it with a code, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        try {
          parseInput(value as Json);
        } catch (error) {
          expect(error).toBeInstanceOf(CodedError);
        }
      }),
    );
  });
});
