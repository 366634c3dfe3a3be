import { describe, expect, test } from 'vitest';
import { makeClient, rejection } from './documents.ts';
import { type Answer, hangsUp, isSilent, says, serve } from './odd-server.ts';

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const tool = (id: string) => ({ id, description: '', risk: 'low', tier: 'builtin' });

describe('tools.all()', () => {
  test('goes through all pages, and asks for the next one only when it is wanted', async () => {
    const { url, came } = await serve(
      says(200, { tools: [tool('a'), tool('b')], cursor: 'b' }),
      says(200, { tools: [], cursor: 'b+' }),
      says(200, { tools: [tool('c')], cursor: null }),
    );
    const { client } = makeClient({ url });
    for await (const { id } of client.tools.all({ limit: 2 })) if (id === 'b') break;
    expect(came).toHaveLength(1);
    came.length = 0;
    const ids = (await collect(client.tools.all({ limit: 2 }))).map(({ id }) => id);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(came.map(({ path }) => path)).toEqual([
      '/v1/tools?limit=2',
      '/v1/tools?limit=2&cursor=b',
      '/v1/tools?limit=2&cursor=b%2B',
    ]);
  });

  test('begins at the requested record', async () => {
    const { url, came } = await serve(says(200, { tools: [], cursor: null }));
    await collect(makeClient({ url }).client.tools.all({ cursor: 'm' }));
    expect(came.map(({ path }) => path)).toEqual(['/v1/tools?cursor=m']);
  });

  test('ends at a page that points to itself', async () => {
    const { url, came } = await serve(says(200, { tools: [tool('a')], cursor: 'a' }));
    expect(await collect(makeClient({ url }).client.tools.all())).toHaveLength(2);
    expect(came).toHaveLength(2);
  });
});

describe('journal.live()', () => {
  const records = (from: number, to: number, ends: 'well' | 'broken' | 'never'): Answer => {
    const seqs = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    return (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = seqs.map((seq) => `event: record\nid: ${seq}\ndata: {"seq":${seq}}\n\n`).join('');
      response.write(text, () => {
        if (ends === 'well') response.end();
        if (ends === 'broken') response.destroy();
      });
    };
  };

  test('continues after the last record after a break, and yields none twice', async () => {
    const { url, came } = await serve(
      records(3, 5, 'broken'),
      hangsUp,
      records(4, 6, 'well'),
      records(7, 8, 'never'),
    );
    const { client, waits } = makeClient({ url, retries: 2 });
    const seqs: number[] = [];
    for await (const { seq } of client.journal.live({ after: 2 })) {
      seqs.push(seq);
      if (seq === 8) break;
    }
    expect(seqs).toEqual([3, 4, 5, 6, 7, 8]);
    expect(came.map(({ headers }) => headers['last-event-id'])).toEqual(['2', '5', '5', '6']);
    expect(waits).toHaveLength(3);
    await came.at(-1)?.gone;
  });

  test('throws when the gateway cannot be had again', async () => {
    const { url, came } = await serve(records(1, 1, 'broken'), hangsUp);
    const error = await rejection(collect(makeClient({ url, retries: 2 }).client.journal.live()));
    expect(error).toMatchObject({ code: 'client/unreachable' });
    expect(came).toHaveLength(3);
    expect(came[0]?.headers['last-event-id']).toBeUndefined();
  });

  test('throws what the gateway refuses, at once', async () => {
    const { url, came } = await serve(says(403, { code: 'door/insufficient-scope', detail: 'Cannot read' }));
    const error = await rejection(collect(makeClient({ url }).client.journal.live()));
    expect(error).toMatchObject({ code: 'door/insufficient-scope' });
    expect(came).toHaveLength(1);
  });

  test('ends with the reason of its signal', async () => {
    const { url, came } = await serve(records(1, 1, 'never'));
    const stop = new AbortController();
    const following = (async () => {
      for await (const _ of makeClient({ url }).client.journal.live({ signal: stop.signal }))
        stop.abort('enough');
    })();
    expect(await rejection(following)).toBe('enough');
    await came[0]?.gone;
  });
});

describe('journal.export()', () => {
  test('gives the bytes as they come, and lets go of them early', async () => {
    const { url, came } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write('{"a":1}\n');
    });
    const { client } = makeClient({ url });
    for await (const chunk of client.journal.export({ from: 3 })) {
      expect(Buffer.from(chunk).toString()).toBe('{"a":1}\n');
      break;
    }
    expect(came[0]?.path).toBe('/v1/journal/export?from=3');
    await came[0]?.gone;
  });

  test('says so when the bytes break off, and does not begin anew by itself', async () => {
    const { url, came } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write('{"a":1}\n', () => response.destroy());
    });
    const error = await rejection(collect(makeClient({ url }).client.journal.export()));
    expect(error).toMatchObject({ code: 'client/unreachable' });
    expect(came).toHaveLength(1);
  });
});

describe('health', () => {
  test.each([
    ['ready', says(200, { status: 'ready' }), true],
    ['draining', says(503, { code: 'door/draining', detail: 'x' }), false],
    ['not there', hangsUp, false],
  ])('says whether a gateway takes calls that is %s, and asks once', async (_, answer, isReady) => {
    const { url, came } = await serve(answer);
    const { client } = makeClient({ url });
    expect(await client.health.ready()).toBe(isReady);
    expect(await client.health.live()).toBe(isReady);
    expect(came.map(({ path }) => path)).toEqual(['/readyz', '/healthz']);
  });

  test('reports that a gateway without an answer is not live', async () => {
    const { url } = await serve(isSilent);
    expect(await makeClient({ url }).client.health.live({ timeoutMs: 10 })).toBe(false);
  });
});
