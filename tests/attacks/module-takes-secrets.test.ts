import { readdirSync, readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { GLOBAL } from '../../packages/gateway/src/vault/secret.ts';
import { guest, listOf, type Words } from '../fixtures/modules/guest.ts';
import { type ModuleEnd, sharedModules } from '../fixtures/modules/index.ts';
import { type Standing, sharedServers } from '../fixtures/modules/servers.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest may use a secret and not have it. It tries to get the value: from the host, from an error, by asking. */

const VALUE = 'sk-live-7Hq2mZ9xW4/+=&"';
const [DENIED, TOO_LARGE, INVALID] = [-1, -3, -6];
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** How a host could repeat what it was sent, and what of it a reader of the answer would look for. */
const ECHOES: Readonly<Record<string, (value: string) => string>> = {
  'as it is': (value) => JSON.stringify(`you sent ${value}`),
  'in base64': (value) => JSON.stringify(base64(value)),
  'in base64 behind something else': (value) => JSON.stringify(base64(`x${value}y`)),
  'in the base64 of URLs': (value) => JSON.stringify(Buffer.from(value).toString('base64url')),
  'in hexadecimal': (value) => JSON.stringify(Buffer.from(value).toString('hex').toUpperCase()),
  'with percent signs': (value) => JSON.stringify(encodeURIComponent(value)),
  'with the escapes of JSON': (value) =>
    `"${[...value].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
};
const SPELLINGS = [
  ...[VALUE, base64(VALUE), Buffer.from(VALUE).toString('base64url'), encodeURIComponent(VALUE)],
  ...[Buffer.from(VALUE).toString('hex'), JSON.stringify(VALUE).slice(1, -1)],
];

const repeat: RequestListener = ({ url = '', headers }, response) => {
  const value = String(headers.authorization ?? headers['x-key'] ?? '').replace(/^Bearer /, '');
  const { pathname, searchParams } = new URL(url, 'http://here');
  const how = ECHOES[searchParams.get('how') ?? ''];
  if (pathname === '/body') response.end(how?.(value));
  else if (pathname === '/header') response.setHeader('x-repeated', value).end('"done"');
  else if (pathname === '/large') response.end(JSON.stringify('x'.repeat(2_000_000)));
  else if (pathname === '/moved')
    response.writeHead(302, { location: `/body?how=as+it+is&key=${value}` }).end();
  else if (pathname === '/away') response.writeHead(302, { location: searchParams.get('to') ?? '' }).end();
  else response.end(JSON.stringify(Object.keys(headers)));
};

const { http } = sharedServers();
const site: { granted?: Standing; other?: Standing } = {};
const sent: string[] = [];

/** A request with the secret of a handle; gives the body of the answer, or what it was refused with. */
const uses =
  (path: string, secret: object = { handle: 20_000, header: 'Authorization', format: 'Bearer {}' }) =>
  ({ bytes }: Words) => {
    const head = JSON.stringify({ url: `http://${site.granted?.at}${path}`, secret });
    return `(call $body (call $http_request (i32.const 10000) ${bytes(head)} (i32.const 0) (i32.const 0)))`;
  };
const headOf = (path: string) => (words: Words) => uses(path)(words).replace('(call $body', '(call $head');

const nameOf = (what: string) => `test.${what.toLowerCase().replaceAll(/\W+/g, '-')}`;
const { call, opened } = sharedModules(async () => {
  site.granted = await http((request, response) => {
    sent.push(JSON.stringify(request.headers));
    repeat(request, response);
  });
  site.other = await http((request, response) => {
    sent.push(JSON.stringify(request.headers));
    repeat(request, response);
  });
  const secrets = ['api-key', 'none', 'broken'].map((name) => ({
    ...{ name, mayReveal: false },
    hosts: [site.granted?.at ?? '', site.other?.at ?? ''],
  }));
  const grants = { http: [site.granted.at, site.other.at], secrets, log: true };
  const tool = (id: string, body: Parameters<typeof guest>[0]) => moduleTool(id, guest(body), { grants });
  const away = encodeURIComponent(`http://${site.other.at}/seen`);
  return {
    tools: [
      ...Object.keys(ECHOES).map((how) => tool(nameOf(how), uses(`/body?how=${encodeURIComponent(how)}`))),
      tool('test.header', headOf('/header')),
      tool('test.moved', headOf('/moved')),
      tool('test.away', uses(`/away?to=${away}`)),
      tool('test.large', uses('/large')),
      tool('test.twice', uses('/body?how=as+it+is', { handle: 20_000, header: 'X-Key', format: '{}{}' })),
      tool('test.agent', uses('/names', { handle: 20_000, header: 'User-Agent', format: '{}' })),
      tool('test.breaks', uses('/names', { handle: 20_000, header: 'X', format: '{}\r\nX-More: 1' })),
      tool('test.missing', uses('/names', { handle: 20_001, header: 'X', format: '{}' })),
      tool('test.broken', uses('/names', { handle: 20_002, header: 'X', format: '{}' })),
      tool('test.forged', uses('/names', { handle: 20_003, header: 'X', format: '{}' })),
      moduleTool('test.unbound', guest(uses('/body?how=as+it+is')), {
        grants: { ...grants, secrets: [{ name: 'api-key', mayReveal: false, hosts: [site.other.at] }] },
      }),
      moduleTool('test.wide', guest(uses(`/away?to=${away}`)), {
        grants: {
          http: [`127.0.0.1/32:${site.granted.port}`],
          secrets: [{ name: 'api-key', mayReveal: false, hosts: ['*.example.com', '127.0.0.1'] }],
        },
      }),
      tool('test.odd', uses('/names', { handle: '20000', header: 'X', format: '{}' })),
      tool(
        'test.reads',
        listOf(
          ...[20_000, 20_001, 20_002, 20_003].map((handle) => `(call $secret_read (i32.const ${handle}))`),
        ),
      ),
      moduleTool(
        'test.may',
        guest('(call $told_length (call $secret_read (i32.const 20000)))', {
          more: '(func $told_length (param i32) (result i64) (call $say (local.get 0)) (call $said))',
        }),
        { grants: { secrets: [{ name: 'api-key', mayReveal: true, hosts: [] }] } },
      ),
    ],
  };
});

beforeAll(async () => {
  const { vault } = opened().gateway;
  const by = { kind: 'user', name: 'operator' } as const;
  await vault.set('api-key', GLOBAL, Buffer.from(VALUE), by);
  await vault.set('broken', GLOBAL, Buffer.from('with\r\nX-Injected: 1'), by);
});

/** Everything that the guest or its caller was told. */
function told(end: ModuleEnd): string {
  const { output, message, log, isolation } = end;
  return JSON.stringify([output, message, log, isolation]).replaceAll('\\\\', '\\');
}

function expectNothing(text: string): void {
  for (const spelling of SPELLINGS) expect(text).not.toContain(spelling);
}

describe('a host that repeats the secret of a request', () => {
  test.each(Object.keys(ECHOES))('%s in its body gives the guest no more than its name', async (how) => {
    const end = await call(nameOf(how));
    expect(sent.at(-1)).toContain(JSON.stringify(VALUE).slice(1, -1));
    expect(end.code).toBe('ok');
    expect(told(end)).toContain('[secret api-key]');
    expectNothing(told(end));
  });

  test.each(['test.header', 'test.moved', 'test.twice'])(
    'another way (%s) gives it nothing either',
    async (tool) => {
      const end = await call(tool);
      expect(end).toMatchObject({ code: 'ok' });
      expectNothing(told(end));
    },
  );

  test('in what is too long to be searched is not read at all', async () => {
    expect((await call('test.large')).output).toEqual([TOO_LARGE]);
  });
});

describe('a secret', () => {
  test('does not go along to another host, also one that was granted', async () => {
    const end = await call('test.away');
    expect(end.output).toEqual([DENIED]);
    expect(site.other?.asked).toEqual([]);
  });

  test('does not go where hosts write down what they get', async () => {
    expect((await call('test.agent')).code).toBe('ok');
    expect(sent.at(-1)).not.toContain('sk-live');
  });

  test.each([
    ['of a handle that was not granted', 'test.forged', DENIED],
    ['for another host that the guest may reach', 'test.unbound', DENIED],
    ['for another port of its host', 'test.wide', DENIED],
    ['that is not there', 'test.missing', DENIED],
    ['that would end its header', 'test.broken', INVALID],
    ['in a format that would end its header', 'test.breaks', INVALID],
    ['of a handle that is no number', 'test.odd', INVALID],
  ])('%s is refused, and nothing is sent', async (_what, tool, code) => {
    const before = sent.length;
    expect((await call(tool)).output).toEqual([code]);
    expect(sent).toHaveLength(before);
  });

  test('that may only be used is not told, and whether it is there is not told either', async () => {
    expect((await call('test.reads')).output).toEqual([DENIED, DENIED, DENIED, DENIED]);
    expect((await call('test.may')).output).toEqual([VALUE.length]);
  });

  test('is in no file of the gateway', () => {
    const { stateDir } = opened();
    const files = readdirSync(stateDir, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(files.length).toBeGreaterThan(2);
    for (const { parentPath, name } of files) expectNothing(readFileSync(join(parentPath, name), 'latin1'));
  });
});
