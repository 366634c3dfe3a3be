import { describe, expect, test } from 'vitest';
import { PalisadeClient, PalisadeError } from '../../src/index.ts';
import { makeClient, rejection } from './documents.ts';
import { breaksOff, hangsUp, says, serve } from './odd-server.ts';

const TOOLS = says(200, { tools: [], cursor: null });
const LIMITED = { code: 'door/rate-limited', detail: 'Cannot take it: too many', title: 'Too many.' };

/** A fetch that remembers what it was asked and answers with one response. */
function remember(answer: () => Response) {
  const asked: { url: URL; init: RequestInit }[] = [];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    asked.push({ url: new URL(String(url)), init });
    return answer();
  };
  return { asked, fetch: fetch as typeof globalThis.fetch };
}

describe('a request', () => {
  test('goes to the gateway alone: no redirect, no cookie, no referrer, no token in the address', async () => {
    const { asked, fetch } = remember(() => Response.json({ tools: [], cursor: null }));
    const { client } = makeClient({ url: 'https://gate.example/palisade/', fetch });
    await client.tools.list({ limit: 5 });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.url.href).toBe('https://gate.example/palisade/v1/tools?limit=5');
    expect(asked[0]?.init).toMatchObject({
      redirect: 'error',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    });
    expect(new Headers(asked[0]?.init.headers).get('authorization')).toBe('Bearer pls_test_secret');
  });

  test('takes its token nowhere else when the gateway redirects', async () => {
    const elsewhere = await serve(TOOLS);
    const { url } = await serve((_, response) => {
      response.writeHead(307, { location: `${elsewhere.url}/v1/tools` });
      response.end();
    });
    const error = await rejection(makeClient({ url, retries: 0 }).client.tools.list());
    expect(error).toMatchObject({ code: 'client/unreachable' });
    expect(elsewhere.came).toEqual([]);
    await makeClient({ url: elsewhere.url }).client.tools.list();
    expect(elsewhere.came).toHaveLength(1);
  });

  test.each([
    ['a/b', 'a%2Fb'],
    ['../../healthz', '..%2F..%2Fhealthz'],
    ['a?b#c', 'a%3Fb%23c'],
    ['%2e%2e', '%252e%252e'],
    ['ä b\n', '%C3%A4%20b%0A'],
    ['a;b=c', 'a%3Bb%3Dc'],
  ])('keeps %j one part of its path', async (id, encoded) => {
    const { url, came } = await serve(says(200, {}));
    await makeClient({ url }).client.tools.get(id);
    expect(came[0]?.path).toBe(`/v1/tools/${encoded}`);
  });

  test.each(['', '.', '..', '\uD800'])('is not sent for %j, which names nothing', async (id) => {
    const { url, came } = await serve(says(200, {}));
    await expect(makeClient({ url }).client.tools.get(id)).rejects.toThrow(TypeError);
    expect(came).toEqual([]);
  });

  test('sends what is asked for and leaves out what is not', async () => {
    const { url, came } = await serve(says(200, { calls: [], cursor: null }));
    await makeClient({ url }).client.calls.list({ state: 'ended', run: 'a b&c', cursor: undefined });
    expect(came[0]?.path).toBe('/v1/calls?state=ended&run=a+b%26c');
  });

  test('asks a function for its token each time', async () => {
    const { url, came } = await serve(TOOLS);
    const tokens = ['first', 'second'];
    const { client } = makeClient({ url, token: async () => tokens.shift() ?? 'none' });
    await client.tools.list();
    await client.tools.list();
    expect(came.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  });

  test('sends bytes as they are', async () => {
    const { url, came } = await serve(says(201, {}));
    const { client } = makeClient({ url });
    await client.skills.install(Buffer.from('PK bytes'), { allowDowngrade: true });
    await client.secrets.set('api-key', 'välue', { scope: 'tenant:t' });
    expect(came).toMatchObject([
      { method: 'POST', path: '/v1/skills?allowDowngrade=true', body: 'PK bytes' },
      { method: 'PUT', path: '/v1/secrets/api-key?scope=tenant%3At', body: 'välue' },
    ]);
    for (const { headers } of came) expect(headers['content-type']).toBe('application/octet-stream');
  });
});

