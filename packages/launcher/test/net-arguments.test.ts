import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sample, volume } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  hasNamespaces,
  identity,
  makeFolder,
  REPORT,
  removeFolder,
  sanitizerEnv,
  shipped,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_195);
const command = ['--', '/bin/echo', 'echo', 'started'];
const sink = openSync('/dev/null', 'r+');

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterAll(() => {
  closeSync(sink);
  removeFolder(folder);
});

/** Calls a launcher whose descriptor 3 is a socket, 4 its status, and 5 a file. */
function call(launcher: string, args: readonly string[]) {
  return spawnSync(launcher, ['status=4', ...user, ...args, ...command], {
    encoding: 'latin1',
    timeout: 20_000,
    killSignal: 'SIGKILL',
    env: sanitizerEnv,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', sink],
  });
}

const network = ['net=1', 'handles=3'];
const listen = 'listen=127.0.0.1:80';
const ADDRESS = /is not a loopback address with a port, expected 127\.B\.C\.D:PORT or \[::1\]:PORT\n$/;
const refused: readonly (readonly [args: readonly string[], why: RegExp])[] = [
  [['handles=3', listen], /needs net=1/],
  [['net=1', listen], /both or none/],
  [network, /both or none/],
  [['net=0', 'handles=3', listen], /whole number from 1 to 1/],
  [['net=2', 'handles=3', listen], /whole number from 1 to 1/],
  [['net=1', 'net=1', 'handles=3', listen], /twice/],
  [['net=1', 'handles=2', listen], /whole number from 3/],
  [['net=1', 'handles=77', listen], /not open/],
  [['net=1', 'handles=3', 'handles=3', listen], /twice/],
  [['net=1', 'handles=4', listen], /two uses/],
  [[...network, listen, 'keep=3'], /two uses/],
  [['net=1', 'handles=5', listen], /not a unix stream socket/],
  [
    [...network, ...Array.from({ length: 65 }, (_, at) => `listen=127.0.0.1:${at + 1}`)],
    /64 listeners at most/,
  ],
  [['port=5173'], /both or none/],
  [['sockets=3'], /both or none/],
  [['sockets=3', 'port=5173'], /needs control/],
  [['sockets=5', 'port=5173', 'control=3'], /not a unix stream socket/],
  [['sockets=3', 'control=3', 'port=5173'], /two uses/],
  [['sockets=3', 'port=0'], /is not a port/],
  [['sockets=3', 'port=65536'], /is not a port/],
  [['sockets=3', 'port=127.0.0.1:80'], /is not a port/],
  [['sockets=3', ...Array.from({ length: 9 }, (_, at) => `port=${at + 1}`)], /8 ports at most/],
  [['output=1000', 'flood=1000'], /needs cut=1/],
  ...[
    '10.0.0.1:80',
    '128.0.0.1:80',
    '0.0.0.0:80',
    '[::]:80',
    '::1:80',
    '[::1]',
    '[::1]:0',
    '[::2]:80',
    'localhost:80',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:0',
    '127.0.0.1:65536',
    '127.0.0.1:080',
    '127.0.0.1:+80',
    '127.0.0.1:80 ',
    '127.0.0.1:80:80',
    '127.0.0.1 :80',
    '127.0.0:80',
    '127.0.0.1.1:80',
    '127..0.1:80',
    '127.0.0.:80',
    '127.0.0.256:80',
    '127.0.00.1:80',
    '0127.0.0.1:80',
    '127.1:80',
    '2130706433:80',
    ':80',
    '',
    `127.0.0.1${'0'.repeat(400)}:80`,
  ].map((value) => [[...network, `listen=${value}`], ADDRESS] as const),
];

