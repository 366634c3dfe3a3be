import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allowing, HELLO, NAME, startAnswering, startTarget } from '../proxy/world.ts';
import { codeOf, LOOPBACK, openBoth, openWorld, redirectTo, textOf } from './world.ts';

const OTHER = 'other.test';

/** A target that sends the first who comes elsewhere and says hello to all others. */
function startRedirecting(answerFor: (port: number) => string) {
  let isFirst = true;
  return startTarget((socket, received) => {
    socket.on('data', () => {
      if (!received().includes('\r\n\r\n')) return;
      socket.end(Buffer.from(isFirst ? answerFor(socket.localPort ?? 0) : HELLO, 'latin1'));
      isFirst = false;
    });
  });
}

/** Such a target as an allowed name, and another target, which is allowed as another name if the list says so. */
async function openTwo(answerFor: (port: number, otherPort: number) => string, isOtherAllowed: boolean) {
  const other = await startAnswering('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother');
  const target = await startRedirecting((port) => answerFor(port, other.port));
  const world = openWorld({
    entries: [...allowing(NAME, target.port), ...(isOtherAllowed ? allowing(OTHER, other.port) : [])],
    answers: { ...LOOPBACK, [OTHER]: ['127.0.0.1'] },
  });
  return { ...world, target, other, url: `http://${NAME}:${target.port}/` };
}

describe('a redirect (N11)', () => {
  it('to another host is followed when that is allowed, and decided on as any request', async () => {
    const world = await openTwo((_, port) => redirectTo(`http://${OTHER}:${port}/x`), true);
    const outcome = await world.get(world.url);
    expect(textOf(outcome)).toBe('other');
    expect(outcome).toMatchObject({ url: `http://${OTHER}:${world.other.port}/x`, status: 200 });
    expect(world.asked).toEqual([NAME, OTHER]);
    expect(world.decisions.map(({ host, verdict }) => [host, verdict])).toEqual([
      [NAME, 'allow'],
      [OTHER, 'allow'],
    ]);
    expect(outcome.hops.map(({ status }) => status)).toEqual([302, 200]);
  });

  it('to a denied host ends there, before its name is asked for', async () => {
    const world = await openTwo((_, port) => redirectTo(`http://${OTHER}:${port}/x`), false);
    const outcome = await world.get(world.url);
    expect(textOf(outcome)).toBe(
      `denied: Cannot reach "${OTHER}:${world.other.port}": no entry of the allow-list has this host, expected one such as "${OTHER}:${world.other.port}"`,
    );
    expect({ asked: world.asked, seen: world.other.seen }).toEqual({ asked: [NAME], seen: [] });
    expect(outcome.hops).toMatchObject([{ status: 302 }, { host: OTHER, verdict: 'deny', status: null }]);
  });

  it.each([
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data/', 'denied'],
    ['its number', () => 'http://2852039166/', 'denied'],
    ['its IPv6 form', () => 'http://[::ffff:a9fe:a9fe]/', 'denied'],
    ['a denied port of the same host', (_: number, other: number) => `http://${NAME}:${other}/`, 'denied'],
    ['a denied port of loopback', (_: number, other: number) => `http://127.0.0.1:${other}/`, 'denied'],
    ['a denied name, without a scheme', (_: number, other: number) => `//${OTHER}:${other}/`, 'denied'],
    ['a file', () => 'file:///etc/passwd', 'denied'],
    ['a socket', () => 'unix:/var/run/docker.sock', 'denied'],
    ['data', () => 'data:text/plain,hello', 'denied'],
    ['backslashes', (_: number, other: number) => `\\\\${OTHER}:${other}\\`, 'malformed'],
    ['a slash and a backslash', (_: number, other: number) => `/\\${OTHER}:${other}`, 'malformed'],
    [
      'a user name',
      (port: number, other: number) => `http://${NAME}:${port}@${OTHER}:${other}/`,
      'malformed',
    ],
    ['three slashes', (_: number, other: number) => `http:///${OTHER}:${other}/`, 'malformed'],
    ['a tab', () => '/a\tb', 'malformed'],
    ['a lone CR', () => '/a\rX-Evil: yes', 'malformed'],
    ['a lone LF', () => '/a\nX-Evil: yes', 'malformed'],
    ['a NUL', () => '/a\0', 'malformed'],
  ])('to %s is not followed', async (_what, location, code) => {
    const world = await openTwo((port, other) => redirectTo(location(port, other)), false);
    const outcome = await world.get(world.url);
    expect(codeOf(outcome)).toBe(code);
    expect(outcome.hops.filter(({ verdict }) => verdict === 'allow')).toHaveLength(1);
    expect({ asked: world.asked, seen: world.other.seen, hops: world.target.seen.length }).toEqual({
      asked: [NAME],
      seen: [],
      hops: 1,
    });
  });

  it('with CR LF in its Location has one more header, and no more', async () => {
    const world = await openTwo(() => redirectTo('/a\r\nX-Evil: yes'), false);
    expect(textOf(await world.get(world.url))).toBe('hello');
    expect(world.target.seen[1]).toMatch(/^GET \/a HTTP\/1\.1\r\n/);
    expect(world.target.seen[1]).not.toContain('X-Evil');
  });

  it.each([
    ['next', '/a/next'],
    ['../up?b', '/up?b'],
    ['/root#part', '/root'],
    ['?query', '/a/b?query'],
    ['//NAME/x', '/x'],
  ])('to %s on the same host asks for %s', async (location, path) => {
    const site = (port: number) => `${NAME}:${port}`;
    const world = await openTwo((port) => redirectTo(location.replace('NAME', site(port))), false);
    expect(textOf(await world.get(`${world.url}a/b`))).toBe('hello');
    expect(world.target.seen[1]).toContain(`GET ${path} HTTP/1.1\r\n`);
  });

  it.each([
    ['in a loop', () => redirectTo('/')],
    ['to where it is', () => redirectTo('')],
    ['on and on', (received: string) => redirectTo(`x${received.length}`)],
  ])('%s is followed so many times and no more', async (_what, answerFor) => {
    const target = await startTarget((socket, received) => {
      socket.on('data', () => socket.end(answerFor(received())));
    });
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK });
    const url = `http://${NAME}:${target.port}/`;
    const outcome = await get(url);
    expect(textOf(outcome)).toBe(
      'too-many-redirects: Cannot follow redirect: it is one too many, expected at most 5',
    );
    expect(outcome.hops).toHaveLength(6);
    expect((await get(url, {}, { limits: { redirects: 20 } })).hops).toHaveLength(21);
  });

  it('is given to who asked when none is to be followed, with its body', async () => {
    const answer = 'HTTP/1.1 302 Found\r\nLocation: http://denied.test/\r\nContent-Length: 4\r\n\r\nthere';
    const { get, url } = await openBoth(answer, { limits: { redirects: 0 } });
    const outcome = await get(url);
    expect(outcome).toMatchObject({ ok: true, status: 302, headers: [['location', 'http://denied.test/']] });
    expect(textOf(outcome)).toBe('ther');
  });

  it('is not waited for: what it says beside its head is left', async () => {
    const target = await startTarget((socket, received) => {
      socket.on('data', () =>
        socket.write(
          received().startsWith('GET /b')
            ? HELLO
            : 'HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 900\r\n\r\n',
        ),
      );
    });
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK });
    expect(textOf(await get(`http://${NAME}:${target.port}/`))).toBe('hello');
  });

  it('takes neither credentials nor a body to another origin', async () => {
    const toOther = (_: number, port: number) => redirectTo(`http://${OTHER}:${port}/`, 307);
    const world = await openTwo(toOther, true);
    const refused = await world.get(world.url, { method: 'POST', body: Buffer.from('private') });
    expect(textOf(refused)).toContain('denied: Cannot follow redirect');
    expect(world.other.seen).toEqual([]);
    const second = await openTwo(toOther, true);
    const headers = [
      ['Authorization', 'Bearer private'],
      ['Cookie', 'a=private'],
      ['X-Fine', 'public'],
    ] as const;
    expect(textOf(await second.get(second.url, { headers }))).toBe('other');
    expect(second.target.seen[0]).toContain('Bearer private');
    expect(second.other.seen[0]).toContain('X-Fine: public');
    expect(second.other.seen[0]).not.toContain('private');
  });
});

