import { register } from 'node:module';
import { PassThrough } from 'node:stream';
import type { Client, ClientOptions, JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Mcp } from '../../../src/doors/mcp/index.ts';
import { bodyOf, makeTool, openTestGateway, PERMIT_ALL, recordsOf } from '../../fixture/gateway.ts';
import { listen } from './http-client.ts';
import { CALLER, eventually, type Message, openMcp } from './raw-client.ts';

/*
 * The public client of the protocol, in both of its modes, over both ways in. Packages of it have their sources under the
 * condition by which tests find ours; Node cannot run those, so they are resolved without it.
 */
const HOOK = `export const resolve = (name, context, next) =>
  next(name, name.startsWith('eventsource') ? { ...context, conditions: ['node', 'import'] } : context);`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
const official = await import('@modelcontextprotocol/client');

/** The client's end of two streams. */
class StreamTransport implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #stdin = new PassThrough();
  readonly #stdout = new PassThrough();
  readonly #mcp: Mcp;
  #text = '';

  constructor(mcp: Mcp) {
    this.#mcp = mcp;
  }

  async start(): Promise<void> {
    this.#stdout.on('data', (chunk: Buffer) => {
      const lines = (this.#text + chunk.toString()).split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) this.onmessage?.(JSON.parse(line));
    });
    const streams = { stdin: this.#stdin, stdout: this.#stdout };
    const served = this.#mcp.serveStdio(streams, CALLER, new AbortController().signal);
    void served.then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#stdin.end();
  }
}

type Way = 'streams' | 'http';
type Mode = 'legacy' | 'auto';
const WAYS: readonly [Way, Mode][] = [
  ['streams', 'legacy'],
  ['streams', 'auto'],
  ['http', 'legacy'],
  ['http', 'auto'],
];

async function connect(mcp: Mcp, [way, mode]: [Way, Mode], options: ClientOptions = {}): Promise<Client> {
  const client = new official.Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, capabilities: {}, ...options },
  );
  const transport =
    way === 'streams'
      ? new StreamTransport(mcp)
      : new official.StreamableHTTPClientTransport(await listen(mcp));
  onTestFinished(() => client.close());
  await client.connect(transport as Transport);
  return client;
}

const STRICT = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
};

describe.each(WAYS)('the official client over %s in mode %s', (way, mode) => {
  it('lists, calls, reads, and gets failures as results that fit the schemas that were listed', async () => {
    const tools = [
      makeTool('a.count', async () => ({ n: 1 }), { outputSchema: STRICT }),
      makeTool('a.list', async () => [1, 2], { outputSchema: { type: 'array', items: { type: 'integer' } } }),
      makeTool('a.refs', async () => ({ n: 1 }), {
        outputSchema: {
          type: 'object',
          properties: { n: { $ref: '#/$defs/n' } },
          $defs: { n: { type: 'integer' } },
        },
      }),
      makeTool('a.wrong', async () => ({ m: 1 }), { outputSchema: STRICT }),
    ];
    const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
    const client = await connect(openMcp(gateway), [way, mode]);
    expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toContain('a__count');
    const counted = await client.callTool({ name: 'a__count', arguments: {} });
    expect(counted.structuredContent).toEqual({ n: 1 });
    const list = await client.callTool({ name: 'a__list', arguments: {} });
    expect(list.structuredContent).toEqual(mode === 'auto' ? [1, 2] : { result: [1, 2] });
    expect((await client.callTool({ name: 'a.refs', arguments: {} })).isError).toBeUndefined();
    const wrong = await client.callTool({ name: 'a.wrong', arguments: {} });
    expect(wrong).toMatchObject({ isError: true, structuredContent: { status: 'failed' } });
    await expect(client.callTool({ name: 'a.nothing', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    const { resources } = await client.listResources();
    const [first] = resources;
    const read = await client.readResource({ uri: first?.uri ?? '' });
    expect(read.contents).toHaveLength(1);
    expect((await client.listPrompts()).prompts).toHaveLength(2);
  });

  it('asks its user for an approval, and the call runs', async () => {
    const policies =
      '@id("a") permit(principal, action == Action::"call", resource) when { context.approved };\n@id("b") permit(principal is User, action == Action::"approve", resource);\n';
    const gateway = await openTestGateway({ policies, toml: '[mcp]\nelicitation = "on"\n' });
    const client = await connect(openMcp(gateway), [way, mode], {
      capabilities: { elicitation: { form: {} } },
    });
    const questions: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params.message);
      return { action: 'accept', content: { decision: 'approve' } };
    });
    const result = await client.callTool({ name: 'palisade.echo', arguments: { message: 'please' } });
    expect(result).toMatchObject({ structuredContent: { message: 'please' } });
    expect(questions).toHaveLength(1);
    expect(recordsOf(gateway).map(({ kind }) => kind)).toContain('approval-decided');
  });

  it('cancels a call, which is recorded', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = await connect(openMcp(gateway), [way, mode]);
    const stop = new AbortController();
    const call = { name: 'palisade.sleep', arguments: { ms: 600_000 } };
    const requested = client.callTool(call, { signal: stop.signal });
    await eventually(() => gateway.running.size).toBe(1);
    stop.abort();
    await expect(requested).rejects.toThrow();
    const codes = () =>
      recordsOf(gateway)
        .filter(({ kind }) => kind === 'ended')
        .map((row) => bodyOf(row).code);
    await eventually(codes).toEqual(['tier/cancelled']);
  });

  it('hears of progress', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = await connect(openMcp(gateway), [way, mode]);
    const steps: number[] = [];
    const call = { name: 'palisade.sleep', arguments: { ms: 1_500 } };
    const onprogress = ({ progress }: Message) => void steps.push(progress);
    await client.callTool(call, { onprogress });
    expect(steps.length).toBeGreaterThanOrEqual(1);
  });
});
