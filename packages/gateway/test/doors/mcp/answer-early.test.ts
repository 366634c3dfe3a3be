import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { answerEarly } from '../../../src/doors/mcp/answer-early.ts';
import { openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { CALLER, eventually, openMcp, RawClient } from './raw-client.ts';

const VERSION = '0.0.0';
const clientInfo = { name: 'raw', version: '1' };

function initialize(params: Json, id: Json = 1): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params })}\n`;
}

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};

function discover(_meta: Json, id = 'probe'): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method: 'server/discover', params: { _meta } })}\n`;
}

function open() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const answers = () => {
    const text: Buffer | null = stdout.read();
    return (text?.toString() ?? '').split('\n').filter((line) => line !== '');
  };
  return { stdin, stdout, answers, early: () => answerEarly(stdin, stdout, VERSION) };
}

describe('answerEarly', () => {
  it.each(['2025-11-25', '2025-06-18', '2024-11-05', 'of tomorrow'])(
    'answers a request of revision %s as the SDK does',
    async (protocolVersion) => {
      const { stdin, answers, early } = open();
      stdin.write(initialize({ protocolVersion, capabilities: { elicitation: {} }, clientInfo }, 1_000));
      expect(await early()).toBe(1_000);
      const client = new RawClient(openMcp(await openTestGateway({ policies: PERMIT_ALL })));
      expect(answers().map((line) => JSON.parse(line))).toEqual([
        await client.initialize({}, protocolVersion),
      ]);
    },
  );

  it('answers a client of the modern era as the SDK does, before it takes the server for an older one', async () => {
    const { stdin, stdout, answers, early } = open();
    stdin.write(
      discover({ ...MODERN, 'io.modelcontextprotocol/clientInfo': { ...clientInfo, title: 'Raw' } }),
    );
    const answered = await early();
    expect(answered).toBe('probe');
    const [answer] = answers().map((line) => JSON.parse(line));
    const mcp = openMcp(await openTestGateway({ policies: PERMIT_ALL }));
    const client = new RawClient(mcp);
    expect(answer.result).toEqual((await client.modern('server/discover')).result);
    const served = mcp.serveStdio({ stdin, stdout, answered }, CALLER, new AbortController().signal);
    stdin.write(discover(MODERN, 'again'));
    await eventually(() => answers().map((line) => JSON.parse(line).id)).toEqual(['again']);
    stdin.end();
    await served;
  });

  it('leaves the connection to the SDK, which answers everything else, and that request no second time', async () => {
    const { stdin, stdout, early } = open();
    const lines: string[] = [];
    stdin.write(initialize({ protocolVersion: '2025-11-25', capabilities: {}, clientInfo }, 'a'));
    stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":"b",');
    const answered = await early();
    stdout.on('data', (chunk: Buffer) => lines.push(...chunk.toString().trim().split('\n')));
    const mcp = openMcp(await openTestGateway({ policies: PERMIT_ALL }));
    const served = mcp.serveStdio({ stdin, stdout, answered }, CALLER, new AbortController().signal);
    stdin.write('"method":"tools/list"}\n');
    await eventually(() => lines.map((line) => JSON.parse(line).id)).toEqual(['a', 'b']);
    expect(JSON.parse(lines[1] ?? '').result.tools.length).toBeGreaterThan(0);
    stdin.end();
    await served;
    expect(lines).toHaveLength(2);
  });

  it.each([
    ['another request', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'],
    ['a discovery that names no revision', discover({})],
    [
      'a discovery of another revision',
      discover({ ...MODERN, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }),
    ],
    ['a discovery without a name', discover({ ...MODERN, 'io.modelcontextprotocol/clientInfo': {} })],
    [
      'a key twice',
      initialize({ protocolVersion: 'x', capabilities: {}, clientInfo }).replace('{', '{"id":2,'),
    ],
    ['no capabilities', initialize({ protocolVersion: 'x', clientInfo })],
    ['no name', initialize({ protocolVersion: 'x', capabilities: {}, clientInfo: { version: '1' } })],
    [
      'a capability of another form',
      initialize({ protocolVersion: 'x', capabilities: { a: 1 }, clientInfo }),
    ],
    ['no JSON', 'hello\n'],
    ['no whole line', '{"jsonrpc":'],
  ])('answers nothing to %s, and takes nothing away', async (_, text) => {
    const { stdin, answers, early } = open();
    stdin.write(text);
    expect(await early()).toBeNull();
    expect(answers()).toEqual([]);
    stdin.end();
    const left = [];
    for await (const chunk of stdin) left.push(chunk);
    expect(Buffer.concat(left).toString()).toBe(text);
  });

  it('does not wait for a client that says nothing, or has gone', async () => {
    const silent = open();
    expect(await silent.early()).toBeNull();
    const { stdin, stdout, early } = open();
    stdin.end();
    expect(await early()).toBeNull();
    const mcp = openMcp(await openTestGateway({ policies: PERMIT_ALL }));
    await mcp.serveStdio({ stdin, stdout }, CALLER, new AbortController().signal);
  });
});