describe('new PalisadeClient()', () => {
  const url = 'http://127.0.0.1:1';

  test.each([
    ['a url that is none', { url: 'gate' }],
    ['a url of another kind', { url: 'file:///etc/passwd' }],
    ['a url with a password', { url: 'https://user:secret@gate.example' }],
    ['a url with a query', { url: 'https://gate.example/?token=x' }],
    ['a token with a line break', { url, token: 'secret\r\nx-evil: 1' }],
    ['an empty token', { url, token: '' }],
    ['retries that are no count', { url, retries: -1 }],
    ['a time that is no number', { url, timeoutMs: Number.NaN }],
  ])('refuses %s, and reveals no secret', (_, options) => {
    const make = () => new PalisadeClient({ token: 'pls_a', ...options });
    expect(make).toThrow(/^Cannot use /);
    expect(make).not.toThrow(/secret/);
  });

  test('refuses an invalid token of a function, and reveals no secret', async () => {
    const { came, url: at } = await serve(TOOLS);
    const error = await rejection(makeClient({ url: at, token: () => 'secret\nb' }).client.tools.list());
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain('secret');
    expect(came).toEqual([]);
  });
});

describe('what did not go well', () => {
  test('is thrown with everything that the gateway reports', async () => {
    const problem = {
      ...{ type: 'urn:palisade:code:registry/unknown-tool', title: 'No such tool.', status: 404 },
      ...{ code: 'registry/unknown-tool', detail: 'Cannot show "x": no such tool', remedy: 'List them.' },
      more: [1],
    };
    const { url, came } = await serve(says(404, problem));
    const error = await rejection(makeClient({ url }).client.tools.get('x'));
    expect(error).toBeInstanceOf(PalisadeError);
    expect(error).toMatchObject({
      ...{ name: 'PalisadeError', code: problem.code, status: 404, message: problem.detail },
      ...{ detail: problem.detail, remedy: 'List them.', callId: null, output: null, receipt: null, problem },
    });
    expect(came).toHaveLength(1);
  });

  test.each([
    ['a page of a proxy', 404, 'text/html', '<h1>nginx</h1>'],
    ['nothing', 500, '', ''],
    ['JSON of something else', 400, 'application/json', '{"error":"nope"}'],
    ['JSON that is no object', 418, 'application/json', '["code"]'],
    ['a code that is no text', 400, 'application/problem+json', '{"code":{"toString":1}}'],
  ])('is thrown for an answer that is not of a gateway: %s', async (_, status, type, body) => {
    const { fetch } = remember(
      () => new Response(body, { status, headers: type ? { 'content-type': type } : {} }),
    );
    const error = await rejection(makeClient({ url: 'http://gate.example', fetch }).client.whoami());
    expect(error).toMatchObject({ code: 'client/invalid-reply', status });
    expect(String(error)).toMatch(
      /^PalisadeError: Cannot read the reply: it is status \d+ with .+, expected /,
    );
  });

  test.each(['', '<html>', '{"tools": ['])('is thrown for a reply that is not JSON: %j', async (body) => {
    const { fetch } = remember(() => new Response(body));
    const error = await rejection(makeClient({ url: 'http://gate.example', fetch }).client.tools.list());
    expect(error).toMatchObject({ code: 'client/invalid-reply' });
  });

  test('is thrown when no data arrives for too long, and repeated', async () => {
    let asked = 0;
    const fetch = ((_url, init) => {
      asked += 1;
      return new Promise((_, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
      );
    }) as typeof globalThis.fetch;
    const { client } = makeClient({ url: 'http://gate.example', fetch, retries: 2, timeoutMs: 5 });
    expect(await rejection(client.tools.list())).toMatchObject({ code: 'client/timed-out', status: null });
    expect(asked).toBe(3);
  });

  test('is thrown when a reply is truncated', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"tools"');
    });
    const error = await rejection(makeClient({ url, retries: 0 }).client.tools.list({}, { timeoutMs: 30 }));
    expect(error).toMatchObject({ code: 'client/timed-out' });
  });

  test('is the reason of the signal when it fires while an answer is waited for', async () => {
    const reason = new Error('stop');
    const stop = new AbortController();
    const { url } = await serve(() => stop.abort(reason));
    expect(await rejection(makeClient({ url }).client.keys.rotate({ signal: stop.signal }))).toBe(reason);
  });

  test('is the reason of the signal when it fires while the answer is read', async () => {
    const reason = new Error('stop');
    const stop = new AbortController();
    // It says nothing and never ends, and knows of no signal.
    const body = new ReadableStream({ pull: () => stop.abort(reason) }, { highWaterMark: 0 });
    const { fetch } = remember(() => new Response(body));
    const { client } = makeClient({ url: 'http://gate.example', fetch });
    expect(await rejection(client.keys.rotate({ signal: stop.signal }))).toBe(reason);
  });
});

