import { once } from 'node:events';
import { createServer, type Server, Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import type { OpenDescriptor, StartPlan } from '../../../src/tiers/child/child.ts';
import {
  HandedServers,
  handedBy,
  isTooMuch,
  killFrame,
  parseReply,
  type Side,
  sidesOf,
  startFrame,
  tookFrame,
  wordsBytes,
} from '../../../src/tiers/child/starter-protocol.ts';

const NONE: StartPlan = {
  words: [],
  descriptors: [],
  stdin: null,
  outputBytes: 1,
  wallMs: 1,
  graceMs: 1,
};

/** Reads a request as the starter does, and nothing of it with the code that wrote it. */
function decode(raw: Uint8Array): { readonly strings: readonly string[]; readonly bytes: readonly number[] } {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  expect(view.getUint32(0, true)).toBe(raw.length - 4);
  const end = 8 + view.getUint32(4, true);
  expect(end).toBeLessThanOrEqual(raw.length);
  return { strings: stringsIn(raw.subarray(8, end)), bytes: [...raw.subarray(end)] };
}

function stringsIn(raw: Uint8Array): string[] {
  const strings: string[] = [];
  for (let at = 0; at < raw.length; ) {
    const nul = raw.indexOf(0, at);
    expect(nul).toBeGreaterThanOrEqual(at);
    strings.push(new TextDecoder('utf-8', { fatal: true }).decode(raw.subarray(at, nul)));
    at = nul + 1;
  }
  return strings;
}

const word = fc.string({ unit: CHARACTER, maxLength: 20 }).map((text) => text.replaceAll('\0', ''));
const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const number = fc.nat(1_048_576);

/** A descriptor, its word, what it adds to the bytes, and whether one end of it is ours. */
type Expected = readonly [OpenDescriptor, string, readonly number[], Side | null];
const descriptor: fc.Arbitrary<Expected> = fc.oneof(
  number.map((fd): Expected => [{ role: 'open', fd }, `read:${fd}`, [], null]),
  number.map((fd): Expected => [{ role: 'open', fd, writes: true }, `write:${fd}`, [], null]),
  fc
    .uint8Array({ maxLength: 50 })
    .map((bytes): Expected => [{ role: 'bytes', bytes }, `bytes:${bytes.length}`, [...bytes], null]),
  fc
    .tuple(number, number, number, number)
    .map(
      ([a, b, uid, gid]): Expected => [
        { role: 'map', owner: { uid: a, gid: b }, uid, gid },
        `map:${a}:${b}:${uid}:${gid}`,
        [],
        null,
      ],
    ),
  fc.constant<Expected>([{ role: 'status', maxBytes: 9 }, 'out', [], 'reads']),
  fc.constant<Expected>([{ role: 'control' }, 'in', [], 'holds']),
  fc.constant<Expected>([{ role: 'words' }, 'in', [], 'holds']),
);

describe('a request', () => {
  it('to start has the kinds of all descriptors, the words after them, and the bytes in their order', () => {
    fc.assert(
      fc.property(id, fc.array(descriptor), fc.array(word), fc.boolean(), (run, given, words, hasInput) => {
        const stdin = hasInput ? new Uint8Array(3) : null;
        const plan = { ...NONE, words, stdin, descriptors: given.map(([each]) => each) };
        const { strings, bytes } = decode(startFrame(run, plan));
        const kinds = [hasInput ? 'in' : 'null', 'out', 'out', ...given.map(([, kind]) => kind)];
        expect(strings).toEqual(['start', String(run), ...kinds, '--', ...words]);
        expect(bytes).toEqual(given.flatMap(([, , part]) => part));
        const sides = given.map(([, , , side]) => side);
        expect(sidesOf(plan)).toEqual([hasInput ? 'writes' : null, 'reads', 'reads', ...sides]);
      }),
    );
  });

  it.each([
    ['took', tookFrame],
    ['kill', killFrame],
  ])('that says %s has the id and nothing else', (kind, frame) => {
    fc.assert(
      fc.property(id, (run) => {
        expect(decode(frame(run))).toEqual({ strings: [kind, String(run)], bytes: [] });
      }),
    );
  });

  it('is too much for the starter where it is longer, or has more descriptors, or a higher one', () => {
    const open = (fd: number) => ({ role: 'open', fd }) as const;
    const isRefused = (plan: Partial<StartPlan>) =>
      isTooMuch({ ...NONE, ...plan }, startFrame(1, { ...NONE, ...plan }));
    const room =
      8_388_608 - 4 - decode(startFrame(1, { ...NONE, words: [''] })).strings.join('\0').length - 1;
    expect(isRefused({ words: ['x'.repeat(room)] })).toBe(false);
    expect(isRefused({ words: ['x'.repeat(room + 1)] })).toBe(true);
    expect(isRefused({ descriptors: Array.from({ length: 64 }, () => open(3)) })).toBe(false);
    expect(isRefused({ descriptors: Array.from({ length: 65 }, () => open(3)) })).toBe(true);
    expect(isRefused({ descriptors: [open(1_048_576)] })).toBe(false);
    expect(isRefused({ descriptors: [open(1_048_577)] })).toBe(true);
  });
});

it('wordsBytes() says how many words there are, then each of them', () => {
  fc.assert(
    fc.property(fc.array(word), (words) => {
      const raw = wordsBytes(words);
      expect(new DataView(raw.buffer, raw.byteOffset).getUint32(0, true)).toBe(words.length);
      expect(stringsIn(raw.subarray(4))).toEqual(words);
    }),
  );
});

describe('parseReply() reads', () => {
  const ended = (exitCode: number | null, signal: string | null) => ({
    kind: 'ended',
    id: 7,
    exit: { exitCode, signal, spawnError: null },
  });

  it.each([
    ['started 7 4711', { kind: 'started', id: 7, pid: 4711, numbers: [] }],
    ['started 7 4711 5 0 1023', { kind: 'started', id: 7, pid: 4711, numbers: [5, 0, 1023] }],
    ['failed 7 read ENOENT', { kind: 'failed', id: 7, error: 'ENOENT' }],
    ['failed 7 fork EAGAIN', { kind: 'failed', id: 7, error: 'EAGAIN' }],
    ['failed 7 map OTHER', { kind: 'failed', id: 7, error: 'OTHER' }],
    ['ended 7 exit=0', ended(0, null)],
    ['ended 7 exit=255', ended(255, null)],
    ['ended 7 signal=9', ended(null, 'SIGKILL')],
    ['ended 7 signal=11', ended(null, 'SIGSEGV')],
    ['ended 7 signal=6', ended(null, 'SIGABRT')],
    ['ended 7 signal=29', ended(null, 'SIGIO')],
    ['ended 7 signal=64', ended(null, 'SIG64')],
    ['ended 9007199254740991 exit=1', { ...ended(1, null), id: Number.MAX_SAFE_INTEGER }],
  ])('%s', (line, reply) => {
    expect(parseReply(line)).toEqual(reply);
  });
});

describe('parseReply() refuses', () => {
  it.each([
    ...[
      '',
      ' ',
      'started',
      'started 7',
      'started 7 ',
      'started 7 x',
      'started 7 0',
      'started 7 1',
      'started 7 4 x',
      'started 7 4  5',
    ],
    ...['started 7 4 5 ', 'started 7 4 -5', 'started 7 4 05', 'started 7 4 1048577', 'started 7 4194305 1'],
    ...['started 0 4', 'started -1 4', 'started 07 4', 'started 1e3 4', 'started 9007199254740992 4'],
    ...['started \u0667 4', ' started 7 4', 'Started 7 4', 'started  7 4', 'started 7 4\r', 'started 7 4\n'],
    ...[
      'failed 7',
      'failed 7 ',
      'failed 7 ENOENT',
      'failed 7 read ',
      'failed 7 read enoent',
      'failed 7 a b E',
    ],
    ...['failed 0 read EIO', 'failed 7 read E-X', 'failed x read EIO'],
    ...['ended 7', 'ended 7 ', 'ended 7 exit', 'ended 7 exit=', 'ended 7 exit=256', 'ended 7 exit=-1'],
    ...['ended 7 exit=0 ', 'ended 7 exit=0 more', 'ended 7 exit=0=1', 'ended 7 exit=00', 'ended 7 exit=1.5'],
    ...['ended 7 signal=0', 'ended 7 signal=65', 'ended 7 signal=KILL', 'ended 7 killed=9', 'ended 0 exit=0'],
    ...['reaped 7 exit=0', 'constructor 7 4', '__proto__ 7 4'],
  ])('%j', (line) => {
    expect(parseReply(line)).toBeNull();
  });

  it('whatever else comes, and never throws', () => {
    const near = fc
      .array(
        fc.oneof(
          fc.constantFrom('started', 'failed', 'ended', '7', '0', 'exit=3', 'signal=9', 'EIO', 'read', ''),
          fc.string({ unit: CHARACTER, maxLength: 4 }),
          fc.nat().map(String),
        ),
        { maxLength: 6 },
      )
      .chain((words) => fc.constantFrom(' ', '', '  ', '\n').map((gap) => words.join(gap)));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: CHARACTER }), near), (line) => {
        const reply = parseReply(line);
        // What it takes is what the starter would have said: it can be said again, word for word.
        if (reply !== null) expect(sayings(reply, line)).toContain(line);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});

function sayings(reply: NonNullable<ReturnType<typeof parseReply>>, line: string): string[] {
  const [, , step = ''] = line.split(' ');
  switch (reply.kind) {
    case 'started':
      return [['started', reply.id, reply.pid, ...reply.numbers].join(' ')];
    case 'failed':
      return [`failed ${reply.id} ${step} ${reply.error}`];
    case 'ended':
      return reply.exit.signal === null
        ? [`ended ${reply.id} exit=${reply.exit.exitCode}`]
        : Array.from({ length: 64 }, (_, index) => `ended ${reply.id} signal=${index + 1}`);
  }
}

async function listening(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return server;
}

describe('the listeners of a run', () => {
  it('are there once all have come, in their order and not in that of their coming', async () => {
    const [first, second] = [await listening(), await listening()];
    const handed = new HandedServers(2);
    handed.take(1, second);
    handed.take(0, first);
    expect(await handed.all).toEqual([first, second]);
  });

  it('are none where none was asked for', async () => {
    expect(await new HandedServers(0).all).toEqual([]);
  });

  it('are given up with the run, those that come later as well', async () => {
    const [first, late] = [await listening(), await listening()];
    const handed = new HandedServers(2);
    handed.take(0, first);
    handed.close();
    handed.take(1, late);
    expect(await handed.all).toBeNull();
    expect([first.listening, late.listening]).toEqual([false, false]);
  });

  it('are closed where their number was not asked for, or has come before', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, listening));
    const handed = new HandedServers(1);
    for (const [at, index] of [0, 0, 1, -1].entries()) handed.take(index, servers[at] as Server);
    expect(servers.map((server) => server.listening)).toEqual([true, false, false, false]);
    expect(await handed.all).toEqual([servers[0]]);
  });
});

