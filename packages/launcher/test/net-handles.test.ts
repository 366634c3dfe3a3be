import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { sample, volume } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  endAll,
  gone,
  hasNamespaces,
  identity,
  living,
  makeFolder,
  REPORT,
  removeFolder,
  sanitizerEnv,
  shipped,
} from './launch.ts';
import { Starter } from './starter.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_191);
const mark = `86405.${process.pid}`;
const starters: Starter[] = [];
const sink = openSync('/dev/null', 'r+');

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterEach(async () => {
  for (const { child, socket } of starters) {
    socket.destroy();
    (child.stdio[4] as Socket).destroy();
  }
  await Promise.all(starters.splice(0).map(({ end }) => end));
  endAll(mark);
});
afterAll(() => {
  closeSync(sink);
  removeFolder(folder);
});

const ACK = '{"cmd":"NODE_HANDLE_ACK"}\n';
const NACK = '{"cmd":"NODE_HANDLE_NACK"}\n';
const line = (run: number, index: number) =>
  `{"cmd":"NODE_HANDLE","type":"net.Server","msg":{"run":${run},"index":${index}}}`;

/** A starter whose listeners go to a plain socket, where its messages are seen and any answer can be sent. */
class Channel {
  readonly starter: Starter;
  readonly socket: Socket;
  #text = '';
  #wake: () => void = () => {};

  constructor(launcher: string) {
    this.starter = new Starter(launcher, `starter-${mark}`, ['pipe']);
    starters.push(this.starter);
    this.socket = this.starter.child.stdio[4] as Socket;
    this.socket.on('error', () => {});
    this.socket.setEncoding('latin1').on('data', (chunk) => {
      this.#text += chunk;
      this.#wake();
    });
  }

  get lines(): readonly string[] {
    return this.#text.split('\n').slice(0, -1);
  }

  async replies(count: number): Promise<readonly string[]> {
    while (this.lines.length < count) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    return this.lines;
  }
}

/** A run with so many listeners; every second one is in namespaces, whose processes must let go of them too. */
function listening(id: number, count: number, ...argv: string[]): readonly string[] {
  const listen = Array.from({ length: count }, (_, at) => `listen=127.0.0.1:${at + 80}`);
  const space = hasNamespaces && id % 2 === 0 ? ['ns=1'] : [];
  const args = [...user, ...space, 'net=1', 'handles=3', ...listen, '--', ...argv];
  return ['start', String(id), 'null', 'null', 'null', 'handles', '--', ...args];
}
const sleep = ['/bin/sleep', 'sleep', mark];

/** Sends listeners and others as the launcher would not; the text is what python does with `send`. */
function sending(text: string, over: 'handles' | 'sockets' = 'handles'): readonly string[] {
  const head = [
    'import os, socket, time',
    'out = socket.socket(fileno=3)',
    'server = socket.create_server(("127.0.0.1", 0))',
    'other = socket.socket()',
    'send = lambda bytes, *sockets: socket.send_fds(out, [bytes], [each.fileno() for each in sockets])',
  ];
  const argv = ['/usr/bin/python3', 'python3', '-c', [...head, text, `time.sleep(${mark})`].join('\n')];
  return ['start', '1', 'null', 'null', 'null', over, '--', ...user, 'keep=3', '--', ...argv];
}

const settle = () => new Promise((wake) => setTimeout(wake, 100));

