import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMessage } from '../../../src/doors/mcp/message.ts';
import { openTestGateway } from '../../fixture/gateway.ts';
import { envelope, type Message, openMcp, RawClient } from './raw-client.ts';

const LIMITS = { maxBytes: 10_000, maxDepth: 20 };

describe('a line that is no message', () => {
  const CASES: readonly [string, string, number, unknown][] = [
    ['no JSON at all', 'hello', -32_700, null],
    ['JSON that is cut off', '{"jsonrpc":"2.0","id":7,', -32_700, null],
    ['a key that occurs twice', '{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}', -32_700, 7],
    [
      'a number that would change',
      '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":12345678901234567890}}',
      -32_700,
      7,
    ],
    [
      'a key that would set a prototype',
      '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"__proto__":{}}}',
      -32_700,
      7,
    ],
    ['a batch', '[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32_600, null],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32_600, 7],
    ['no version', '{"id":7,"method":"ping"}', -32_600, 7],
    ['a text', '"ping"', -32_600, null],
    ['parameters that are a list', '{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32_600, 7],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600, null],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600, null],
    ['a method and a result', '{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}', -32_600, 7],
  ];

  it('is answered with what is wrong, and the connection goes on', async () => {
    const client = new RawClient(openMcp(await openTestGateway()));
    await client.initialize();
    for (const [what, line, code, id] of CASES) {
      const before = client.messages.length;
      client.write(`${line}\n`);
      const answer = await client.next((message) => client.messages.indexOf(message) >= before);
      expect({ what, code: answer.error?.code, id: answer.id }).toEqual({ what, code, id });
      const ping = await client.request('ping');
      expect(ping.result).toEqual({});
    }
  });

  it('is refused and skipped where it is longer than any message, whatever comes in between', async () => {
    const gateway = await openTestGateway({ toml: '[http]\nmax_body_bytes = 4096\n' });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    const filler = 'x'.repeat(3_000);
    for (let i = 0; i < 100; i++) client.write(filler);
    client.write('\n');
    const refusal = await client.next((message) => message.error !== undefined);
    expect(refusal).toMatchObject({ id: null, error: { code: -32_600 } });
    expect((await client.request('ping')).result).toEqual({});
    expect(client.messages.filter(({ error }: Message) => error !== undefined)).toHaveLength(1);
  });

  it('is refused where the bytes are not UTF-8', async () => {
    const client = new RawClient(openMcp(await openTestGateway()));
    client.stdin.write(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
    const refusal = await client.next((message) => message.error !== undefined);
    expect(refusal.error.code).toBe(-32_700);
  });
});

describe('a request that cannot be served', () => {
  const CASES: readonly [string, string, Message, number][] = [
    ['an unknown method', 'tools/steal', {}, -32_601],
    ['a method of no era', 'constructor', {}, -32_601],
    ['a call without a name', 'tools/call', { arguments: {} }, -32_602],
    ['a call whose arguments are a list', 'tools/call', { name: 'palisade.echo', arguments: [1] }, -32_602],
    ['a call whose name is a number', 'tools/call', { name: 7 }, -32_602],
    ['a cursor that is not ours', 'tools/list', { cursor: 'AAAA' }, -32_602],
    ['a cursor that is a number', 'tools/list', { cursor: 1 }, -32_602],
    ['a cursor of calls that is not ours', 'resources/list', { cursor: "x' or 1=1" }, -32_602],
    ['a resource of another scheme', 'resources/read', { uri: 'file:///etc/passwd' }, -32_602],
    [
      'a resource outside of the calls',
      'resources/read',
      { uri: 'palisade://calls/../keys/receipt' },
      -32_602,
    ],
    ['a prompt that is not there', 'prompts/get', { name: 'toString' }, -32_602],
    ['a prompt without its argument', 'prompts/get', { name: 'explain-refusal' }, -32_602],
    [
      'a prompt about the call of nobody',
      'prompts/get',
      { name: 'explain-refusal', arguments: { call: 'call_x' } },
      -32_602,
    ],
  ];

  it.each(['legacy', 'modern'] as const)('has its error of the protocol (%s)', async (era) => {
    const client = new RawClient(openMcp(await openTestGateway()));
    if (era === 'legacy') await client.initialize();
    for (const [what, method, params, code] of CASES) {
      const answer =
        era === 'legacy' ? await client.request(method, params) : await client.modern(method, params);
      expect({ what, code: answer.error?.code }).toEqual({ what, code });
    }
  });

  it('is refused where its id is in use', async () => {
    const client = new RawClient(openMcp(await openTestGateway()));
    await client.initialize();
    const call = { name: 'palisade.sleep', arguments: { ms: 5_000 } };
    client.send({ jsonrpc: '2.0', id: 'one', method: 'tools/call', params: call });
    client.send({ jsonrpc: '2.0', id: 'one', method: 'ping' });
    const answer = await client.next((message) => message.id === 'one');
    expect(answer.error.code).toBe(-32_600);
  });
});

describe('a revision of the protocol', () => {
  it('is answered with those that are served where it is of the modern era and unknown', async () => {
    const client = new RawClient(openMcp(await openTestGateway()));
    const _meta = { ...envelope(), 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const answer = await client.request('tools/list', { _meta });
    expect(answer.error).toMatchObject({ code: -32_022, data: { supported: ['2026-07-28'] } });
    const served = await client.modern('tools/list');
    expect(served.result.resultType).toBe('complete');
  });

  it.each([
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
  ])('%s is answered with %s at initialize', async (asked, given) => {
    const client = new RawClient(openMcp(await openTestGateway()));
    const answer = await client.initialize({}, asked);
    expect(answer.result.protocolVersion).toBe(given);
  });

  it('has its envelope on every request of the modern era', async () => {
    const client = new RawClient(openMcp(await openTestGateway()));
    await client.modern('tools/list');
    const bare = await client.request('tools/list');
    expect(bare.error.code).toBe(-32_602);
  });
});

describe('readMessage()', () => {
  it('gives a message or an error of JSON-RPC for any bytes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json().map(Buffer.from)), (bytes) => {
        const read = readMessage(bytes, LIMITS);
        const shown = read.ok ? read.value : read.problem;
        expect(shown.jsonrpc).toBe('2.0');
      }),
    );
  });
});
