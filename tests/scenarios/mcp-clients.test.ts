import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type KeyRing, parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { PALISADE } from '../fixtures/cli.ts';
import { type BearerProxy, startBearerProxy } from '../fixtures/mcp/bearer-proxy.ts';
import { type McpSetup, makeMcpSetup, mintToken, type Serving, serve } from '../fixtures/mcp/setup.ts';
import { sample } from '../volume/volume.ts';

/*
 * Clients that others wrote, each a program of its own: the official libraries in both versions, and the inspector. Each
 * finds the tools, calls one, and has a receipt that anybody can check without the gateway.
 */

const TOUR = fileURLToPath(new URL('../fixtures/mcp/client-tour.mjs', import.meta.url));
const PEERS = new URL('../conformance/peers/node_modules/@modelcontextprotocol/', import.meta.url);
const INSPECTOR = fileURLToPath(new URL('inspector/cli/build/cli.js', PEERS));
const INPUT = { message: 'hello', lines: ['a', 'b'] };
const NEEDS_MS = 60_000;

type Receipt = { readonly callId: string; readonly status: string; readonly receipt: string };
type CallResult = {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: unknown;
  readonly isError?: boolean;
  readonly _meta: { readonly 'dev.palisade/receipt': Receipt };
};
type Seen = { readonly tools: readonly string[]; readonly result: CallResult; readonly receipt: string };

let setup: McpSetup;
let serving: Serving;
let proxy: BearerProxy;
let token: string;
let ring: KeyRing;

beforeAll(async () => {
  setup = makeMcpSetup();
  token = await mintToken(setup, 'agent:ada');
  serving = await serve(setup);
  proxy = await startBearerProxy(serving.url, token);
  const { out } = await palisade(['keys', 'export', '--state', setup.state]);
  const read = await parseKeyRing(out);
  if (!read.ok) throw new Error(read.why);
  ring = read.keys;
});

afterAll(async () => {
  await proxy?.stop();
  await serving?.stop();
  setup?.remove();
});

const run = promisify(execFile);

/** How a client starts `palisade mcp`, as its user would have it in its configuration. */
const stdio = () => [process.execPath, PALISADE, 'mcp', '--as', 'agent:ada', '--state', setup.state];

async function tour(version: string, mode: string, transport: 'stdio' | 'http'): Promise<Seen> {
  const [command, ...args] = stdio();
  const target = transport === 'stdio' ? { command, args } : { url: serving.url.href, token };
  const words = [TOUR, version, mode, JSON.stringify(target), 'palisade_echo', JSON.stringify(INPUT)];
  const { stdout } = await run(process.execPath, words, { timeout: NEEDS_MS });
  return JSON.parse(stdout) as Seen;
}

async function inspect<T>(transport: 'stdio' | 'http', ...words: readonly string[]): Promise<T> {
  // The inspector cannot send a token, so the proxy does.
  const target = transport === 'stdio' ? stdio() : [proxy.url, '--transport', 'http'];
  const { stdout } = await run(process.execPath, [INSPECTOR, '--cli', ...target, ...words], {
    timeout: NEEDS_MS,
  });
  return JSON.parse(stdout) as T;
}

async function inspectAll(transport: 'stdio' | 'http'): Promise<Seen> {
  const { tools } = await inspect<{ tools: { name: string }[] }>(transport, '--method', 'tools/list');
  const args = ['--tool-arg', `message=${INPUT.message}`, `lines=${JSON.stringify(INPUT.lines)}`];
  const call = ['--method', 'tools/call', '--tool-name', 'palisade_echo', ...args];
  const result = await inspect<CallResult>(transport, ...call);
  const uri = `palisade://calls/${result._meta['dev.palisade/receipt'].callId}/receipt`;
  const read = ['--method', 'resources/read', '--uri', uri];
  const { contents } = await inspect<{ contents: { text: string }[] }>(transport, ...read);
  return { tools: tools.map(({ name }) => name), result, receipt: contents[0]?.text ?? '' };
}

const CLIENTS: readonly [name: string, visit: () => Promise<Seen>][] = [
  ['the v1 client over stdio', () => tour('v1', '-', 'stdio')],
  ['the v1 client over HTTP', () => tour('v1', '-', 'http')],
  ['the v2 client over stdio', () => tour('v2', 'auto', 'stdio')],
  ['the v2 client over HTTP', () => tour('v2', 'auto', 'http')],
  ['the v2 client, held to 2026-07-28, over stdio', () => tour('v2', '2026-07-28', 'stdio')],
  ['the v2 client, held to 2026-07-28, over HTTP', () => tour('v2', '2026-07-28', 'http')],
  ['the v2 client in its legacy mode over stdio', () => tour('v2', 'legacy', 'stdio')],
  ['the v2 client in its legacy mode over HTTP', () => tour('v2', 'legacy', 'http')],
  ['the inspector over stdio', () => inspectAll('stdio')],
  ['the inspector over HTTP', () => inspectAll('http')],
];

describe.each(sample(CLIENTS, 2))('%s', (_name, visit) => {
  test('lists tools, calls one, and has a receipt that verifies offline', { timeout: NEEDS_MS }, async () => {
    const { tools, result, receipt } = await visit();
    expect(tools).toContain('palisade_echo');
    expect(tools).toEqual([...tools].sort());
    const output = result.structuredContent;
    expect(result.isError ?? false).toBe(false);
    expect(output).toMatchObject({ message: INPUT.message });
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(output);

    const reported = result._meta['dev.palisade/receipt'];
    expect(reported.status).toBe('ok');
    expect(reported.receipt).toBe(createHash('sha256').update(receipt).digest('hex'));
    const report = await verifyReceipt(receipt, ring, { input: output, output });
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(report.statement?.predicate).toMatchObject({
      call: { id: reported.callId, door: 'mcp' },
      principal: 'agent:ada',
      tool: { id: 'palisade.echo' },
    });
    expect((await verifyReceipt(receipt, ring, { output: { message: 'else' } })).ok).toBe(false);
  });
});
