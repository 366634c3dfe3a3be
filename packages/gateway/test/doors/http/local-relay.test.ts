import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { relayToDaemon } from '../../../src/doors/http/local-relay.ts';
import { ADA } from '../../fixture/gateway.ts';

/** What listens at the socket of a daemon. */
async function listener(onConnection: (socket: Socket) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-relay-'));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  const socketPath = join(folder, 'socket');
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
    rmSync(folder, { recursive: true });
  });
  return socketPath;
}

function client(socketPath: string) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const about = {
    socketPath,
    principal: ADA,
    place: {},
    version: '1.2.3',
    cwd: '/',
    workspaces: [],
    answered: null,
  };
  const ending = relayToDaemon({ ...about, stdin, stdout }, new AbortController().signal);
  return { stdin, stdout, ending };
}

const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: palisade-mcp\r\n\r\n';

/** A daemon that agrees, reads until it has the text, writes its own, and dies. */
function dyingAfter(text: string, written: string): (socket: Socket) => void {
  return (socket) => {
    let read = '';
    socket.on('data', (chunk) => {
      if (read === '') socket.write(AGREED);
      read += chunk;
      if (read.endsWith(text)) socket.write(written, () => socket.destroy());
    });
  };
}

async function lost(ending: ReturnType<typeof relayToDaemon>) {
  const ended = await ending;
  if (ended.kind !== 'lost') throw new Error(`the relay ended as ${ended.kind}`);
  return ended;
}

test('a daemon that accepts and says nothing is left, with every byte of the client unread', async () => {
  const { stdin, ending } = client(await listener(() => undefined));
  stdin.write('{"method":"initialize"}\n');
  expect(await ending).toEqual({ kind: 'refused' });
  expect(stdin.read()?.toString()).toBe('{"method":"initialize"}\n');
});

test('a daemon that agreed may be silent for longer', async () => {
  const socketPath = await listener((socket) => {
    socket.write(AGREED);
    setTimeout(() => socket.end('late\n'), 1_500);
  });
  const { stdout, ending } = client(socketPath);
  await lost(ending);
  expect(stdout.read()?.toString()).toBe('late\n');
});

test('what a daemon left open is answered, half of its line is not shown, and the next server reads the beginning', async () => {
  const begun = ['{"id":1,"method":"initialize"}', '{"method":"notifications/initialized"}'];
  const half = '{"id":3,"method":"tools/';
  const sent = [...begun, '{"id":2,"method":"tools/call"}', half].join('\n');
  const answers = '{"id":1,"result":{}}\n{"id":2,"res';
  const { stdin, stdout, ending } = client(await listener(dyingAfter(half, answers)));
  stdin.write(sent);
  const { goOn } = await lost(ending);
  expect(goOn()).toBe(1);
  const [first, second, ...more] = String(stdout.read()).trim().split('\n');
  expect(first).toBe('{"id":1,"result":{}}');
  expect(JSON.parse(second ?? '')).toMatchObject({
    id: 2,
    error: { message: expect.stringContaining('ended') },
  });
  expect(more).toEqual([]);
  stdin.write('list"}\n');
  expect(String(stdin.read())).toBe([...begun, `${half}list"}\n`].join('\n'));
});

test('a client that was asked something by a daemon that died is not passed on', async () => {
  const asked = '{"id":7,"method":"elicitation/create"}\n';
  const { stdin, stdout, ending } = client(await listener(dyingAfter('"initialize"}\n', asked)));
  stdin.write('{"id":1,"method":"initialize"}\n');
  const { goOn } = await lost(ending);
  expect(goOn()).toBeUndefined();
  expect(String(stdout.read())).toBe(asked);
});