describe.each(['shipped', 'sanitized'] as const)('the %s launcher', (kind) => {
  // What is read by the sanitized launcher is the same code: it has its share of the rows.
  test.each(kind === 'shipped' ? refused : sample(refused, 12))('refuses %j', (args, why) => {
    const { status, stdout, stderr } = call(built[kind], args);
    expect([status, stdout]).toEqual([125, '']);
    expect(stderr).toMatch(why);
  });

  const sound: readonly (readonly [args: readonly string[]])[] = [
    [['net=1']],
    [[...network, listen]],
    [[...network, 'listen=127.255.255.254:65535', 'listen=127.0.0.1:1']],
    [[...network, ...Array.from({ length: 64 }, (_, at) => `listen=127.0.0.1:${at + 1}`)]],
  ];
  test.each(sound)('starts with %j', (args) => {
    const { status, stdout, output } = call(built[kind], args);
    expect([status, stdout]).toEqual(hasNamespaces ? [0, 'started\n'] : [125, '']);
    expect(output[4]?.includes('failed=net')).toBe(!hasNamespaces);
    if (hasNamespaces && args.length > 1) expect(output[3]).toMatch(/^(?:\d+\n)+$/);
  });

  test('starts nothing without a receiver for its listeners', () => {
    const text =
      'use Socket; $^F = 255; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0); close $b; exec @ARGV, "handles=" . fileno $a, "--", "/bin/echo", "echo", "started"';
    const args = ['status=4', ...user, 'net=1', listen];
    const { status, stdout, output } = spawnSync('perl', ['-e', text, built[kind], ...args], {
      encoding: 'latin1',
      env: sanitizerEnv,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    expect([status, stdout]).toEqual([125, '']);
    expect(output[4]).toMatch(hasNamespaces ? /\nfailed=handles errno=32 EPIPE\n$/ : /\nfailed=net /);
  });

  test('lets a command under Landlock connect to the ports that are listened on, and to no other', () => {
    const tried = (port: number) =>
      `perl -MSocket -e 'socket(my $s, PF_INET, SOCK_STREAM, 0); print connect($s, sockaddr_in(${port}, inet_aton("127.0.0.1"))) ? "on\\n" : "$!\\n"'`;
    const script = `${tried(80)}; ${tried(81)}`;
    const run = (...args: string[]) =>
      spawnSync(built[kind], [...user, ...network, listen, ...args, '--', '/bin/sh', 'sh', '-c', script], {
        encoding: 'latin1',
        env: { PATH: '/usr/bin:/bin', ...sanitizerEnv },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      }).stdout;
    // The test takes the listener's number and drops the listener, perhaps before it is tried.
    expect(run()).toMatch(hasNamespaces ? /^(?:on|Connection refused)\nConnection refused\n$/ : /^$/);
    expect(run('ro=/', 'rw=/dev')).toMatch(
      hasNamespaces ? /^(?:on|Connection refused)\nPermission denied\n$/ : /^$/,
    );
  });
});

test('the sanitized launcher accepts well-formed listen addresses, and refuses all others', () => {
  const part = fc.oneof(
    fc.constantFrom('127', '0', '1', '255', '256', '01', '', '-1'),
    fc.nat(300).map(String),
  );
  const port = fc.oneof(fc.nat(70_000).map(String), fc.constantFrom('', '0', '65535', '65536', '080', 'x'));
  const parts = fc.array(part, { minLength: 3, maxLength: 5 }).map((each) => each.join('.'));
  const address = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)).map((each) => `127.${each.join('.')}`),
    },
    parts,
    fc.constantFrom('[::1]', '::1', '[::]'),
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(address, port).map((each) => each.join(':')) },
    fc.string({ unit: fc.constantFrom(...'0127.:[]') }),
  );
  const seen = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(value, (each) => {
      const { status, stderr } = call(built.sanitized, [...network, `listen=${each}`]);
      expect(stderr).not.toMatch(REPORT);
      expect([0, 125]).toContain(status);
      expect(ADDRESS.test(stderr)).toBe(!isListenAddress(each));
      seen[isListenAddress(each) ? 'taken' : 'refused'] += 1;
    }),
    { numRuns: volume(150, 40), examples: [['127.0.0.1:80'], ['128.0.0.1:80']] },
  );
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(0);
});

function isListenAddress(value: string): boolean {
  const [, four, port = ''] =
    /^(?:\[::1\]|(127(?:\.(?:0|[1-9]\d{0,2})){3})):([1-9]\d{0,4})$/.exec(value) ?? [];
  return (
    Number(port) > 0 && Number(port) < 65_536 && (four ?? '').split('.').every((each) => Number(each) < 256)
  );
}
