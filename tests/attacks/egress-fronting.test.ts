import { describe, expect, test } from 'vitest';
import { openEgressWorld, startSecureServer, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom, runScript, tryInside } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';
/** The name outside, the one in the hello and the one inside are those of different hosts. */
type Front = { readonly [word: string]: unknown };

async function openSecure(entries: (port: number) => readonly string[], intercepted: readonly string[] = []) {
  const { authorityPem, ...server } = await startSecureServer('ok.test');
  const { port } = server;
  const world = await openEgressWorld({
    entries: [...entries(port), `${HOME}:${port}`],
    names: Object.fromEntries(['ok.test', 'evil.test', 'other.test'].map((name) => [name, [HOME]])),
    config: `egress_intercept = ${JSON.stringify(intercepted)}\n`,
    trusted: authorityPem,
  });
  const front = (words: Front) => ({
    ...{ to: `ok.test:${port}`, hello: 'ok.test', says: getAt(`ok.test:${port}`), 'trusts anybody': true },
    ...words,
  });
  return { world, server, port, front };
}

describe('a run that names one host outside and another inside', () => {
  test('is refused in the open, in whichever place the other name stands', async () => {
    const { port, asked } = await startServer();
    const world = await openEgressWorld({
      entries: [`http://ok.test:${port}`, `${HOME}:${port}`],
      names: { 'ok.test': [HOME], 'evil.test': [HOME] },
    });
    const [ok, evil] = [`ok.test:${port}`, `evil.test:${port}`];
    const head = (url: string, ...fields: readonly string[]) =>
      ['GET', url, 'HTTP/1.1\r\n<credential>'].join(' ') +
      fields.map((field) => `${field}\r\n`).join('') +
      '\r\n';
    const door = ['ok.test', port] as const;
    const { answers } = await askInside(world, {
      control: { send: getFrom(`http://${ok}/control`) },
      'denied in the Host header': { send: head(`http://${ok}/`, `Host: ${evil}`) },
      'allowed in the Host header': { send: head(`http://${evil}/`, `Host: ${ok}`) },
      'another port in the Host header': { send: head(`http://${ok}/`, 'Host: ok.test:1') },
      'both in Host headers': { send: head(`http://${ok}/`, `Host: ${ok}`, `Host: ${evil}`) },
      'both in one Host header': { send: head(`http://${ok}/`, `Host: ${ok}, ${evil}`) },
      'none in the Host header': { send: head(`http://${ok}/`, 'Host:') },
      'no Host header': { send: head(`http://${ok}/`) },
      'Host with an underscore': {
        send: head(`http://${ok}/`, `Host: ${ok}`, `Ho_st: ${evil}`, `Content_Length: 0`),
      },
      'tunnel with another Host': { send: `CONNECT ${ok} HTTP/1.1\r\nHost: ${evil}\r\n<credential>\r\n` },
      'denied at the door': { send: getAt(evil), to: door },
      'denied in the target at the door': {
        send: `GET http://${evil}/ HTTP/1.1\r\nHost: ${ok}\r\n\r\n`,
        to: door,
      },
      'control at the door': { send: getAt(ok, '/control'), to: door },
    });
    const { control, 'control at the door': atDoor, ...refused } = answers;
    expect([control, atDoor]).toEqual(['200', '200']);
    expect([...new Set(Object.values(refused))].sort()).toEqual(['400']);
    expect(asked.map(({ url }) => url)).toEqual(['/control', '/control']);
    expect(world.lookedUp).not.toContain('evil.test');
  });

  test('is cut when the hello of its TLS has another name, however it is cut into pieces', async () => {
    const { world, server, port, front } = await openSecure((own) => [`ok.test:${own}`]);
    const evil = { hello: 'evil.test' };
    const { answers, egress } = await tryInside(world, 'fronts.py', {
      'another name': front(evil),
      'byte by byte': front({ ...evil, 'piece bytes': 1 }),
      'in two records': front({ ...evil, records: 2 }),
      'in nine records': front({ ...evil, records: 9 }),
      'a longer name': front({ hello: 'ok.test.evil.test' }),
      'at the door': { ...front(evil), to: undefined, door: ['ok.test', port] },
    });
    expect(new Set(Object.values(answers))).toEqual(new Set(['ECONNRESET']));
    expect(egress.decisions.map(({ cut }) => cut?.includes('the TLS hello names'))).toEqual(
      Array(6).fill(true),
    );
    expect(server.asked).toEqual([]);
    const control = await tryInside(world, 'fronts.py', {
      'the same name': front({}),
      'in other letters': front({ hello: 'OK.test' }),
      'byte by byte': front({ 'piece bytes': 1 }),
      'in nine records': front({ records: 9 }),
      'at the door': { ...front({}), to: undefined, door: ['ok.test', port] },
    });
    expect([new Set(Object.values(control.answers)), server.asked.length]).toEqual([new Set(['200']), 5]);
  });

  test('is not seen inside TLS that is not opened: the allowed server alone decides whom it serves', async () => {
    const { world, server, front } = await openSecure((port) => [`ok.test:${port}`]);
    const { answers } = await tryInside(world, 'fronts.py', {
      'another Host': front({ says: getAt('evil.test') }),
      'no name in the hello': front({ hello: undefined }),
    });
    expect(answers).toEqual({ 'another Host': '200', 'no name in the hello': '200' });
    expect(server.asked.map(({ headers }) => headers.host?.split(':')[0])).toEqual(['evil.test', 'ok.test']);
  });
});