const LOCATION_PIECES = [
  ...['/', '//', '\\', ':', '@', '?', '#', '.', '..', '%2e', 'x', 'http:', 'http://', 'HTTP://', 'file://'],
  ...[NAME, OTHER, 'PORT', 'OTHERPORT', ':', '127.0.0.1', '127.1', '[::1]', '2130706433', '\t', ' ', '\xe4'],
];

describe('a redirect to anywhere', () => {
  it('never comes to a hop that was not decided on, nor to a host that is not allowed', async () => {
    const other = await startAnswering(HELLO);
    let location = '';
    const target = await startTarget((socket, received) => {
      socket.on('data', () => {
        const isFirst = received().startsWith('GET /start');
        socket.end(Buffer.from(isFirst ? redirectTo(location) : HELLO, 'latin1'));
      });
    });
    const entries = [`GET http://${NAME}:${target.port}`, `127.0.0.1:${target.port}`];
    const answers = { ...LOOPBACK, [OTHER]: ['127.0.0.1'] };
    let followed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...LOCATION_PIECES), { minLength: 1, maxLength: 7 }),
        async (pieces) => {
          location = pieces
            .join('')
            .replaceAll('OTHERPORT', String(other.port))
            .replaceAll('PORT', String(target.port));
          const before = target.seen.length;
          const world = openWorld({ entries, answers });
          const outcome = await world.get(`http://${NAME}:${target.port}/start`);
          const decided = world.decisions.map(({ url, verdict }) => `${verdict} ${url}`);
          expect(outcome.hops.map(({ url, verdict }) => `${verdict} ${url}`)).toEqual(decided);
          const allowed = world.decisions.filter(({ verdict }) => verdict === 'allow');
          expect(target.seen.length - before).toBe(allowed.length);
          expect(allowed.every(({ port }) => port === target.port)).toBe(true);
          expect(world.asked.every((name) => name === NAME)).toBe(true);
          if (allowed.length > 1) followed += 1;
        },
      ),
      { numRuns: 300 },
    );
    expect(other.seen).toEqual([]);
    expect(followed).toBeGreaterThan(10);
  });
});