describe('a repeat', () => {
  test.each([
    ['hung up', hangsUp],
    ['broken off', breaksOff],
    ['limited', says(429, LIMITED)],
    ['bad gateway', says(502, 'x')],
    ['unavailable', says(503, { code: 'door/draining', detail: 'x' })],
    ['gateway timeout', says(504, 'x')],
  ])('is made for a look that was %s', async (_, answer) => {
    const { url, came } = await serve(answer, answer, TOOLS);
    const { client, waits } = makeClient({ url });
    expect(await client.tools.list()).toEqual({ tools: [], cursor: null });
    expect(came).toHaveLength(3);
    expect(waits).toHaveLength(2);
  });

  test.each([
    ['refused for good', says(403, { code: 'policy/denied', detail: 'x' })],
    ['a fault', says(500, { code: 'gateway/fault', detail: 'x' })],
    ['not found by something else', says(404, 'x')],
    ['how a call ended, whatever its status', says(429, { code: 'budget/calls-exhausted', detail: 'x' })],
  ])('is not made for what is %s', async (_, answer) => {
    const { url, came } = await serve(answer);
    await rejection(makeClient({ url }).client.tools.list());
    expect(came).toHaveLength(1);
  });

  test('is never made for a change', async () => {
    const changes: readonly ((client: PalisadeClient) => Promise<unknown>)[] = [
      (client) => client.approvals.approve('apr_1'),
      (client) => client.skills.install(Uint8Array.of(1)),
      (client) => client.skills.remove('acme.text'),
      (client) => client.policies.replace({ files: {}, ifDigest: 'x' }),
      (client) => client.secrets.set('a', 'b'),
      (client) => client.secrets.remove('a'),
      (client) => client.tokens.create({ principal: 'agent:a' }),
      (client) => client.keys.rotate(),
    ];
    for (const change of changes) {
      for (const answer of [hangsUp, says(503, { code: 'door/draining', detail: 'x' })]) {
        const { url, came } = await serve(answer);
        await rejection(change(makeClient({ url }).client));
        expect(came).toHaveLength(1);
      }
    }
  });

  test('waits for as long as it is asked to, by seconds or by the clock of the gateway', async () => {
    const date = 'Sun, 06 Nov 2044 08:49:37 GMT';
    const { url } = await serve(
      says(429, LIMITED, { 'retry-after': '7' }),
      says(503, LIMITED, { 'retry-after': 'Sun, 06 Nov 2044 08:49:46 GMT', date }),
      says(503, LIMITED, { 'retry-after': 'soon' }),
      TOOLS,
    );
    const { client, waits } = makeClient({ url, random: (count) => new Uint8Array(count) });
    await client.tools.list();
    expect(waits).toEqual([7_000, 9_000, 400]);
  });

  test('is not made when the wait is longer than anybody wants', async () => {
    const { url, came } = await serve(says(429, LIMITED, { 'retry-after': '3600' }));
    const error = await rejection(makeClient({ url }).client.tools.list());
    expect(error).toMatchObject({ code: 'door/rate-limited', retryAfterMs: 3_600_000 });
    expect(came).toHaveLength(1);
  });

  test('waits between half and the whole of a time that doubles, by chance', async () => {
    const spread = async (byte: number) => {
      const { url } = await serve(hangsUp);
      const made = makeClient({ url, retries: 9, random: (count) => new Uint8Array(count).fill(byte) });
      await rejection(made.client.tools.list());
      return made.waits;
    };
    expect(await spread(255)).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
    expect(await spread(0)).toEqual([100, 200, 400, 800, 1600, 3200, 5_000, 5_000, 5_000]);
  });
});
