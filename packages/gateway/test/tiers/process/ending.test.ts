import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { signalName } from '../../../src/tiers/child/starter-protocol.ts';
import { cpuMsOf, outputOfRun, verdictOf } from '../../../src/tiers/process/ending.ts';
import { withNetworkHint } from '../../../src/tiers/process/hints.ts';
import { BROKEN_OFF, sampleRan } from './sample.ts';

type Changes = Parameters<typeof sampleRan>[0];

const KILLED = { ...BROKEN_OFF, signal: 9, done: true };
const SILENT = { ...BROKEN_OFF, pid: null };

describe('verdictOf() says what ended a run', () => {
  test.each<[what: string, ran: Changes, code: string, limit: string | null, words: RegExp]>([
    ['nothing was started', { end: { spawnError: 'EAGAIN' } }, 'tier/not-started', null, /reports EAGAIN/],
    [
      'the sandbox could not be set up',
      { status: { ...SILENT, failed: { step: 'seccomp', errno: 22, name: 'EINVAL' } } },
      'tier/not-started',
      null,
      /at "seccomp" with EINVAL/,
    ],
    [
      'the file could not be executed',
      { status: { ...BROKEN_OFF, exit: 126, execError: { errno: 8, name: 'ENOEXEC' } } },
      'tier/not-started',
      null,
      /fails with ENOEXEC/,
    ],
    [
      'the sandbox gave up before the command began',
      { end: { exitCode: 125 }, status: SILENT },
      'tier/not-started',
      null,
      /its sandbox exited with status 125 before it began/,
    ],
    [
      'the sandbox was killed before the command began',
      { end: { exitCode: null, signal: 'SIGKILL' }, status: SILENT },
      'tier/not-started',
      null,
      /was killed by SIGKILL before it began/,
    ],
    [
      'the sandbox was killed while the command ran',
      { end: { exitCode: null, signal: 'SIGTERM' }, status: BROKEN_OFF },
      'tier/exited',
      null,
      /its sandbox was killed by SIGTERM/,
    ],
    [
      'the launcher fell silent and exited with status 0',
      { end: { exitCode: 0 }, status: BROKEN_OFF },
      'tier/exited',
      null,
      /its sandbox exited with status 0/,
    ],
    [
      'the launcher was killed after a good end',
      { end: { exitCode: null, signal: 'SIGKILL' } },
      'tier/exited',
      null,
      /its sandbox was killed by SIGKILL/,
    ],
    ['the report makes no sense', { status: null }, 'tier/unproven', null, /is not valid/],
    [
      'the caller went away',
      { end: { stopped: 'cancelled' }, status: KILLED },
      'tier/cancelled',
      null,
      /caller/,
    ],
    [
      'somebody else told the launcher to end',
      { status: { ...KILLED, cancelled: true } },
      'tier/exited',
      null,
      /its sandbox was ended from outside/,
    ],
    ['the launcher’s clock', { status: { ...KILLED, limit: 'wall' } }, 'tier/timed-out', 'wall', /30000 ms/],
    [
      'our clock',
      { end: { stopped: 'timed-out' }, status: BROKEN_OFF },
      'tier/timed-out',
      'wall',
      /30000 ms/,
    ],
    [
      'the launcher’s quota',
      { status: { ...KILLED, limit: 'output' } },
      'tier/output-exceeded',
      'output',
      /1048576/,
    ],
    [
      'our quota',
      { end: { stopped: 'output' }, status: BROKEN_OFF },
      'tier/output-exceeded',
      'output',
      /1048576/,
    ],
    ['the tree’s CPU time', { status: { ...KILLED, limit: 'cpu' } }, 'tier/out-of-cpu', 'cpu', /10500 ms/],
    [
      'the CPU time of the group',
      { end: { stopped: 'cancelled' }, status: { ...KILLED, cancelled: true }, group: { cpuUs: 10_500_000 } },
      'tier/out-of-cpu',
      'cpu',
      /10500 ms/,
    ],
    [
      'the CPU time of one process',
      { status: { ...KILLED, signal: 24 } },
      'tier/out-of-cpu',
      'cpu',
      /10500 ms/,
    ],
    [
      'the memory of the group',
      { status: KILLED, group: { oomKills: 1 } },
      'tier/out-of-memory',
      'memory',
      /536870912/,
    ],
    [
      'memory before the command began',
      { end: { exitCode: null, signal: 'SIGKILL' }, status: SILENT, group: { oomKills: 1 } },
      'tier/out-of-memory',
      'memory',
      /536870912/,
    ],
    ['the size of a file', { status: { ...KILLED, signal: 25 } }, 'tier/exited', 'file_size', /67108864/],
    [
      'no more processes',
      { status: { exit: 1 }, group: { pidsRefused: 3 } },
      'tier/exited',
      'processes',
      /exited with status 1/,
    ],
    ['a signal of its own', { status: { ...KILLED, signal: 6 } }, 'tier/exited', null, /killed by SIGABRT/],
    ['an error status', { status: { exit: 2 } }, 'tier/exited', null, /the command exited with status 2/],
  ])('%s', (_, ran, code, limit, words) => {
    const verdict = verdictOf(sampleRan(ran));
    expect(verdict).toMatchObject({ code, limit });
    expect(verdict).toHaveProperty('message', expect.stringMatching(words));
  });

  test.each<[string, Changes]>([
    ['exited with status 0', {}],
    ['exited with status 0 after a child of it ran out of memory', { group: { oomKills: 1 } }],
    ['exited with status 0 after it could not start one more process', { group: { pidsRefused: 1 } }],
  ])('all is well when the command %s', (_, ran) => {
    expect(verdictOf(sampleRan(ran))).toBeNull();
  });

  test('and puts the first cause before its consequences', () => {
    const all = { stopped: 'timed-out', exitCode: null, signal: 'SIGKILL' } as const;
    const status = { ...KILLED, limit: 'output', cancelled: true } as const;
    const group = { oomKills: 1, pidsRefused: 1 };
    expect(verdictOf(sampleRan({ end: all, status, group }))).toMatchObject({ limit: 'wall' });
    const cancelled = { ...all, stopped: 'cancelled' } as const;
    expect(verdictOf(sampleRan({ end: cancelled, status, group }))).toMatchObject({ code: 'tier/cancelled' });
  });

  test('and never calls it well unless the launcher reported that the command exited with status 0', () => {
    const status = fc.record({
      pid: fc.constantFrom(null, 7),
      exit: fc.constantFrom(null, 0, 1, 255),
      signal: fc.constantFrom(null, 9, 24, 25, 31),
      limit: fc.constantFrom(null, 'cpu' as const, 'wall' as const, 'output' as const),
      cancelled: fc.boolean(),
    });
    const end = fc.record({
      exitCode: fc.constantFrom(null, 0, 1, 125),
      signal: fc.constantFrom(null, 'SIGKILL'),
      stopped: fc.constantFrom(null, 'cancelled' as const, 'timed-out' as const, 'output' as const),
    });
    fc.assert(
      fc.property(end, fc.option(status), (ends, said) => {
        if (verdictOf(sampleRan({ end: ends, status: said })) !== null) return;
        expect(said).toMatchObject({ exit: 0, limit: null, cancelled: false });
        expect(ends).toMatchObject({ signal: null, stopped: null });
      }),
    );
  });
});

