import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import type { Tool } from '../../packages/gateway/src/core/tool.ts';
import { skillTools } from '../../packages/gateway/src/registry/skill-tool.ts';
import { narrowGrant } from '../../packages/gateway/src/skills/grant.ts';
import { openPackage } from '../../packages/gateway/src/skills/package/open-package.ts';
import { packSkill } from '../../packages/gateway/src/skills/package/pack.ts';
import type { Entries } from '../../packages/gateway/src/skills/package/skill-package.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { type Standing, sharedServers } from '../fixtures/modules/servers.ts';
import { exampleSkill, movedTo } from '../fixtures/skills/example-skills.ts';

/* The skills that reach something, on real parts: a server, the vault, the storage, the clock and random bytes. */

const TOKEN = 'sk-example-4d7f01c2';
const OPERATOR = { kind: 'user', name: 'operator' } as const;
const LARGE = 'ü'.repeat(40_000);

type Seen = { readonly method: string; readonly url: string; readonly body: string } & Record<
  string,
  unknown
>;
type Answer = { readonly status: number; readonly body: string; readonly is_cut: boolean };

const { http } = sharedServers();
const seen: Seen[] = [];
const sites: { api?: Standing; other?: Standing } = {};

const { call, opened } = sharedModules(async () => {
  sites.other = await http((_, response) => response.end('another host'));
  sites.api = await http(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = '', url = '' } = request;
    seen.push({ ...request.headers, method, url, body });
    const { pathname } = new URL(url, 'http://api');
    const answer = ANSWERS[pathname] ?? { status: 404, body: '{"error":"no such thing"}' };
    const headers = { 'content-type': 'application/json', ...answer.headers?.() };
    response.writeHead(answer.status ?? 200, headers).end(answer.body ?? `{"path":"${pathname}"}`);
  });
  const client = movedTo(await exampleSkill('http-client'), sites.api.at);
  const base = `http://${sites.api.at}/base/`;
  return {
    tools: [
      ...toolsOf(client, { 'base-url': base }),
      ...toolsOf(client, { 'base-url': base }, ['secret=api-token']).map((tool) => renamed(tool, 'no-token')),
      ...toolsOf(client, { 'base-url': `http://${sites.other.at}` }).map((tool) =>
        renamed(tool, 'elsewhere'),
      ),
      ...toolsOf((await exampleSkill('notebook')).files),
      ...toolsOf((await exampleSkill('ids')).files),
    ],
  };
});

type StubAnswer = {
  readonly status?: number;
  readonly body?: string | Buffer;
  readonly headers?: () => object;
};

const ANSWERS: Readonly<Record<string, StubAnswer>> = {
  '/base/items': {},
  '/base/echo': { body: `the token is ${TOKEN}` },
  '/base/large': { body: LARGE },
  '/base/binary': { body: Buffer.from([0xff, 0xfe, 0x00]) },
  '/base/away': { status: 302, headers: () => ({ location: `http://${sites.other?.at}/` }) },
};

beforeAll(async () => {
  const scope = { kind: 'skill', subject: 'examples.http-client' } as const;
  await opened().gateway.vault.set('api-token', scope, Buffer.from(TOKEN), OPERATOR);
});

/** Its tools with all that it asks for but what is withheld. They are not installed, and so of no skill of the index. */
function toolsOf(files: Entries, config: Record<string, string> = {}, withhold: string[] = []): Tool[] {
  const { manifest, artifact, digests, entries } = openPackage(packSkill(files, { palisade: '0.1.0' }));
  const read = async (path: string) => entries.get(path) ?? new Uint8Array();
  const grant = narrowGrant(manifest, { withhold, limits: {}, config });
  const tools = skillTools({
    manifest,
    artifact,
    digests,
    grant,
    trust: 'operator',
    modules: undefined,
    read,
  });
  return tools.map(({ skill: _, ...tool }) => tool);
}

function renamed(tool: Tool, name: string): Tool {
  return { ...tool, id: tool.id.replace('http-client', name) };
}

async function client(tool: string, input: Json): Promise<Answer> {
  const { code, message, output } = await call(`examples.http-client.${tool}`, input);
  expect([code, message]).toEqual(['ok', '']);
  return output as Answer;
}

