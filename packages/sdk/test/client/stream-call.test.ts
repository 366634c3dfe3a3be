import { describe, expect, test } from 'vitest';
import { type CallEvent, PalisadeError, toUtf8 } from '../../src/index.ts';
import { callDocument, makeClient, rejection } from './documents.ts';
import { breaksOff, type Came, hangsUp, isSilent, says, serve, streams } from './odd-server.ts';

const STARTED = ['started', { callId: 'call_1' }] as const;
const HELLO = ['output', { stream: 'stdout', text: 'hello\n' }] as const;
const ENDED = ['ended', callDocument()] as const;
const OPEN = [
  'ended',
  callDocument({ status: 'refused', code: 'door/call-open', callId: 'call_2' }),
] as const;
const DRAINING = says(503, { code: 'door/draining', detail: 'Cannot take the call: it is about to stop' });
const ASKED = { tool: 'math.add', input: { a: 1, b: 2 } };

function keysOf(came: readonly Came[]): unknown[] {
  return came.map(({ headers }) => headers['idempotency-key']);
}

async function collect(events: AsyncIterable<CallEvent>): Promise<CallEvent[]> {
  const all: CallEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('calls.run()', () => {
  test('sends the call with a key and the token, and gives its document', async () => {
    const { url, came } = await serve(streams([STARTED, HELLO, ENDED]));
    const { client } = makeClient({ url });
    expect(await client.calls.run(ASKED, { traceparent: '00-a-b-01' })).toEqual(callDocument());
    expect(came).toHaveLength(1);
    expect(came[0]).toMatchObject({ method: 'POST', path: '/v1/calls' });
    expect(JSON.parse(came[0]?.body ?? '')).toEqual(ASKED);
    expect(came[0]?.headers).toMatchObject({
      authorization: 'Bearer pls_test_secret',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/),
      traceparent: '00-a-b-01',
    });
  });

  test('understands a gateway that answers with the document alone', async () => {
    const { url } = await serve(says(200, callDocument()));
    expect(await makeClient({ url }).client.calls.run(ASKED)).toEqual(callDocument());
  });

  test.each([
    ['a connection that is hung up', hangsUp],
    ['a document that breaks off', breaksOff],
    ['a stream that breaks off before anything is told', streams([], 'broken')],
    ['a stream that ends before the call', streams([STARTED])],
    ['a gateway that drains', DRAINING],
    ['a proxy without a gateway', says(502, '<html>')],
    ['a call that is still open', streams([STARTED, OPEN])],
    ['a call that is still open, as a problem', says(409, { code: 'door/call-open', detail: 'It runs' })],
  ])('repeats the same call with the same key after %s', async (_, answer) => {
    const { url, came } = await serve(answer, answer, streams([STARTED, ENDED]));
    const { client, waits } = makeClient({ url });
    expect(await client.calls.run(ASKED)).toEqual(callDocument());
    expect(came.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(3).fill('POST /v1/calls'));
    expect(new Set(came.map(({ body }) => body)).size).toBe(1);
    expect(new Set(keysOf(came)).size).toBe(1);
    expect(waits).toHaveLength(2);
  });

  test('has another key for every call', async () => {
    const { url, came } = await serve(streams([STARTED, ENDED]));
    const { client } = makeClient({ url });
    await client.calls.run(ASKED);
    await client.calls.run(ASKED);
    await client.calls.run(ASKED, { idempotencyKey: 'mine-1' });
    expect(new Set(keysOf(came)).size).toBe(3);
    expect(keysOf(came)).toContain('mine-1');
  });

  test('repeats a call without a key never, whatever happens to it', async () => {
    for (const answer of [hangsUp, DRAINING, streams([STARTED], 'broken')]) {
      const { url, came } = await serve(answer);
      const error = await rejection(makeClient({ url }).client.calls.run(ASKED, { idempotencyKey: null }));
      expect(error).toBeInstanceOf(PalisadeError);
      expect(keysOf(came)).toEqual([undefined]);
    }
  });

  test('gives up after as many repeats as it may make, and waits longer each time', async () => {
    const { url, came } = await serve(hangsUp);
    const { client, waits } = makeClient({
      url,
      retries: 4,
      random: (count) => new Uint8Array(count).fill(255),
    });
    expect(await rejection(client.calls.run(ASKED))).toMatchObject({
      code: 'client/unreachable',
      status: null,
    });
    expect(came).toHaveLength(5);
    expect(waits).toEqual([200, 400, 800, 1600]);
  });

  test('waits for an open call for longer than it repeats failures', async () => {
    const { url, came } = await serve(...Array(12).fill(streams([STARTED, OPEN])), streams([STARTED, ENDED]));
    expect(await makeClient({ url, retries: 0 }).client.calls.run(ASKED)).toEqual(callDocument());
    expect(came).toHaveLength(13);
  });

  test('gives up on a call that stays open for longer than a call can run', async () => {
    const { url } = await serve(streams([STARTED, OPEN]));
    const { client, waits } = makeClient({ url });
    expect(await rejection(client.calls.run(ASKED))).toMatchObject({ code: 'door/call-open' });
    const waitedMs = waits.reduce((sum, ms) => sum + ms, 0);
    expect(waitedMs).toBeGreaterThan(60 * 60_000);
    expect(waitedMs).toBeLessThanOrEqual(61 * 60_000);
  });

  test.each([
    [
      'a refusal',
      { status: 'refused', code: 'policy/denied', message: 'No policy permits it', output: null },
    ],
    ['a failure with a passing status', { status: 'failed', code: 'tier/upstream-failed', output: 'half' }],
    ['a fault', { status: 'failed', code: 'gateway/fault', output: null }],
    ['a code that would pass elsewhere', { status: 'refused', code: 'door/draining', output: null }],
  ] as const)('throws how a call ended, and does not repeat it: %s', async (_, ending) => {
    const call = callDocument({ remedy: 'Do this.', truncated: true, ...ending });
    const { url, came } = await serve(streams([STARTED, ['ended', call]]));
    const error = await rejection(makeClient({ url }).client.calls.run(ASKED));
    expect(error).toBeInstanceOf(PalisadeError);
    expect(error).toMatchObject({
      ...{ code: ending.code, message: call.message, remedy: 'Do this.', callId: 'call_1' },
      ...{ output: ending.output, usage: call.usage, truncated: true },
    });
    expect(came).toHaveLength(1);
  });

  test('throws the request for approval with the refusal', async () => {
    const approval = { id: 'apr_1', expiresAt: '2026-01-01T00:00:00.000Z', approveWith: 'palisade …' };
    const { url } = await serve(
      says(403, { code: 'policy/approval-required', detail: 'Cannot call', callId: 'call_1', approval }),
    );
    const error = await rejection(makeClient({ url }).client.calls.run(ASKED));
    expect(error).toMatchObject({ status: 403, callId: 'call_1', approval });
  });

  test.each([
    ['no JSON in an event', '{'],
    ['nothing in an event', 'null'],
  ])('refuses a stream with %s', async (_, data) => {
    const { url } = await serve((_came, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`event: ended\ndata: ${data}\n\n`);
    });
    const error = await rejection(makeClient({ url }).client.calls.run(ASKED));
    expect(error).toMatchObject({ code: 'client/invalid-reply' });
  });
});

