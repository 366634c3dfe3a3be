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
  const relayed = { socketPath, principal: ADA, version: '1.2.3', cwd: '/', workspaces: [], stdin, stdout };
  return { stdin, stdout, ending: relayToDaemon(relayed, new AbortController().signal) };
}

test('a daemon that accepts and says nothing is left, with every byte of the client unread', async () => {
  const { stdin, ending } = client(await listener(() => undefined));
  stdin.write('{"method":"initialize"}\n');
  expect(await ending).toBe('refused');
  expect(stdin.read()?.toString()).toBe('{"method":"initialize"}\n');
});

test('a daemon that agreed may be silent for longer', async () => {
  const agreed = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: palisade-mcp\r\n\r\n';
  const socketPath = await listener((socket) => {
    socket.write(agreed);
    setTimeout(() => socket.end('late\n'), 1_500);
  });
  const { stdout, ending } = client(socketPath);
  expect(await ending).toBe('lost');
  expect(stdout.read()?.toString()).toBe('late\n');
});
