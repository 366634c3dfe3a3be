import { PalisadeClient } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { bind, schemaOf } from '../../../src/doors/http/binding.ts';
import { OPERATIONS } from '../../../src/operations/all.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { REQUESTS } from './client-requests.ts';
import { SAMPLES } from './wire-samples.ts';

const DOCUMENTS = OPERATIONS.flatMap(({ name, output: { schema } }) =>
  schema === undefined ? [] : [{ name, schema }],
);

describe('every document', () => {
  test.each(DOCUMENTS)('of $name has all members that its schema has, and no others', ({ name, schema }) => {
    const samples: Readonly<Record<string, unknown>> = SAMPLES;
    const sample = samples[name];
    expect(schema.parse(sample)).toEqual(sample);
    const members = Array.isArray(sample) ? [] : Object.entries(sample ?? {});
    for (const [member] of members) {
      const rest = Object.fromEntries(members.filter(([other]) => other !== member));
      expect(schema.safeParse(rest), `without ${member}`).toMatchObject({ success: false });
    }
  });

  test('of the client is one that a route gives', () => {
    expect(Object.keys(SAMPLES).sort()).toEqual([...new Set(DOCUMENTS.map(({ name }) => name))].sort());
  });
});

/** What the client sends for a row, and what it makes of the answer. */
async function request(row: Operation) {
  const sent: Request[] = [];
  const fetch = (async (url: URL, init: RequestInit) => {
    if (sent.length > 0) throw new TypeError('it was asked once');
    sent.push(new Request(url, init));
    return answerFor(row);
  }) as typeof globalThis.fetch;
  const wait = () => Promise.reject(new Error('it does not wait'));
  const client = new PalisadeClient({ url: 'http://gate.example', token: 'pls_test', fetch, wait });
  const requested = REQUESTS[row.name]?.(client);
  const given =
    requested !== undefined && Symbol.asyncIterator in requested ? await firstOf(requested) : await requested;
  const [only] = sent;
  if (only === undefined) throw new Error(`The client sends nothing for ${row.name}`);
  return { sent: only, given };
}

function answerFor({ name, output }: Operation): Response {
  const samples: Readonly<Record<string, unknown>> = SAMPLES;
  if (Object.hasOwn(samples, name)) return Response.json(samples[name]);
  const isStream = output.type === 'text/event-stream';
  const event = name === 'listenToChannel' ? 'message' : 'record';
  const body = isStream ? `event: ${event}\nid: 4\ndata: {"seq":4}\n\n` : 'bytes';
  return new Response(body, { headers: { 'content-type': output.type ?? '' } });
}

async function firstOf(items: AsyncIterable<unknown>): Promise<unknown> {
  for await (const item of items) return item;
  return undefined;
}

const STANDARD_HEADERS = ['accept', 'authorization', 'content-type'];

describe('PalisadeClient', () => {
  test('has a method for every route, and none for what is not there', () => {
    expect(Object.keys(REQUESTS).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
  });

  test.each(OPERATIONS.map((row) => [row.name, row] as const))(
    'sends %s as its route takes it',
    async (_, row) => {
      const { sent } = await request(row);
      const binding = bind(row);
      const { method, path } = row.http;
      const url = new URL(sent.url);
      const pattern = path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
      const found = new RegExp(`^${pattern}$`).exec(url.pathname);
      expect(`${sent.method} ${url.pathname}`).toMatch(new RegExp(`^${method} ${pattern}$`));
      const params = Object.entries(found?.groups ?? {}).map(([name, raw]) => [
        name,
        decodeURIComponent(raw),
      ]);
      schemaOf(binding, binding.path).parse(Object.fromEntries(params));
      const query = Object.fromEntries(url.searchParams);
      expect(Object.keys(query).sort(), 'all that the route can be asked').toEqual([...binding.query].sort());
      schemaOf(binding, binding.query).parse(query);
      const extra = [...sent.headers.keys()].filter((name) => !STANDARD_HEADERS.includes(name));
      expect(Object.keys(row.http.headers ?? {})).toEqual(expect.arrayContaining(extra));
    },
  );

  const withBody = OPERATIONS.filter((row) => row.http.bytes !== undefined || bind(row).body !== null);
  test.each(withBody.map((row) => [row.name, row] as const))(
    'sends a body with %s that its route takes',
    async (_, row) => {
      const { sent } = await request(row);
      const isBytes = row.http.bytes !== undefined;
      expect(sent.headers.get('content-type')).toBe(`application/${isBytes ? 'octet-stream' : 'json'}`);
      if (isBytes) return expect((await sent.arrayBuffer()).byteLength).toBeGreaterThan(0);
      const value: unknown = await sent.json();
      const binding = bind(row);
      expect(schemaOf(binding, binding.body ?? []).parse(value)).toEqual(value);
    },
  );

  const withoutBody = OPERATIONS.filter((row) => !withBody.includes(row));
  test.each(withoutBody.map((row) => [row.name, row] as const))('sends no body with %s', async (_, row) => {
    const { sent } = await request(row);
    expect(sent.body).toBeNull();
    expect(sent.headers.has('content-type')).toBe(false);
  });
});