describe('handedBy()', () => {
  it('reads a message with its listener', async () => {
    const server = await listening();
    expect(handedBy({ run: 3, index: 0 }, server)).toEqual({ run: 3, kind: 'listener', index: 0, server });
  });

  it('reads an answer with its socket, and one without', () => {
    const socket = new Socket();
    expect(handedBy({ run: 3, socket: 1 }, socket)).toEqual({ run: 3, kind: 'socket', index: 1, socket });
    expect(handedBy({ run: 3, socket: 1 }, undefined)).toMatchObject({ kind: 'socket', socket: null });
  });

  it.each([
    [null],
    ['run'],
    [{}],
    [{ run: '3', index: 0 }],
    [{ run: 3 }],
    [{ run: 3, socket: 0 }],
    [{ run: 1.5, index: 0 }],
    [{ run: 3, index: Number.NaN }],
  ])('takes %j for none', async (message) => {
    expect(handedBy(message, await listening())).toBeNull();
  });

  it('takes a message without its handle for none', () => {
    expect(handedBy({ run: 3, index: 0 }, undefined)).toBeNull();
    expect(handedBy({ run: 3, index: 0 }, new Socket())).toBeNull();
    expect(handedBy({ run: 3, index: 0 }, {})).toBeNull();
    expect(handedBy({ run: 3, socket: 0 }, {})).toBeNull();
  });
});