describe('calls.stream()', () => {
  test('yields what happens in its order, text and bytes, and gives the document', async () => {
    const raw = ['output', { stream: 'stderr', base64: '/wA=' }] as const;
    const { url } = await serve(streams([STARTED, HELLO, raw, ['unheard-of', { a: 1 }], ENDED]));
    const events = makeClient({ url }).client.calls.stream(ASKED);
    const yielded: CallEvent[] = [];
    for (;;) {
      const { done, value } = await events.next();
      if (done) {
        expect(value).toEqual(callDocument());
        break;
      }
      yielded.push(value);
    }
    expect(yielded).toEqual([
      { kind: 'started', callId: 'call_1' },
      { kind: 'output', stream: 'stdout', text: 'hello\n', bytes: toUtf8('hello\n') },
      { kind: 'output', stream: 'stderr', text: null, bytes: Uint8Array.of(255, 0) },
      { kind: 'ended', call: callDocument() },
    ]);
  });

  test('yields nothing twice when the stream breaks and the gateway repeats it', async () => {
    const { url, came } = await serve(
      streams([STARTED, HELLO], 'broken'),
      streams([STARTED, OPEN]),
      streams([STARTED, HELLO, ENDED]),
    );
    const events = await collect(makeClient({ url }).client.calls.stream(ASKED));
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'output', 'ended']);
    expect(came).toHaveLength(3);
  });

  test('yields the ending before it throws it', async () => {
    const failed = callDocument({ status: 'failed', code: 'tier/timeout' });
    const { url } = await serve(streams([STARTED, ['ended', failed]]));
    const kinds: string[] = [];
    const listening = (async () => {
      for await (const { kind } of makeClient({ url }).client.calls.stream(ASKED)) kinds.push(kind);
    })();
    expect(await rejection(listening)).toMatchObject({ code: 'tier/timeout' });
    expect(kinds).toEqual(['started', 'ended']);
  });
});