describe('the skill http-client', () => {
  test('sends the token that it does not have, below the base that the operator gave', async () => {
    const query = [
      { name: 'q', value: 'a b&c=ü' },
      { name: 'page', value: '2' },
    ];
    expect(await client('fetch', { path: '/items', query })).toEqual({
      ...{ body: '{"path":"/base/items"}', content_type: 'application/json', is_cut: false, status: 200 },
    });
    expect(seen.at(-1)).toMatchObject({
      ...{ method: 'GET', url: '/base/items?q=a%20b%26c%3D%C3%BC&page=2', authorization: `Bearer ${TOKEN}` },
    });
  });

  test('posts a body with its type', async () => {
    await client('post', { path: '/items', body: '{"name":"ü"}' });
    const post = { method: 'POST', authorization: `Bearer ${TOKEN}` };
    expect(seen.at(-1)).toMatchObject({ ...post, body: '{"name":"ü"}', 'content-type': 'application/json' });
    await client('post', { path: '/items', body: 'a=b', content_type: 'application/x-www-form-urlencoded' });
    expect(seen.at(-1)).toMatchObject({ ...post, 'content-type': 'application/x-www-form-urlencoded' });
  });

  test('gives an answer of any status', async () => {
    const { status, body } = await client('fetch', { path: '/nothing' });
    expect([status, body]).toEqual([404, '{"error":"no such thing"}']);
  });

  test('never sees the token, also where the API sends it back', async () => {
    const { body } = await client('fetch', { path: '/echo' });
    expect(body).toBe('the token is [secret api-token]');
  });

  test('cuts a long answer between two characters', async () => {
    const { body, is_cut: isCut } = await client('fetch', { path: '/large' });
    expect([body, isCut]).toEqual(['ü'.repeat(16_384), true]);
  });

  test.each([
    ['what is no text', 'http-client', '/binary', '(not-text)'],
    ['a redirect to another host', 'http-client', '/away', '(denied)'],
    ['another host than was granted', 'elsewhere', '/', '(denied)'],
    ['a token that was withheld', 'no-token', '/items', '(denied)'],
  ])('says why it has no answer: %s', async (_, name, path, why) => {
    const requested = sites.other?.asked.length;
    const before = seen.length;
    const { code, message } = await call(`examples.${name}.fetch`, { path });
    expect([code, message]).toEqual(['tier/tool-error', expect.stringContaining(why)]);
    expect(sites.other?.asked).toHaveLength(requested ?? -1);
    if (name !== 'http-client') expect(seen).toHaveLength(before);
  });
});

describe('the skill notebook', () => {
  const note = async (tool: string, input: Json, tenant = 'default') => {
    const { code, message, output } = await call(`examples.notebook.${tool}`, input, { tenant });
    return code === 'ok' ? output : message;
  };

  test('keeps notes of a tenant for that tenant', async () => {
    await note('put', { name: 'plan', text: 'ours' });
    expect(await note('get', { name: 'plan' })).toMatchObject({ text: 'ours' });
    expect(await note('get', { name: 'plan' }, 'others')).toContain('(not-found)');
  });

  test('loses nothing where many add to a note at once', async () => {
    const lines = Array.from({ length: 16 }, (_, at) => `line ${at}\n`);
    const ends = await Promise.all(
      lines.map((text) => call('examples.notebook.append', { name: 'log', text })),
    );
    // One whose text another call has already added to is told so; it is there nevertheless.
    for (const { code, message } of ends) if (code !== 'ok') expect(message).toContain('(overwritten)');
    const { text } = (await note('get', { name: 'log' })) as { text: string };
    expect(text.match(/[^\n]+\n/g)?.sort()).toEqual([...lines].sort());
  });

  test('lets one of many write over the version that all have read', async () => {
    const { version } = (await note('put', { name: 'race', text: 'start' })) as { version: number };
    const texts = Array.from({ length: 8 }, (_, at) => `writer ${at}`);
    const ends = await Promise.all(texts.map((text) => note('put', { name: 'race', text, version })));
    const refused = ends.filter((end) => typeof end === 'string');
    expect(refused).toHaveLength(texts.length - 1);
    for (const why of refused) expect(why).toContain('(conflict)');
  });

  test('lists more notes than a page has', async () => {
    const names = Array.from({ length: 5 }, (_, at) => `page-${at}`);
    for (const name of names) await note('put', { name, text: '' }, 'pages');
    const listed: string[] = [];
    for (let more = true; more; ) {
      const page = await note('list', { limit: 2, after: listed.at(-1) ?? '' }, 'pages');
      const { names: some, has_more: hasMore } = page as { names: string[]; has_more: boolean };
      listed.push(...some);
      more = hasMore;
    }
    expect(listed).toEqual(names);
  });

  test('refuses to let a note grow beyond what can be put', async () => {
    await note('put', { name: 'long', text: 'a'.repeat(16_384) });
    expect(await note('append', { name: 'long', text: 'b' })).toContain('(too-long)');
  });
});

describe('the skill ids', () => {
  const made = async <T>(tool: string, input: Json = {}) => {
    const { code, output } = await call(`examples.ids.${tool}`, input);
    expect(code).toBe('ok');
    return output as T;
  };

  test('makes UUIDs of which none comes twice', async () => {
    for (const version of [4, 7]) {
      const { uuids } = await made<{ uuids: string[] }>('uuid', { version, count: 100 });
      expect(new Set(uuids).size).toBe(100);
      for (const uuid of uuids)
        expect(uuid).toMatch(new RegExp(`^.{8}-.{4}-${version}.{3}-[89ab].{3}-.{12}$`));
    }
  });

  test('puts the time in front of those of version 7', async () => {
    const before = Date.now();
    const { uuids } = await made<{ uuids: string[] }>('uuid', { version: 7 });
    const ms = Number.parseInt((uuids[0] ?? '').replace('-', '').slice(0, 12), 16);
    expect(ms).toBeGreaterThanOrEqual(before);
    expect(ms).toBeLessThanOrEqual(Date.now());
  });

  test('makes tokens as long as they are wanted', async () => {
    const { token, bits } = await made<{ token: string; bits: number }>('token', { characters: 128 });
    expect([token.length, bits]).toEqual([128, 640]);
    expect(await made('token')).not.toEqual(await made('token'));
  });

  test('tells the time in both spellings', async () => {
    const { iso, ms } = await made<{ iso: string; ms: number }>('now');
    expect(iso).toBe(new Date(ms).toISOString());
  });
});
