/** Programs that speak no HTTP, names that only wildcards mean, and tier B, in strict runs with an allow-list. */
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type EgressWorld, openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { NO_ENTRY, openSites, told, WITHOUT_PROXY } from '../fixtures/egress/sites.ts';

const CURL = 'curl -sS --max-time 20';
const BANNER = 'SSH-2.0-nobody\r\n';

/** A server that speaks before it is spoken to, and keeps what it hears. */
async function startBanner() {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(BANNER);
    socket.on('data', (piece) => {
      heard.push(piece.toString('latin1'));
      socket.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, heard };
}

/** Connects, says hello and prints what it is told; it fails as connections fail. */
const RAW = `
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
connection.sendall(b"hello")
print(connection.makefile().readline(), end="")
`;

function connectTo({ workspace, shell }: EgressWorld, host: string, port: number) {
  writeFileSync(join(workspace, 'raw.py'), RAW);
  return shell(`python3 raw.py ${host} ${port}`);
}

describe('a program that speaks no HTTP', () => {
  test('reaches a host and a port of the list by a door, and no other', async () => {
    const { port, heard } = await startBanner();
    const entries = [`shell.test:${port}`, `127.0.0.1:${port}`];
    const world = await openEgressWorld({ entries, names: { 'shell.test': ['127.0.0.1'] } });
    for (const host of ['shell.test', '127.0.0.1']) {
      const { output, egress } = await connectTo(world, host, port);
      expect(output?.stdout).toBe(BANNER.replace('\r\n', '\n'));
      expect(told(egress)).toEqual([`allow CONNECT ${host}:${port} by ${host}:${port}`]);
    }
    expect(heard).toEqual(['hello', 'hello']);
    const denials = [
      { host: 'denied.test', to: port, failure: 'socket.gaierror' },
      { host: 'shell.test', to: 22, failure: 'ConnectionRefusedError' },
      { host: '127.0.0.1', to: 22, failure: 'ConnectionRefusedError' },
      { host: '192.0.2.1', to: port, failure: 'OSError: [Errno 101] Network is unreachable' },
    ];
    for (const { host, to, failure } of denials) {
      const { output, egress } = await connectTo(world, host, to);
      expect(output).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(failure) });
      expect(told(egress)).toEqual([]);
    }
    expect(heard).toHaveLength(2);
  });

  // Where it is installed; what it needs of a network is what the test above has.
  test.each(['/usr/bin/ssh'].filter((path) => existsSync(path)))('%s as well', async (ssh) => {
    const { port, heard } = await startBanner();
    const entries = [`shell.test:${port}`, `127.0.0.1:${port}`];
    const world = await openEgressWorld({ entries, names: { 'shell.test': ['127.0.0.1'] } });
    const command = `${ssh} -T -o BatchMode=yes -o ConnectTimeout=20`;
    await world.shell(`${command} -p ${port} git@shell.test`);
    expect(heard[0]).toMatch(/^SSH-2\.0-OpenSSH/);
    const { output, egress } = await world.shell(`${command} git@denied.test`);
    expect(output?.exitCode).toBe(255);
    expect(output?.stderr).toContain('Could not resolve hostname denied.test');
    expect(told(egress)).toEqual([]);
  });
});

test('a host below a wildcard is reached through the proxy alone', async () => {
  const server = await startServer();
  const entries = [`*.wide.test:${server.port}`, `127.0.0.1:${server.port}`];
  const world = await openEgressWorld({ entries, names: { 'a.wide.test': ['127.0.0.1'] } });
  const url = `http://a.wide.test:${server.port}/`;
  const through = await world.shell(`${CURL} ${url}`);
  expect(through).toMatchObject({
    code: 'ok',
    output: { stdout: `served GET / for a.wide.test:${server.port}\n` },
  });
  expect(told(through.egress)).toEqual([`allow GET a.wide.test:${server.port} by ${entries[0]}`]);
  const direct = await world.shell(`${WITHOUT_PROXY} ${CURL} ${url}`);
  expect(direct.output).toMatchObject({
    exitCode: 6,
    stderr: expect.stringContaining('Could not resolve host'),
  });
});

test('a call that names fewer hosts has no more than those', async () => {
  const { plain, secure, script } = await openSites();
  const lines = [`${CURL} ${plain.url}/`, `${CURL} -k ${secure.url}/`];
  const input = { egress_hosts: [plain.entry, `127.0.0.1:${plain.port}`] };
  const { output, egress } = await script(lines, input);
  expect(output).toMatchObject({ exitCode: 56, stdout: `served GET / for ${plain.host}:${plain.port}\n` });
  expect(told(egress)).toEqual([
    `allow GET ${plain.host}:${plain.port} by ${plain.entry}`,
    `deny CONNECT ${secure.host}:${secure.port} by null`,
  ]);
  const none = await script([`${CURL} ${plain.url}/`], { egress_hosts: [] });
  expect(none.output).toMatchObject({ exitCode: 6, stdout: '' });
  expect((await script(lines)).code).toBe('ok');
});

describe('in tier B', () => {
  test('programs go through the proxy, or to an address that the list names', async () => {
    const { plain, script } = await openSites();
    const { code, output, egress, execution } = await script(
      [`${CURL} ${plain.url}/proxy`, `${WITHOUT_PROXY} ${CURL} http://127.0.0.1:${plain.port}/door`],
      { tier: 'b' },
    );
    expect(code, output?.stderr).toBe('ok');
    expect(execution?.tier).toBe('b');
    expect(plain.asked.map(({ url }) => url)).toEqual(['/proxy', '/door']);
    const [at, address] = [`${plain.host}:${plain.port}`, `127.0.0.1:${plain.port}`];
    expect(told(egress)).toEqual([
      `allow GET ${at} by ${plain.entry}`,
      `allow CONNECT ${address} by ${address}`,
    ]);
    const denied = await script([`${CURL} --fail-with-body http://denied.test/`], { tier: 'b' });
    expect(denied.output).toMatchObject({
      exitCode: 22,
      stdout: `Cannot reach "denied.test:80": ${NO_ENTRY} "denied.test:80"\n`,
    });
  });

  test('a call is refused where TLS would have to be opened', async () => {
    const { secure, script } = await openSites({ entries: ['https://secure.test:SECURE'], opensTls: true });
    const { code, message } = await script([`${CURL} ${secure.url}/`], { tier: 'b' });
    expect(code).toBe('tier/unenforceable');
    expect(message).toContain('Cannot open TLS in tier B');
  });
});