describe('outputOfRun()', () => {
  const text = (value: string) => Buffer.from(value);

  test('gives what was printed, how it ended and what it used', () => {
    const ran = sampleRan({
      end: { stdout: text('out'), stderr: text('err'), wallMs: 11.2 },
      group: { peakMemoryBytes: 4096, cpuUs: 3001 },
    });
    expect(outputOfRun(ran, null)).toEqual({
      exitCode: 0,
      signal: null,
      stdout: 'out',
      stdoutEncoding: 'utf-8',
      stderr: 'err',
      stderrEncoding: 'utf-8',
      truncated: false,
      omittedBytes: { stdout: 0, stderr: 0 },
      limit: null,
      usage: {
        wallMs: 12,
        cpuMs: 4,
        peakMemoryBytes: 4096,
        largestProcessBytes: 2_097_152,
        readBytes: 4096,
        writtenBytes: 8192,
      },
      processesKilledAtEnd: 0,
    });
  });

  test('says how much was left out of a command that went on, and that no limit ended it', () => {
    const ran = sampleRan({ status: { dropped: { stdout: 5, stderr: 0 } } });
    expect(verdictOf(ran)).toBeNull();
    expect(outputOfRun(ran, null)).toMatchObject({
      exitCode: 0,
      truncated: true,
      omittedBytes: { stdout: 5, stderr: 0 },
      limit: null,
    });
  });

  test('knows nothing that nobody said', () => {
    const { exitCode, signal, usage, processesKilledAtEnd } = outputOfRun(sampleRan({ status: null }), null);
    expect({ exitCode, signal, processesKilledAtEnd }).toEqual({
      exitCode: null,
      signal: null,
      processesKilledAtEnd: null,
    });
    expect(usage).toEqual({
      ...{ wallMs: 12, cpuMs: null, peakMemoryBytes: null },
      ...{ largestProcessBytes: null, readBytes: null, writtenBytes: null },
    });
  });

  test.each<[string, Changes]>([
    ['the launcher cut off', { status: { ...KILLED, limit: 'output' } }],
    ['we cut off', { end: { truncated: true }, status: KILLED }],
    ['a kill broke off', { status: KILLED }],
  ])('is text even where %s within a character', (_, changes) => {
    const stdout = text('né').subarray(0, 2);
    const ran = sampleRan({ ...changes, end: { ...changes?.end, stdout } });
    expect(outputOfRun(ran, null)).toMatchObject({ stdout: 'n', stdoutEncoding: 'utf-8' });
  });

  test('keeps every byte of what a command wrote in full and is no text', () => {
    const stdout = text('né').subarray(0, 2);
    expect(outputOfRun(sampleRan({ end: { stdout } }), null)).toMatchObject({
      stdout: stdout.toString('base64'),
      stdoutEncoding: 'base64',
    });
  });

  test('says that it is truncated, whichever side truncated it', () => {
    expect(outputOfRun(sampleRan({ status: { limit: 'output' } }), 'output').truncated).toBe(true);
    expect(outputOfRun(sampleRan({ end: { truncated: true } }), 'output').truncated).toBe(true);
    expect(outputOfRun(sampleRan({ status: { limit: 'wall' } }), 'wall').truncated).toBe(false);
  });
});

