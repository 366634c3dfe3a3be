import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { sample, volume } from '../../../tests/volume/volume.ts';
import { buildBoth, identity, makeFolder, REPORT, removeFolder, sanitizerEnv, shipped } from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_141);
const command = ['--', '/bin/echo', 'echo', 'started'];
const sinks = [openSync('/dev/null', 'r+'), openSync('/dev/null', 'r+')];

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterAll(() => {
  for (const each of sinks) closeSync(each);
  removeFolder(folder);
});

function call(launcher: string, args: readonly string[]) {
  return spawnSync(launcher, args, {
    encoding: 'latin1',
    timeout: 20_000,
    killSignal: 'SIGKILL',
    env: sanitizerEnv,
    stdio: ['ignore', 'pipe', 'pipe', ...sinks],
  });
}

const refused: readonly (readonly [args: readonly string[], why: RegExp])[] = [
  [[], /missing/],
  [['--'], /missing/],
  [['--', '/bin/echo'], /missing/],
  [['--', 'echo', 'echo'], /not an absolute path/],
  [['--', '', 'echo'], /not an absolute path/],
  [['cpu=1', 'cpu=1', ...command], /twice/],
  [['mode=run', 'mode=run', ...command], /twice/],
  [['cwd=/', 'cwd=/', ...command], /twice/],
  [['status=3', 'status=3', ...command], /twice/],
  [['mode=', ...command], /not a mode/],
  [['mode=RUN', ...command], /not a mode/],
  [['nothing=1', ...command], /unknown key/],
  [['a-key-that-is-too-long=1', ...command], /KEY=VALUE/],
  [['cpu', ...command], /KEY=VALUE/],
  [['=1', ...command], /KEY=VALUE/],
  [['', ...command], /KEY=VALUE/],
  [['cwd=', ...command], /empty/],
  [['cwd=1:2', ...command], /not a judged directory/],
  [['cwd=1:x:/', ...command], /not a judged directory/],
  [['rw=1:2:usr', ...command], /not an absolute path/],
  [['ro=usr', ...command], /not an absolute path/],
  [['rw=', ...command], /not an absolute path/],
  [['same=1:2:3:4:5:6:/x', ...command], /not a judged file/],
  [['same=1:2:3:4:5:6:7:x', ...command], /not a judged file/],
  [
    ['program=1:00000000000000000000000000000000000000000000000000000000000000:/x', ...command],
    /not a judged file/,
  ],
  [
    ['script=x:0000000000000000000000000000000000000000000000000000000000000000:/x', ...command],
    /not a judged file/,
  ],
  [
    ['script=1:0000000000000000000000000000000000000000000000000000000000000000', ...command],
    /not a judged file/,
  ],
  [[...Array.from({ length: 7 }, () => 'same=1:2:3:4:5:6:7:/x'), ...command], /one file too many/],
  [['copies=x', ...command], /not one path/],
  [['copies=/x', 'copies=/x', ...command], /not one path/],
  [['ns=0', ...command], /whole number from 1 to 1/],
  [['ns=5', ...command], /whole number from 1 to 1/],
  [['status=2', ...command], /whole number from 3/],
  [['status=77', ...command], /not open/],
  [['status=3', 'control=3', ...command], /two uses/],
  [['keep=3', 'keep=3', ...command], /two uses/],
  [['keep=3', 'status=3', ...command], /two uses/],
  [['uid=0', 'gid=1', ...command], /whole number from 1/],
  [['uid=1', 'gid=0', ...command], /whole number from 1/],
  [['uid=4294967295', 'gid=1', ...command], /whole number from 1 to 4294967294/],
  [['uid=1', ...command], /both or none/],
  [['gid=1', ...command], /both or none/],
  [['workspace=3', ...command], /both or none/],
  [['owner=1:1', ...command], /both or none/],
  [['workspace=3', 'owner=1:1', ...command], /needs uid/],
  [['workspace=3', 'owner=1', ...command], /uid and a gid/],
  [['workspace=3', 'owner=1:', ...command], /uid and a gid/],
  [['workspace=3', 'owner=:1', ...command], /uid and a gid/],
  [['workspace=3', 'owner=1:1:1', ...command], /uid and a gid/],
  [['chdir=1', ...command], /needs a directory/],
  [['mode=exec', 'wallms=5', ...command], /supervises nothing/],
  [['mode=exec', 'ns=1', ...command], /supervises nothing/],
  [['mode=exec', 'control=3', ...command], /supervises nothing/],
  [['mode=exec', `program=1:${'0'.repeat(64)}:/bin/true`, ...command], /compares no files/],
];