describe('a run whose TLS is opened', () => {
  const INTERCEPTED = ['ok.test', 'other.test'];

  test('is refused every other name, in the hello, in the target and in the Host header', async () => {
    const { world, server, port, front } = await openSecure(
      (own) => [`ok.test:${own}`, `other.test:${own}`],
      INTERCEPTED,
    );
    const [ok, evil] = [`ok.test:${port}`, `evil.test:${port}`];
    const says = (target: string, host: string) =>
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    const { answers, egress } = await tryInside(world, 'fronts.py', {
      'another Host': front({ says: says('/', evil) }),
      'another allowed Host': front({ says: says('/', `other.test:${port}`) }),
      'another port': front({ says: says('/', 'ok.test:1') }),
      'another target': front({ says: says(`https://${evil}/`, ok) }),
      'another scheme': front({ says: says(`http://${ok}/`, ok) }),
      'a tunnel in the tunnel': front({ says: `CONNECT ${evil} HTTP/1.1\r\nHost: ${evil}\r\n\r\n` }),
      'another name in the hello': front({ hello: 'evil.test' }),
      'another allowed name in the hello': front({ hello: 'other.test' }),
      'no name in the hello': front({ hello: undefined }),
      'another name in pieces': front({ hello: 'evil.test', 'piece bytes': 1 }),
      'only HTTP/2': front({ protocols: ['h2'] }),
      control: front({ says: says('/control', ok) }),
      'control with a target': front({ says: says(`https://${ok}/control`, ok) }),
      'control at the door': {
        ...front({}),
        to: undefined,
        door: ['ok.test', port],
        says: says('/control', ok),
      },
    });
    const { control, 'control with a target': target, 'control at the door': door, ...refused } = answers;
    expect([control, target, door]).toEqual(['200', '200', '200']);
    for (const [probe, answer] of Object.entries(refused))
      expect(answer, probe).toBe(/hello|pieces|HTTP\/2/.test(probe) ? 'ECONNRESET' : '400');
    expect(egress).toMatchObject({ malformed: 6, denied: 5 });
    expect(server.asked.map(({ url, headers }) => [url, headers.host])).toEqual(
      Array(3).fill(['/control', ok]),
    );
  });

  test('is held to the paths and the methods of an entry inside it', async () => {
    const { world, server, port, front } = await openSecure(
      (own) => [`GET https://ok.test:${own}/ours/`],
      INTERCEPTED,
    );
    const says = (line: string) => ({
      says: `${line} HTTP/1.1\r\nHost: ok.test:${port}\r\nContent-Length: 0\r\n\r\n`,
    });
    const { answers } = await tryInside(world, 'fronts.py', {
      control: front(says('GET /ours/page')),
      'another path': front(says('GET /theirs/page')),
      'a way up': front(says('GET /ours/../theirs/page')),
      'an encoded way up': front(says('GET /ours/%2e%2e/theirs/page')),
      'another method': front(says('POST /ours/page')),
      'a method in small letters': front(says('get /ours/page')),
      'a second request behind the first': front({
        says: `${says('GET /ours/first').says}${says('GET /theirs/second').says}`,
      }),
      'at the door': { ...front(says('GET /theirs/page')), to: undefined, door: ['ok.test', port] },
    });
    expect(answers).toEqual({
      ...{
        control: '200',
        'another path': '403',
        'a way up': '403',
        'an encoded way up': '403',
        'another method': '403',
      },
      ...{
        'a method in small letters': '400',
        'a second request behind the first': '200',
        'at the door': '403',
      },
    });
    expect(server.asked.map(({ url }) => url)).toEqual(['/ours/page', '/ours/first']);
    const inTheOpen = await askInside(world, {
      'no TLS in the tunnel': {
        send: connectTo(`ok.test:${port}`),
        inside: getAt(`ok.test:${port}`, '/ours/page'),
      },
      'no TLS at all': { send: getFrom(`http://ok.test:${port}/ours/page`) },
    });
    expect(Object.values(inTheOpen.answers)).toEqual([expect.stringMatching(/403|closed|ECONNRESET/), '403']);
    expect(server.asked).toHaveLength(2);
  });

  test('hears nothing from who cannot prove to be the host, and says nothing to it', async () => {
    const { world, server, port, front } = await openSecure(
      (own) => [`ok.test:${own}`, `other.test:${own}`],
      INTERCEPTED,
    );
    const { answers } = await tryInside(world, 'fronts.py', {
      // Its name leads to a server whose certificate is that of another host.
      impostor: front({
        to: `other.test:${port}`,
        hello: 'other.test',
        says: getAt(`other.test:${port}`, '/', 'X-Token: secret\r\n'),
      }),
      control: front({ 'trusts anybody': false }),
    });
    expect(answers).toEqual({ impostor: '502', control: '200' });
    expect(server.asked).toHaveLength(1);
  });

  test('trusts an authority that is its own: no other run trusts it, and its key is nowhere', async () => {
    const { world, server, port, front } = await openSecure((own) => [`ok.test:${own}`], INTERCEPTED);
    const first = await world.shell('cat $SSL_CERT_FILE > trusted.pem; tail -n 12 $SSL_CERT_FILE');
    const second = await world.shell('tail -n 12 $SSL_CERT_FILE');
    expect(first.output?.stdout).toContain('BEGIN CERTIFICATE');
    expect(second.output?.stdout).not.toBe(first.output?.stdout);
    const url = `https://ok.test:${port}/`;
    const status = "curl -s -o /dev/null -w '%{http_code}\\n'";
    const { output } = await runScript(world, [`${status} --cacert trusted.pem ${url}`, `${status} ${url}`]);
    expect([output?.stdout, server.asked.length]).toEqual(['000\n200\n', 1]);
    const keys = { key: 'PRIVATE KEY', certificate: 'BEGIN CERTIFICATE' };
    const found = await tryInside(world, 'looks-for.py', keys);
    expect(found.answers.key).toBe('0');
    expect(Number(found.answers.certificate)).toBeGreaterThan(0);
    expect(
      (await tryInside(world, 'fronts.py', { control: front({ 'trusts anybody': false }) })).answers.control,
    ).toBe('200');
  });
});
