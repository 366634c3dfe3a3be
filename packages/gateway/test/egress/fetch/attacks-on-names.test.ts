import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { allowing, HELLO, NAME, startAnswering, startTarget } from '../proxy/world.ts';
import { addressOf } from '../sample.ts';
import { codeOf, LOOPBACK, openBoth, openWorld, redirectTo, textOf } from './world.ts';

/** A server at another address of loopback, with the same port, that counts who comes. */
async function startSecond(port: number) {
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    socket.on('error', () => {});
    socket.end(HELLO);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.2', resolve));
  onTestFinished(() => void server.close());
  return seen;
}

/** A name server that gives one answer after the other, and the last one ever after. */
function inTurn(...answers: (readonly string[])[]) {
  let at = 0;
  return async () => {
    at += 1;
    return answers[Math.min(at, answers.length) - 1] ?? [];
  };
}

describe('an allowed name (N9)', () => {
  it('that leads to loopback leads nowhere, unless the list names that address too', async () => {
    const target = await startAnswering(HELLO);
    const { get, setList, asked } = openWorld({ entries: [`${NAME}:${target.port}`], answers: LOOPBACK });
    const url = `http://${NAME}:${target.port}/`;
    const outcome = await get(url);
    expect(outcome).toMatchObject({
      code: 'denied',
      hops: [{ verdict: 'deny', address: null, status: null }],
      bytesOut: 0,
    });
    expect(textOf(outcome)).toContain('expected an entry that names it');
    expect({ asked, seen: target.seen }).toEqual({ asked: [NAME], seen: [] });
    setList(...allowing(NAME, target.port));
    expect(textOf(await get(url))).toBe('hello');
  });

  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.1.1',
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    '::1',
    '::ffff:127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '0.0.0.0',
    '203.0.112.9',
  ])('that leads to %s is refused', async (address) => {
    const own = { addresses: [addressOf('203.0.112.9')] };
    const { get, asked } = openWorld({ entries: [NAME], answers: { [NAME]: [address] }, own });
    const outcome = await get(`http://${NAME}/`);
    expect(codeOf(outcome)).toBe('denied');
    expect({ asked, address: outcome.hops[0]?.address }).toEqual({ asked: [NAME], address: null });
  });

  it('that leads to a door of the gateway is refused, whatever the list says', async () => {
    const target = await startAnswering(HELLO);
    const entries = allowing(NAME, target.port);
    const closed = openWorld({ entries, answers: LOOPBACK, own: { ports: new Set([target.port]) } });
    const open = openWorld({ entries, answers: LOOPBACK });
    const url = `http://${NAME}:${target.port}/`;
    expect(textOf(await closed.get(url))).toMatch(
      /^denied: .* it is the gateway itself, expected another host$/,
    );
    expect(textOf(await open.get(url))).toBe('hello');
  });

  it.each(['http://denied.test/', 'http://allowed.test:81/', 'https://allowed.test/'])(
    'is asked for alone: no question about %s leaves',
    async (url) => {
      const { get, asked } = openWorld({ entries: [`http://${NAME}`], answers: {} });
      expect(codeOf(await get(url))).toBe('denied');
      expect(asked).toEqual([]);
      expect(codeOf(await get(`http://${NAME}/`))).toBe('unreachable');
      expect(asked).toEqual([NAME]);
    },
  );

  it.each([
    ['GET', '/v1/a', 'ok'],
    ['POST', '/v1/a', 'denied'],
    ['GET', '/v2', 'denied'],
    ['GET', '/v1/../v2', 'denied'],
    ['GET', '/v1/%2e%2e/v2', 'denied'],
  ])('allowed with GET and a path answers %s %s: %s', async (method, path, expected) => {
    const target = await startAnswering(HELLO);
    const entries = [`GET http://${NAME}:${target.port}/v1/`, `127.0.0.1:${target.port}`];
    const { get, asked } = openWorld({ entries, answers: LOOPBACK });
    expect(codeOf(await get(`http://${NAME}:${target.port}${path}`, { method }))).toBe(expected);
    expect(asked).toHaveLength(expected === 'ok' ? 1 : 0);
  });
});

describe('a name that changes its address (N10)', () => {
  it('is looked up once: what was checked is dialled', async () => {
    const target = await startAnswering(HELLO);
    const second = await startSecond(target.port);
    const answers = { [NAME]: inTurn(['127.0.0.1'], ['127.0.0.2']) };
    const { get, asked } = openWorld({ entries: allowing(NAME, target.port), answers });
    const outcome = await get(`http://${NAME}:${target.port}/`);
    expect(textOf(outcome)).toBe('hello');
    expect(outcome.hops).toMatchObject([{ address: '127.0.0.1' }]);
    expect({ asked, second }).toEqual({ asked: [NAME], second: { connections: 0 } });
  });

  it('is looked up and checked again for a redirect to itself, once', async () => {
    const target = await startAnswering(redirectTo('/again'));
    const second = await startSecond(target.port);
    const answers = { [NAME]: inTurn(['127.0.0.1'], ['127.0.0.2']) };
    const entries = allowing(NAME, target.port);
    const { get, asked, setList } = openWorld({ entries, answers });
    const url = `http://${NAME}:${target.port}/`;
    const outcome = await get(url);
    expect(codeOf(outcome)).toBe('denied');
    expect(outcome.hops).toMatchObject([
      { verdict: 'allow', address: '127.0.0.1', status: 302 },
      { verdict: 'deny', address: null, status: null },
    ]);
    expect({ asked, second }).toEqual({ asked: [NAME, NAME], second: { connections: 0 } });
    setList(...entries, `127.0.0.2:${target.port}`);
    expect(textOf(await get(url))).toBe('hello');
    expect(second).toEqual({ connections: 1 });
  });

  it.each([
    [['127.0.0.1', '169.254.169.254']],
    [['169.254.169.254', '127.0.0.1']],
    [['127.0.0.1', 'fe80::1%eth0']],
    [['127.0.0.1', 'denied.test']],
  ])('is not dialled at all when it has %j', async (addresses) => {
    const { get, target, url } = await openBoth(HELLO, { answers: { [NAME]: addresses } });
    expect((await get(url)).ok).toBe(false);
    expect(target.seen).toEqual([]);
  });

  it('has its second address dialled when the first does not answer', async () => {
    const target = await startAnswering(HELLO);
    const entries = [...allowing(NAME, target.port), `127.0.0.3:${target.port}`];
    const { get } = openWorld({ entries, answers: { [NAME]: ['127.0.0.3', '127.0.0.1'] } });
    const outcome = await get(`http://${NAME}:${target.port}/`);
    expect(outcome).toMatchObject({ ok: true, hops: [{ address: '127.0.0.1' }] });
  });
});

describe('a list that changes', () => {
  it('counts at the moment of the connection', async () => {
    const target = await startTarget(() => {});
    const { get, setList } = openWorld({
      entries: allowing(NAME, target.port),
      answers: {
        [NAME]: async () => {
          setList(`!${NAME}`, ...allowing(NAME, target.port));
          return ['127.0.0.1'];
        },
      },
    });
    const outcome = await get(`http://${NAME}:${target.port}/`);
    expect(outcome).toMatchObject({ code: 'denied', hops: [{ verdict: 'deny', address: null }] });
    expect(target.seen).toEqual([]);
  });
});