describe.each(['shipped', 'sanitized'] as const)('the %s starter', (kind) => {
  test('passes on one listener at a time, and the runs take turns', async () => {
    const { starter, socket, replies, lines } = bound(new Channel(built[kind]));
    const expected = [line(1, 0)];
    starter.send(listening(1, 3, ...sleep));
    expect(await replies(1)).toEqual(expected);
    starter.send(listening(2, 3, ...sleep));
    while (living(`sleep\0${mark}`).length < 2) await settle();
    for (const [run, index] of [
      [2, 0],
      [1, 1],
      [2, 1],
      [1, 2],
      [2, 2],
    ] as const) {
      await settle();
      expect(lines()).toEqual(expected);
      socket.write(ACK);
      expected.push(line(run, index));
      expect(await replies(expected.length)).toEqual(expected);
    }
    // What it has passed on, it does not keep: the requests, the channel and the standard streams, and its signals.
    socket.write(ACK);
    while (starter.open().length > 6) await settle();
  });

  test('sends a listener again that did not come, and ends the run when it never comes', async () => {
    const { starter, socket, replies } = bound(new Channel(built[kind]));
    starter.send(listening(1, 2, ...sleep));
    for (let at = 1; at <= 4; at += 1) {
      expect(await replies(at)).toEqual(Array(at).fill(line(1, 0)));
      socket.write(NACK);
    }
    expect(await starter.replies('ended 1')).toContain('signal=9');
    await gone(`sleep\0${mark}`);
    starter.send(listening(2, 1, ...sleep));
    expect(await replies(5)).toContain(line(2, 0));
    socket.write(NACK);
    expect((await replies(6))[5]).toBe(line(2, 0));
    socket.write(ACK);
    starter.send(listening(3, 1, ...sleep));
    expect((await replies(7))[6]).toBe(line(3, 0));
    while (living(`sleep\0${mark}`).length < 2) await settle();
  });

  test('forgets the listeners of a run that is over', async () => {
    const { starter, socket, replies } = bound(new Channel(built[kind]));
    starter.send(listening(1, 1, ...sleep));
    await replies(1);
    starter.send(listening(2, 9, '/bin/true', 'true'));
    expect(await starter.replies('ended 2')).toContain('exit=0');
    starter.send(listening(3, 1, ...sleep));
    socket.write(ACK);
    expect(await replies(2)).toEqual([line(1, 0), line(3, 0)]);
    socket.write(ACK);
    while (starter.open().length > 6) await settle();
  });

  const answers: readonly (readonly [what: string, before: number, answer: string])[] = [
    ['nothing', 0, ACK],
    ['one line twice', 1, ACK + ACK],
    ['spelled differently', 1, '{"cmd":"NODE_HANDLE_ACK" }\n'],
    ['with a message', 1, '{"run":1}\n'],
    ['without an end', 1, 'x'.repeat(64)],
    ['with a NUL', 1, ACK.replace('\n', '\0\n\n')],
  ];
  test.each(answers)('ends all and exits 125 when the gateway answers %s', async (_, before, answer) => {
    const { starter, socket, replies } = bound(new Channel(built[kind]));
    starter.send(listening(1, before, ...sleep).filter((arg) => before > 0 || arg !== 'handles=3'));
    await replies(before);
    socket.write(answer);
    expect((await starter.end).code).toBe(125);
    expect(living(mark)).toEqual([]);
  });

  test('ends all when the channel ends', async () => {
    const { starter, socket, replies } = bound(new Channel(built[kind]));
    starter.send(listening(1, 2, ...sleep));
    await replies(1);
    while (living(`sleep\0${mark}`).length < 1) await settle();
    socket.destroy();
    expect((await starter.end).code).toBe(0);
    expect(living(mark)).toEqual([]);
  });

  test('forwards any listener, whichever process sends it', async () => {
    const { starter, replies, socket } = bound(new Channel(built[kind]));
    starter.send(sending('send(b"0\\n", server)\nsend(b"1\\n", server)'));
    await replies(1);
    socket.write(ACK);
    expect(await replies(2)).toEqual([line(1, 0), line(1, 1)]);
  });

  const wrong: readonly (readonly [what: string, text: string])[] = [
    ['has no descriptor', 'out.send(b"0\\n")'],
    ['has two descriptors', 'send(b"0\\n", server, server)'],
    ['has no listener', 'send(b"0\\n", other)'],
    ['has a pipe', 'socket.send_fds(out, [b"0\\n"], [os.pipe()[0]])'],
    [
      'has a listener of another kind',
      'o = socket.socket(socket.AF_UNIX); o.bind("\\0x"); o.listen(); send(b"0\\n", o)',
    ],
    ['has another number', 'send(b"1\\n", server)'],
    ['has no number', 'send(b"\\n", server)'],
    ['has a number without an end', 'send(b"0", server)'],
    ['has more after it', 'send(b"0\\n0\\n", server)'],
    ['is long', 'send(b"0" * 4096, server)'],
    ['has JSON', 'send(b"0}}\\n{}", server)'],
  ];
  // Each starts Python; what is read by the sanitized starter is the same code.
  test.each(kind === 'shipped' ? wrong : sample(wrong, 3))(
    'ends a run whose message %s, and passes nothing on',
    async (_, text) => {
      const { starter, lines } = bound(new Channel(built[kind]));
      starter.send(sending(text));
      expect(await starter.replies('ended 1')).toContain('signal=9');
      expect(lines()).toEqual([]);
      expect(starter.open()).toHaveLength(6);
    },
  );

  test('passes on sockets and answers without one, in their order and without an end', async () => {
    const { starter, socket, replies } = bound(new Channel(built[kind]));
    const text = 'for i in range(100): send(b"%d\\n" % i, *([other] if i % 2 else []))';
    starter.send(sending(text, 'sockets'));
    for (let at = 0; at < 100; at += 1) {
      const said = `{"run":1,"socket":${at}}`;
      const isSocket = at % 2 === 1;
      expect((await replies(at + 1))[at]).toBe(
        isSocket ? `{"cmd":"NODE_HANDLE","type":"net.Socket","msg":${said}}` : said,
      );
      if (isSocket) socket.write(ACK);
    }
  });

  test.each([
    ['has a listener', 'send(b"0\\n", server)'],
    ['has a pipe', 'socket.send_fds(out, [b"0\\n"], [os.pipe()[0]])'],
    ['has another number', 'send(b"1\\n", other)'],
    ['has JSON', 'send(b"}\\n{}", other)'],
  ])('ends a run whose answer %s, and passes nothing on', async (_, text) => {
    const { starter, lines } = bound(new Channel(built[kind]));
    starter.send(sending(text, 'sockets'));
    expect(await starter.replies('ended 1')).toContain('signal=9');
    expect(lines()).toEqual([]);
  });

  test('passes on 64 listeners of a run, and not one more', async () => {
    const { starter, socket, replies } = bound(new Channel(built[kind]));
    starter.send(sending('for i in range(65): send(b"%d\\n" % i, server)'));
    for (let at = 1; at <= 64; at += 1) {
      expect((await replies(at))[at - 1]).toBe(line(1, at - 1));
      socket.write(ACK);
    }
    expect(await starter.replies('ended 1')).toContain('signal=9');
    expect(await replies(64)).toHaveLength(64);
  });

  test('ends a run with two channels for its listeners, and one without a receiver', async () => {
    const two = new Channel(built[kind]).starter;
    two.send(['start', '1', 'handles', 'handles', '--', ...user, '--', ...sleep]);
    expect((await two.end).code).toBe(125);
    const none = new Starter(built[kind], `starter-${mark}`);
    none.send(['start', '1', 'null', 'null', 'null', 'handles', '--', ...user, '--', ...sleep]);
    expect((await none.end).code).toBe(125);
  });

  const services: readonly (readonly string[])[] = [
    ['requests=3', 'handles=3'],
    ['requests=3', 'handles=5'],
    ['requests=3', 'handles=77'],
    ['requests=3', 'handles='],
    ['requests=3', 'requests=4'],
    ['handles=4', 'requests=3'],
    ['requests=3', 'handles=4', 'handles=4'],
  ];
  test.each(services.map((args) => [args]))('is none with %j', (args) => {
    const end = spawnSync(built[kind], ['mode=serve', ...args], {
      encoding: 'latin1',
      env: sanitizerEnv,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', sink],
      timeout: 20_000,
    });
    expect(end.status).toBe(125);
    expect(end.stderr).toMatch(/^Cannot start the command: /);
  });
});

