import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import type { Json } from '../../src/core/json.ts';
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
} satisfies Json;

describe('INPUT_SCHEMA', () => {
  it('takes a bare command and a full one', () => {
    expect(fits({ command: 'true' })).toBeNull();
    expect(fits(FULL)).toBeNull();
  });

  it('is told to the policies field by field', () => {
    const plan = planInput(INPUT_SCHEMA);
    expect(printType(plan)).toContain('"args"?: Set<String>');
    expect(printType(plan)).toContain('"wall_ms"?: Long');
    expect(inputToCedar(plan, FULL)).toEqual({ ...FULL, env: '{"LANG":"C"}' });
  });

  it.each<[string, Json]>([
    ['no command', {}],
    ['an empty command', { command: '' }],
    ['a long command', { command: 'x'.repeat(257) }],
    ['129 arguments', { command: 'x', args: Array.from({ length: 129 }, () => '') }],
    ['an argument of 4097 bytes', { command: 'x', args: ['y'.repeat(4097)] }],
    ['an argument that is a number', { command: 'x', args: [1] }],
    [
      '65 variables',
      { command: 'x', env: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`V${i}`, ''])) },
    ],
    ['an unknown key', { command: 'x', shell: true }],
    ['an unknown limit', { command: 'x', limits: { time: 1 } }],
    ['an unknown tier', { command: 'x', tier: 'a' }],
    ['an unknown egress', { command: 'x', egress: 'all' }],
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
    expect(parseInput(FULL)).toEqual({
      ...FULL,
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
      tier: null,
      limits: {},
    });
  });

  it.each<[string, Json, RegExp]>([
    ['a NUL in the command', { command: 'a\0b' }, /command has a NUL/],
    ['a NUL in an argument', { command: 'x', args: ['a', 'b\0'] }, /args\[1\] has a NUL/],
    ['a NUL in a variable', { command: 'x', env: { LANG: '\0' } }, /NUL/],
    ['a NUL in the name of a variable', { command: 'x', env: { 'A\0': '' } }, /NUL/],
    ['a NUL in cwd', { command: 'x', cwd: '\0' }, /NUL/],
    ['half a character', { command: 'x', args: ['\ud800'] }, /half a character/],
    ['few characters of many bytes', { command: '€'.repeat(86) }, /258 bytes/],
    [
      'too much in all',
      { command: 'x', args: Array.from({ length: 33 }, () => 'y'.repeat(4000)) },
      /bytes of text/,
    ],
    ['too long a standard input', { command: 'x', stdin: 'y'.repeat(131_072) }, /bytes of text/],
  ])('refuses %s', (_, input, message) => {
    expect(fits(input)).toBeNull();
    expect(() => parseInput(input)).toThrow(message);
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
