import { describe, expect, test } from 'vitest';
import { guest, type Words } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { type Standing, sharedServers } from '../fixtures/modules/servers.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest that may ask one host asks others: by their address, by a spelling, by the way of a redirect. */

const [DENIED, INVALID, UNAVAILABLE] = [-1, -6, -7];
const METADATA = '169.254.169.254';

/** GRANTED and HIDDEN stand for the host and port that was granted, and for one that was not; PORT and OTHER for their ports. */
const DIRECT: Readonly<Record<string, readonly [head: object, code: number]>> = {
  'another port of the host': [{ url: 'http://HIDDEN/' }, DENIED],
  'the host on its usual port': [{ url: 'http://127.0.0.1/' }, DENIED],
  'another scheme': [{ url: 'https://GRANTED/' }, UNAVAILABLE],
  'a file': [{ url: 'file:///etc/passwd' }, INVALID],
  'another protocol': [{ url: 'gopher://GRANTED/' }, INVALID],
  'a user name that looks like the host': [{ url: 'http://GRANTED@HIDDEN/' }, INVALID],
  'a user name and a password': [{ url: 'http://user:pass@GRANTED/' }, INVALID],
  'a host behind a backslash': [{ url: 'http://GRANTED\\@HIDDEN/' }, INVALID],
  'a host behind a fragment': [{ url: 'http://GRANTED#@HIDDEN/' }, INVALID],
  'a host behind a blank': [{ url: 'http://GRANTED @HIDDEN/' }, INVALID],
  'a host behind a line break': [{ url: 'http://GRANTED\r\nHost: HIDDEN/' }, INVALID],
  'another port of the host, as one number': [{ url: 'http://2130706433:OTHER/' }, DENIED],
  'another port of the host, in hexadecimal': [{ url: 'http://0x7f.1:OTHER/' }, DENIED],
  'another port of the host, inside of a longer address': [
    { url: 'http://[::ffff:127.0.0.1]:OTHER/' },
    DENIED,
  ],
  'another address of the machine': [{ url: 'http://127.0.0.2:PORT/' }, DENIED],
  'the address of nothing': [{ url: 'http://0.0.0.0:PORT/' }, DENIED],
  'the metadata service': [{ url: `http://${METADATA}/latest/meta-data/` }, DENIED],
  'a name that nobody granted': [{ url: 'http://evil.test/' }, DENIED],
  'a name with the secret in it': [{ url: 'http://s3cr3t.evil.test/' }, DENIED],
  'a tunnel': [{ method: 'CONNECT', url: 'http://GRANTED/' }, INVALID],
  'a request inside of the method': [
    { method: 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGET', url: 'http://GRANTED/' },
    INVALID,
  ],
  'a header with a line break': [{ url: 'http://GRANTED/', headers: [['x', 'a\r\nHost: HIDDEN']] }, INVALID],
  'a host in a header': [{ url: 'http://GRANTED/', headers: [['Host', 'HIDDEN']] }, INVALID],
  'a length of its own': [{ url: 'http://GRANTED/', headers: [['Content-Length', '5']] }, INVALID],
  'a transfer of its own': [{ url: 'http://GRANTED/', headers: [['Transfer-Encoding', 'chunked']] }, INVALID],
  'no URL': [{}, INVALID],
  'a URL that is none': [{ url: ['http://GRANTED/'] }, INVALID],
};

const REDIRECTS: Readonly<Record<string, readonly [location: string, code: number]>> = {
  'to the metadata service': [`http://${METADATA}/latest/meta-data/`, DENIED],
  'to the metadata service of another provider': ['http://100.100.100.200/', DENIED],
  'to another port': ['http://HIDDEN/', DENIED],
  'to another name': ['http://evil.test/', DENIED],
  'to another port as one number': ['http://2130706433:OTHER/', DENIED],
  'to a user name that looks like the host': ['http://GRANTED@HIDDEN/', UNAVAILABLE],
  'to a place without a scheme': ['//HIDDEN/', DENIED],
  'to a file': ['file:///etc/passwd', DENIED],
  'to a script': ['data:text/html,x', DENIED],
  'to itself, for ever': ['/redirect?to=%2Fagain', UNAVAILABLE],
  'to a place behind two hops': ['/redirect?to=http%3A%2F%2FHIDDEN%2F', DENIED],
};

const servers: { granted?: Standing; hidden?: Standing } = {};
const lookedUp: string[] = [];
const { http } = sharedServers();

function filled(text: string): string {
  const { granted, hidden } = servers;
  return text
    .replaceAll('GRANTED', granted?.at ?? '')
    .replaceAll('HIDDEN', hidden?.at ?? '')
    .replaceAll('PORT', String(granted?.port))
    .replaceAll('OTHER', String(hidden?.port));
}

const asks =
  (head: object) =>
  ({ bytes }: Words) =>
    `(call $head (call $http_request (i32.const 10000) ${bytes(filled(JSON.stringify(head)))} (i32.const 0) (i32.const 0)))`;
const nameOf = (what: string) => `test.${what.toLowerCase().replaceAll(/\W+/g, '-')}`;

const { call } = sharedModules(async () => {
  servers.hidden = await http((_, response) => void response.end('hidden'));
  servers.granted = await http(({ url = '' }, response) => {
    const to = new URL(url, 'http://here').searchParams.get('to');
    const next = to === '/again' ? '/redirect?to=%2Fagain' : to;
    if (next === null) response.end('arrived');
    else response.writeHead(302, { location: filled(next) }).end();
  });
  const grants = { http: [servers.granted.at] };
  return {
    lookup: async (name) => {
      lookedUp.push(name);
      return ['93.184.216.34', name === 'inside.test' ? '127.0.0.1' : '10.0.0.1'];
    },
    tools: [
      ...Object.entries(DIRECT).map(([what, [head]]) =>
        moduleTool(nameOf(what), guest(asks(head)), { grants }),
      ),
      ...Object.entries(REDIRECTS).map(([what, [to]]) =>
        moduleTool(
          nameOf(what),
          guest(asks({ url: `http://GRANTED/redirect?to=${encodeURIComponent(filled(to))}` })),
          { grants },
        ),
      ),
      moduleTool('test.fine', guest(asks({ url: 'http://GRANTED/fine' })), { grants }),
      moduleTool('test.moved', guest(asks({ url: 'http://GRANTED/redirect?to=%2Ffine' })), { grants }),
      // A name that was granted and leads home, and one of whose addresses only one does.
      moduleTool('test.named', guest(asks({ url: `http://inside.test:PORT/` })), {
        grants: { http: [`inside.test:${servers.granted.port}`] },
      }),
      moduleTool('test.reads', guest(asks({ method: 'GET', url: 'http://GRANTED/v1/fine' })), {
        grants: { http: [`GET http://${servers.granted.at}/v1/`] },
      }),
      ...[
        'POST http://GRANTED/v1/fine',
        'GET http://GRANTED/v2/fine',
        'GET http://GRANTED/v1/../v2/fine',
      ].map((each, index) => {
        const [method = '', url = ''] = each.split(' ');
        return moduleTool(`test.beside-${index}`, guest(asks({ method, url })), {
          grants: { http: [`GET http://${servers.granted?.at}/v1/`] },
        });
      }),
    ],
  };
});

describe('a guest that asks for', () => {
  test.each(Object.entries(DIRECT))('%s gets nothing, and nobody is asked', async (what, [, code]) => {
    const before = [servers.granted?.asked.length, servers.hidden?.asked.length];
    const end = await call(nameOf(what));
    expect(end).toMatchObject({ code: 'ok', output: [code] });
    expect(end.isolation).toMatchObject({ hostCallsDenied: code === DENIED ? 1 : 0 });
    expect([servers.granted?.asked.length, servers.hidden?.asked.length]).toEqual(before);
    expect(lookedUp).toEqual([]);
  });

  test('what it may gets it', async () => {
    expect((await call('test.fine')).output).toMatchObject({
      status: 200,
      url: filled('http://GRANTED/fine'),
    });
    expect(servers.granted?.asked.at(-1)).toBe('GET /fine');
  });
});

describe('a guest that is sent on', () => {
  test.each(Object.entries(REDIRECTS))('%s does not arrive', async (what, [, code]) => {
    const before = servers.granted?.asked.length ?? 0;
    expect(await call(nameOf(what))).toMatchObject({ code: 'ok', output: [code] });
    // The first hop was made, so that it was the redirect that was refused.
    expect(servers.granted?.asked.length).toBeGreaterThan(before);
    expect(servers.hidden?.asked).toEqual([]);
    expect(lookedUp).toEqual([]);
  });

  test('to where it may go arrives', async () => {
    expect((await call('test.moved')).output).toMatchObject({
      status: 200,
      url: filled('http://GRANTED/fine'),
    });
  });
});

test('a name that was granted does not lead to this machine', async () => {
  const before = servers.granted?.asked.length;
  expect((await call('test.named')).output).toEqual([DENIED]);
  expect(lookedUp).toEqual(['inside.test']);
  expect(servers.granted?.asked.length).toBe(before);
});

test('a grant of one method and one path is none of another', async () => {
  expect((await call('test.reads')).output).toMatchObject({ status: 200 });
  const before = servers.granted?.asked.length;
  for (const index of [0, 1, 2]) expect((await call(`test.beside-${index}`)).output).toEqual([DENIED]);
  expect(servers.granted?.asked.length).toBe(before);
});