test('the sanitized starter ends a run that sends any bytes, and passes none of them on', async () => {
  const { starter, lines } = bound(new Channel(built.sanitized));
  let id = 0;
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 64 }), async (bytes) => {
      id += 1;
      const argv = ['/bin/sh', 'sh', '-c', `cat; exec sleep ${mark}`];
      const given = [`bytes:${bytes.length}`, 'handles', 'null'];
      starter.send(
        ['start', String(id), ...given, '--', ...user, 'mode=exec', '--', ...argv],
        Buffer.from(bytes),
      );
      expect(await starter.replies(`ended ${id}`)).toContain('signal=9');
    }),
    { numRuns: volume(50, 20) },
  );
  expect(lines()).toEqual([]);
});

test('the sanitized starter answers any bytes on its channel with its end', async () => {
  const piece = fc.oneof(
    fc.constantFrom(ACK, NACK, '\n', '{"cmd":"NODE_HANDLE_', '\0'),
    fc.string({ unit: CHARACTER }),
  );
  const seen = { ended: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
      const { starter, socket, replies } = bound(new Channel(built.sanitized));
      starter.send(listening(1, 3, ...sleep));
      await replies(1);
      for (const each of pieces) {
        socket.write(Buffer.from(each, 'latin1'));
        await new Promise((wake) => setImmediate(wake));
      }
      socket.end();
      const { code, signal, stderr } = await starter.end;
      expect(stderr).not.toMatch(REPORT);
      expect(signal).toBeNull();
      expect([0, 125]).toContain(code);
      seen[code === 0 ? 'ended' : 'refused'] += 1;
      expect(living(mark)).toEqual([]);
    }),
    { numRuns: volume(40, 15), examples: [[[]], [['\n']]] },
  );
  expect(Math.min(seen.ended, seen.refused)).toBeGreaterThan(0);
});

/** What a test takes apart. */
function bound(channel: Channel) {
  return {
    starter: channel.starter,
    socket: channel.socket,
    replies: (count: number) => channel.replies(count),
    lines: () => channel.lines,
  };
}