const odd = ['0', '-1', '+1', ' 1', '1 ', '01', '1e3', '0x1', '1.5', '', 'NaN', 'unlimited', '9'.repeat(400)];
const numbers = ['cpu', 'wallms', 'output', 'nproc'].flatMap((key) =>
  odd.map((value) => [[`${key}=${value}`, ...command], /whole number/] as const),
);
/** What is read by the sanitized launcher is the same code: it has its share of the rows. */
const rows = {
  shipped: [...refused, ...sample(numbers, odd.length)],
  sanitized: [...sample(refused, 16), ...sample(numbers, 8)],
};

describe.each(['shipped', 'sanitized'] as const)('the %s launcher', (kind) => {
  test.each(rows[kind])('refuses %j and starts nothing', (args, why) => {
    const end = call(built[kind], args);
    expect(end.stderr).toMatch(why);
    expect(end.stderr).toMatch(/^Cannot start the command: .*, expected .*\n$/);
    expect([end.status, end.stdout]).toEqual([125, '']);
  });

  test('starts with valid arguments, so that the refusals mean something', () => {
    const end = call(built[kind], [
      ...user,
      'cpu=5',
      'wallms=5000',
      'output=100',
      'keep=4',
      'status=3',
      ...command,
    ]);
    expect([end.status, end.stdout]).toEqual([0, 'started\n']);
  });

  test('escapes the bytes of an invalid argument in the message', () => {
    const end = call(built[kind], ['\u001b[2J\nevil', ...command]);
    expect(end.stderr).toContain('"\\x1b[2J\\x0aevil"');
  });

  test('takes no more descriptors and rules than it has room for', () => {
    const many = Array.from({ length: 65 }, (_, at) => `keep=${at + 3}`);
    expect(call(built[kind], [...many, ...command]).stderr).toContain('one too many');
    const rules = Array.from({ length: 1025 }, () => 'ro=/usr');
    expect(call(built[kind], [...rules, ...command]).stderr).toContain('one rule too many');
  });
});

const keys =
  'mode cpu data fsize nofile nproc stack cpums wallms output status control seccomp cgroup ns uid gid workspace owner chdir cwd keep ro rw facts x'.split(
    ' ',
  );
const number = fc.oneof(
  fc.constantFrom('0', '1', '3', '4', '5', '60141', '4294967295', '9007199254740993', '18446744073709551616'),
  fc.bigInt({ min: -10n, max: 2n ** 70n }).map(String),
);
const text = fc.oneof(
  number,
  fc.constantFrom('run', 'exec', '/', '/usr', '/tmp', '/dev/null', '1:1', '0:0', ':', '='),
  fc.string({ unit: CHARACTER }).map((each) => each.replaceAll('\0', '')),
);
const arg = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...keys), text).map(([key, value]) => `${key}=${value}`) },
  { weight: 1, arbitrary: text },
);
const argumentList = fc.tuple(
  fc.array(arg, { maxLength: 8 }),
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(['--', '/bin/true', 'true']) },
    { weight: 1, arbitrary: fc.array(text, { maxLength: 3 }) },
  ),
  fc.boolean(),
);

/** The end of the command as the launcher passes it on: its own, that it was not executed, or by a signal. */
function isOfCommand(status: number | null): boolean {
  return (
    status === 0 || status === 126 || status === 127 || (status !== null && status > 128 && status <= 192)
  );
}

test('the sanitized launcher answers any arguments with a refusal or a proper run', () => {
  const seen = { refused: 0, run: 0 };
  fc.assert(
    fc.property(argumentList, ([args, tail, hasUser]) => {
      const end = call(built.sanitized, [...(hasUser ? user : []), ...args, ...tail]);
      expect(end.stderr).not.toMatch(REPORT);
      expect(end.signal).toBeNull();
      if (end.status === 125) expect(end.stderr).toMatch(/^Cannot start the command: /);
      // With a limit of five bytes the command itself dies by a signal, which is a proper run.
      else expect(isOfCommand(end.status)).toBe(true);
      seen[end.status === 125 ? 'refused' : 'run'] += 1;
    }),
    { numRuns: volume(500, 60), examples: [[[[], command, true]], [[['x'], command, true]]] },
  );
  expect(seen.refused).toBeGreaterThan(0);
  expect(seen.run).toBeGreaterThan(0);
});
