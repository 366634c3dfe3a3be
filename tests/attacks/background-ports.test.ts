import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openBackground, python } from '../fixtures/commands/background.ts';
import { ask, echoServer, freePorts, readAll } from '../fixtures/commands/ports.ts';

type Part = Awaited<ReturnType<typeof openBackground>>;

async function untilUp({ facts }: Part, id: string): Promise<string> {
  let read = await facts('logs', { id });
  while (!read.text.includes('up')) read = await facts('logs', { id });
  return read.text;
}

/** What a command says of an address: connected, or the name of the error. */
const TRY = `
def attempt(host, port):
    import errno, socket
    try: return socket.create_connection((host, port), timeout=2).recv(20).decode() or 'connected'
    except OSError as error: return errno.errorcode.get(error.errno, 'timeout')
`;

describe('a run with a port', () => {
  test('does not reach the host by it, and no other port leads to it', async () => {
    const [inside = 0, other = 0, host = 0] = await freePorts(3);
    const service = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1');
    await once(service, 'listening');
    onTestFinished(() => void service.close());
    const { port: own } = service.address() as AddressInfo;
    const opened = await openBackground(`ports = ["${host}"]`);
    const more = `${TRY}
listen(${other})
print([attempt('127.0.0.1', ${own}), attempt('::1', ${own}), attempt('127.0.0.1', ${host})])`;
    const program = echoServer(inside, '127.0.0.1', more);
    const { id } = await opened.facts('start', python(program, { ports: [`${host}:${inside}`] }));
    const text = await untilUp(opened, id);
    expect(text).toContain("['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']");
    // The control: the host reaches its own service, and the granted port alone leads inside.
    expect(await ask(own, '')).toBe('host');
    expect(await ask(host, 'hello')).toBe('inside:hello');
    expect(await ask(inside, 'hello')).toBe('ECONNREFUSED');
    expect(await ask(other, 'hello')).toBe('ECONNREFUSED');
  });

  test('does not get the port of another run, which keeps it', async () => {
    const [port = 0] = await freePorts(1);
    const opened = await openBackground(`ports = ["${port}"]`);
    const { call, facts } = opened;
    const input = python(echoServer(port), { ports: [port] });
    const { id } = await facts('start', input);
    await untilUp(opened, id);
    const second = await call('start', input);
    expect(second.outcome).toMatchObject({
      code: 'tier/not-started',
      message: expect.stringContaining(`port ${port} of the host is not available`),
    });
    expect(await ask(port, 'hello')).toBe('inside:hello');
    await facts('stop', { id });
    const { id: next } = await facts('start', input);
    await untilUp(opened, next);
    expect(await ask(port, 'hello')).toBe('inside:hello');
  });

  test('survives clients that break off, and servers that do', async () => {
    const [port = 0] = await freePorts(1);
    const opened = await openBackground(`ports = ["${port}"]`);
    const program = `
import socket, struct
server = socket.create_server(('127.0.0.1', ${port}), backlog=128)
print('up')
while True:
    client, _ = server.accept()
    try: word = client.recv(4)
    except OSError: word = b'gone'
    if word == b'okay': client.sendall(b'fine')
    elif word == b'half': client.shutdown(socket.SHUT_WR); continue
    else: client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    client.close()
`;
    const { id } = await opened.facts('start', python(program, { ports: [port] }));
    await untilUp(opened, id);
    for (let round = 0; round < 20; round++) {
      const client = connect(port, '127.0.0.1');
      await once(client, 'connect');
      client.resetAndDestroy();
      const cut = connect(port, '127.0.0.1');
      cut.write('cut!');
      expect(await readAll(cut)).toBe('ECONNRESET');
      expect(await ask(port, 'okay')).toBe('fine');
    }
    expect(await opened.facts('logs', { id })).toMatchObject({ running: true });
    const waiting = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    waiting.write('half');
    expect(await readAll(waiting)).toBe('');
    const left = new Promise((closed) => waiting.once('close', closed));
    await opened.facts('stop', { id });
    // A half that has ended is not read: the client notices the other when it writes.
    const writing = setInterval(() => waiting.write('more'), 50);
    await left;
    clearInterval(writing);
    expect(await ask(port, 'okay')).toBe('ECONNREFUSED');
  });
});

describe('a port is refused', () => {
  const loose = 'egress = "none"';

  test.each([
    [
      'that is not granted',
      {},
      (port: number) => [port + 1],
      'runner/not-allowed',
      /Add "\d+" to process.ports/,
    ],
    ['with the network of the host', { egress: 'none' }, null, 'runner/not-allowed', /Leave the ports out/],
    ['in tier b', { tier: 'b' }, null, 'runner/not-allowed', /Ask for tier c/],
    ['below 1024', {}, () => [80], 'registry/invalid-input', null],
    ['that is not one', {}, () => ['http'], 'registry/invalid-input', null],
    ['that is asked for twice', {}, (port: number) => [port, `${port}:3000`], 'registry/invalid-input', null],
  ] as const)('%s', async (_, more, ports, code, remedy) => {
    const [port = 0] = await freePorts(1);
    const { call } = await openBackground(`${loose}\nports = ["${port}"]`);
    const asked = { command: 'true', ports: ports === null ? [port] : ports(port), ...more };
    const { outcome } = await call('run', asked);
    expect(outcome).toMatchObject({ status: 'refused', code });
    if (remedy !== null) expect(outcome).toMatchObject({ remedy: expect.stringMatching(remedy) });
    // The control: the port that is granted, in a network of its own.
    expect((await call('run', { command: 'true', ports: [port] })).outcome).toMatchObject({ status: 'ok' });
  });

  test('by a policy about it', async () => {
    const [port = 0, free = 0] = await freePorts(2);
    const policy = `@id("not-this-one")
forbid (principal, action == Action::"call", resource) when { context has process && context.process.ports.contains(${port}) };`;
    const { call } = await openBackground(`ports = ["1024-65535"]`, policy);
    const refused = await call('run', { command: 'true', ports: [port] });
    expect(refused.outcome).toMatchObject({ status: 'refused', code: 'policy/denied' });
    expect((await call('run', { command: 'true', ports: [free] })).outcome).toMatchObject({ status: 'ok' });
  });
});