describe('a call that is no longer wanted', () => {
  const cancelled = says(200, { callId: 'call_1', cancelled: true });

  test('is closed and cancelled when its signal fires', async () => {
    const { url, came } = await serve(streams([STARTED, HELLO], 'never'), cancelled);
    const stop = new AbortController();
    const reason = new Error('no longer wanted');
    const listening = (async () => {
      for await (const { kind } of makeClient({ url }).client.calls.stream(ASKED, { signal: stop.signal }))
        if (kind === 'output') stop.abort(reason);
    })();
    expect(await rejection(listening)).toBe(reason);
    await came[0]?.gone;
    expect(came.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/calls',
      'POST /v1/calls/call_1/cancel',
    ]);
  });

  test('is closed and cancelled when its loop is left', async () => {
    const { url, came } = await serve(streams([STARTED], 'never'), cancelled);
    for await (const { kind } of makeClient({ url }).client.calls.stream(ASKED)) {
      expect(kind).toBe('started');
      break;
    }
    await came[0]?.gone;
    expect(came.at(-1)?.path).toBe('/v1/calls/call_1/cancel');
  });

  test('is not cancelled once it has ended, nor when only the way to it is lost', async () => {
    const ended = await serve(streams([STARTED, ENDED], 'never'), cancelled);
    for await (const { kind } of makeClient({ url: ended.url }).client.calls.stream(ASKED))
      if (kind === 'ended') break;
    expect(ended.came).toHaveLength(1);
    const lost = await serve(streams([STARTED], 'broken'));
    await rejection(makeClient({ url: lost.url, retries: 1 }).client.calls.run(ASKED));
    expect(lost.came.map(({ path }) => path)).toEqual(['/v1/calls', '/v1/calls']);
  });

  test('throws the reason of the signal even when cancelling fails', async () => {
    const { url } = await serve(streams([STARTED], 'never'), hangsUp);
    const stop = new AbortController();
    const listening = (async () => {
      for await (const _ of makeClient({ url }).client.calls.stream(ASKED, { signal: stop.signal }))
        stop.abort();
    })();
    expect(await rejection(listening)).toMatchObject({ name: 'AbortError' });
  });

  test('is not even sent when its signal has fired before', async () => {
    const { url, came } = await serve(isSilent);
    const error = await rejection(
      makeClient({ url }).client.calls.run(ASKED, { signal: AbortSignal.abort() }),
    );
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(came).toEqual([]);
  });

  test('is not repeated after its signal fired while it waited', async () => {
    const { url, came } = await serve(hangsUp);
    const stop = new AbortController();
    const { client } = makeClient({ url, wait: async () => stop.abort() });
    expect(await rejection(client.calls.run(ASKED, { signal: stop.signal }))).toMatchObject({
      name: 'AbortError',
    });
    expect(came).toHaveLength(1);
  });
});
