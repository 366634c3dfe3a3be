import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { receiptOf } from '../../packages/gateway/src/invoke/finish.ts';
import { openBackground, python } from '../fixtures/commands/background.ts';
import { ask, echoServer, freePorts } from '../fixtures/commands/ports.ts';
import { volume } from '../volume/volume.ts';

type Part = Awaited<ReturnType<typeof openBackground>>;

async function startUp({ facts }: Part, program: string, ports: readonly (number | string)[]) {
  const started = await facts('start', python(program, { ports }));
  let read = await facts('logs', { id: started.id });
  while (!read.text.includes('up')) read = await facts('logs', { id: started.id });
  return started;
}

describe('a port of a background run', () => {
  test('is reached from the host while the run lasts, listed, and in the receipt', async () => {
    const [same = 0, host = 0] = await freePorts(2);
    const opened = await openBackground(`ports = ["${same}", "${host}"]`);
    const { facts, gateway } = opened;
    const { id } = await startUp(opened, echoServer(same), [same, `${host}:${same}`]);
    const ports = [
      { host: same, inside: same, url: `http://127.0.0.1:${same}` },
      { host, inside: same, url: `http://127.0.0.1:${host}` },
    ];
    expect((await facts('logs', {})).runs).toMatchObject([{ id, running: true, ports }]);
    expect(await ask(same, 'hello')).toBe('inside:hello');
    expect(await ask(host, 'again')).toBe('inside:again');
    await facts('stop', { id });
    expect(await ask(same, 'hello')).toBe('ECONNREFUSED');
    expect((await facts('logs', {})).runs[0]).not.toHaveProperty('ports');
    const { payload } = JSON.parse(receiptOf(gateway, id) ?? '');
    const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
    expect(predicate.execution.isolation).toMatchObject({
      ports: `${same}, ${host}:${same}`,
      portConnections: 2,
      portBytesIn: 10,
      portBytesOut: 24,
    });
  });

  test('carries as many connections as come, also at once, and as much as they send', async () => {
    const [port = 0] = await freePorts(1);
    const opened = await openBackground(`ports = ["${port}"]`);
    await startUp(opened, echoServer(port), [port]);
    for (let round = 0; round < volume(100); round++) {
      const texts = Array.from({ length: 50 }, (_, each) => `${round} ${each}`);
      const answers = await Promise.all(texts.map((text) => ask(port, text)));
      expect(answers).toEqual(texts.map((text) => `inside:${text}`));
    }
    const long = Buffer.alloc(8 * 1024 * 1024, 'palisade');
    expect(await ask(port, long)).toBe(`inside:${long.toString('latin1')}`);
  });

  test('leads to a server that listens on ::1 alone, and to one that starts later', async () => {
    const [port = 0] = await freePorts(1);
    const opened = await openBackground(`ports = ["${port}"]`);
    const waits = `import sys\nwhile not __import__('os').path.exists('go'): __import__('time').sleep(0.02)\n`;
    const { facts, call } = opened;
    const { id } = await facts(
      'start',
      python(`print('waits')\n${waits}${echoServer(port, '::1')}`, { ports: [port] }),
    );
    expect(await ask(port, 'early')).toBe('ECONNRESET');
    await call('run', { command: 'touch', args: ['go'] });
    while (!(await facts('logs', { id })).text.includes('up'));
    expect(await ask(port, 'hello')).toBe('inside:hello');
  });

  test('keeps a connection open in both ways, as web sockets need it', async () => {
    const [port = 0] = await freePorts(1);
    const opened = await openBackground(`ports = ["${port}"]`);
    const program = `
import socket
server = socket.create_server(('127.0.0.1', ${port}))
print('up')
client, _ = server.accept()
client.sendall(b'welcome')
while True: client.sendall(client.recv(100).upper())
`;
    await startUp(opened, program, [port]);
    const socket = connect(port, '127.0.0.1');
    expect(String((await once(socket, 'data'))[0])).toBe('welcome');
    for (const word of ['one', 'two', 'three']) {
      socket.write(word);
      expect(String((await once(socket, 'data'))[0])).toBe(word.toUpperCase());
    }
    socket.destroy();
  });
});
