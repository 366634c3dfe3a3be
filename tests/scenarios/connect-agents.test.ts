import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CLIENTS } from '../../packages/gateway/src/doors/cli/connect/clients.table.ts';
import { argvOf, tokenIn } from '../../packages/gateway/src/doors/cli/connect/entry.ts';
import { serverNamed } from '../../packages/gateway/src/doors/cli/connect/servers.ts';
import { palisade as palisadeInside } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { type Finished, scratch } from '../fixtures/cli.ts';
import { sample } from '../volume/volume.ts';

/** A newcomer with some agents on the machine: from nothing to agents that call tools, and back. */

const PALISADE = fileURLToPath(new URL('../../packages/gateway/bin/palisade.js', import.meta.url));
const root = scratch();
const [home, state] = [join(root, 'home'), join(root, 'state')];
/** One for each language of configuration files, and one more way to write a command. */
const FILES = {
  'claude-code': '.claude.json',
  codex: '.codex/config.toml',
  goose: '.config/goose/config.yaml',
  opencode: '.config/opencode/opencode.json',
};

async function palisade(...args: readonly string[]): Promise<Finished> {
  const env = { HOME: home, PATH: '/usr/bin:/bin', PALISADE_STATE: state };
  const child = spawn(process.execPath, [PALISADE, ...args], {
    env,
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, out, err };
}

type Found = { readonly argv: readonly string[]; readonly token: string | null };

function entryOf(id: keyof typeof FILES): Found {
  const client = CLIENTS.find((each) => each.id === id);
  if (client === undefined) throw new Error(`there is no client ${id}`);
  const text = readFileSync(join(home, FILES[id]), 'utf8');
  const entry = serverNamed({ client, name: id, text }, 'palisade')?.value;
  return { argv: argvOf(client, entry) ?? [], token: tokenIn(client, entry) };
}

function ended(child: ChildProcess): () => Promise<unknown> {
  const end = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  return () => end;
}

/** Starts a server as a client with windows does: by the command in its file, and with nothing in its environment. */
async function callThrough(argv: readonly string[], message: string): Promise<unknown> {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'ignore'] });
  const end = ended(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (id: number, method: string, params: unknown) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the server has ended');
      const reply = JSON.parse(value);
      if (reply.id === id) return reply;
    }
  };
  const clientInfo = { name: 'a client', version: '1.0.0' };
  await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  const reply = await ask(2, 'tools/call', { name: 'palisade_echo', arguments: { message } });
  child.stdin.end();
  await end();
  return reply;
}

describe('a newcomer', () => {
  beforeAll(async () => {
    for (const [id, file] of Object.entries(FILES)) {
      mkdirSync(join(home, file, '..'), { recursive: true });
      // What an installed client has left there; an empty folder is no sign of one.
      writeFileSync(join(home, file, '..', '.installed'), '');
      if (id === 'claude-code') writeFileSync(join(home, file), '{\n  "numStartups": 7\n}\n');
    }
    const { status, out } = await palisade('init', '--yes');
    expect(out).toContain('Ready. What to do next:');
    expect(status).toBe(0);
  });

  test.each(sample(Object.keys(FILES) as (keyof typeof FILES)[], 2))(
    'has %s call a tool by the very command that init put into its file, from any folder and without a search path',
    async (id) => {
      const { argv } = entryOf(id);
      expect(JSON.stringify(await callThrough(argv, `hello from ${id}`))).toContain(`hello from ${id}`);
      const search = ['journal', 'search', '--principal', `agent:${id}`, '--json', '--state', state];
      const { out } = await palisadeInside(search);
      expect(out).toContain('palisade.echo');
    },
  );

  test('gets every file back as it was', async () => {
    for (const id of Object.keys(FILES)) expect((await palisade('disconnect', id)).status).toBe(0);
    expect(readFileSync(join(home, FILES['claude-code']), 'utf8')).toBe('{\n  "numStartups": 7\n}\n');
    const { out } = await palisade('connect', '--json');
    expect(JSON.parse(out).clients.flatMap(({ connected }: { connected: string[] }) => connected)).toEqual(
      [],
    );
  });
});

describe('a client that is connected by address', () => {
  test('reaches `palisade serve` with the token of its file, until it is disconnected', async () => {
    const port = await freePort();
    writeFileSync(join(state, 'palisade.toml'), `[http]\nlisten = "127.0.0.1:${port}"\n`);
    expect((await palisade('connect', 'codex', '--http')).status).toBe(0);
    const { token } = entryOf('codex');
    const env = { HOME: home, PATH: '/usr/bin:/bin', PALISADE_STATE: state };
    const daemon = spawn(process.execPath, [PALISADE, 'serve'], { env, cwd: home, stdio: 'ignore' });
    const end = ended(daemon);
    const ask = () => askServed(port, token ?? 'there is none');
    await expect.poll(ask, { timeout: 30_000, interval: 200 }).toBe(200);
    expect((await palisade('disconnect', 'codex')).out).toContain('revoked the token tok_');
    expect(await ask()).toBe(401);
    daemon.kill('SIGTERM');
    await end();
  });
});

async function askServed(port: number, token: string): Promise<number> {
  const clientInfo = { name: 'a client', version: '1.0.0' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  }).catch(() => null);
  await response?.text();
  return response?.status ?? 0;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