describe('cpuMsOf()', () => {
  test('takes the count of the group, which no process escapes, before that of the launcher', () => {
    expect(cpuMsOf(sampleRan({ group: { cpuUs: 9_500 } }))).toBe(10);
    expect(cpuMsOf(sampleRan({ group: { cpuUs: 0 } }))).toBe(0);
    expect(cpuMsOf(sampleRan({ group: { cpuUs: null } }))).toBe(3);
    const { usage } = sampleRan().status ?? {};
    expect(cpuMsOf(sampleRan({ status: usage ? { usage: { ...usage, lostUs: 5_000 } } : null }))).toBe(8);
    expect(cpuMsOf(sampleRan({ status: BROKEN_OFF }))).toBeNull();
  });
});

describe('signalName()', () => {
  test('has a name for every signal, also for those without one', () => {
    expect([9, 15, 31, 34, 64].map(signalName)).toEqual(['SIGKILL', 'SIGTERM', 'SIGSYS', 'SIG34', 'SIG64']);
  });
});

describe('withNetworkHint()', () => {
  const exited = { code: 'tier/exited', message: 'It exited with status 6', limit: null } as const;
  const ran = (stderr: string, stdout = '') => ({
    terms: { egress: 'strict' as const },
    network: null,
    end: { stderr: Buffer.from(stderr), stdout: Buffer.from(stdout) },
    status: { outward: 0 },
  });

  test.each([
    'curl: (6) Could not resolve host: example.com',
    "fatal: unable to access 'https://example.com/': Could not resolve host: example.com",
    'Error: getaddrinfo EAI_AGAIN example.com',
    'npm error code ENOTFOUND',
    'socket.gaierror: [Errno -3] Temporary failure in name resolution',
    'dial tcp: lookup example.com: no such host',
    'connect: Network is unreachable',
  ])('names the flag where a command without a network fails with %j', (line) => {
    const hint = expect.stringContaining('--allow-host HOST');
    expect(withNetworkHint(exited, ran(line))?.message).toEqual(hint);
    expect(withNetworkHint(exited, ran('', line))?.message).toEqual(hint);
    expect(withNetworkHint(exited, { ...ran(line), network: {} })).toEqual(exited);
    expect(withNetworkHint(exited, { ...ran(line), terms: { egress: 'none' } })).toEqual(exited);
  });

  test('is also given to a command that tried until its time was over, and to no other', () => {
    const late = { code: 'tier/timed-out', message: 'It ran too long', limit: 'wall' } as const;
    const hint = expect.stringContaining('This run had no network');
    expect(withNetworkHint(late, { ...ran(''), status: { outward: 1 } })?.message).toEqual(hint);
    expect(withNetworkHint(late, ran('npm http fetch ENOTFOUND'))?.message).toEqual(hint);
    expect(withNetworkHint(late, ran(''))).toEqual(late);
    expect(withNetworkHint(late, { ...ran(''), status: null })).toEqual(late);
    expect(withNetworkHint(exited, ran('make: *** [all] Error 1'))).toEqual(exited);
    expect(withNetworkHint(null, ran('Could not resolve host'))).toBeNull();
  });
});
