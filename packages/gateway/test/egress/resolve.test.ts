import { getEventListeners } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatAddress } from '../../src/egress/address.ts';
import { type HostName, parseHost } from '../../src/egress/authority.ts';
import {
  type Lookup,
  LookupTurns,
  ownOf,
  type ResolveOptions,
  resolveTarget,
  systemLookup,
} from '../../src/egress/resolve.ts';
import { addressOf, listOf, requestOf } from './sample.ts';

type World = Partial<ResolveOptions> & { readonly answers?: readonly (readonly string[])[] };

/** Resolves in a world whose name server gives these answers in turn. */
async function resolve(
  entries: readonly string[],
  request: string,
  { answers = [], ...options }: World = {},
) {
  const asked: string[] = [];
  const lookup: Lookup = async (name) => {
    asked.push(name);
    return answers[asked.length - 1] ?? [];
  };
  const result = await resolveTarget(listOf(...entries), requestOf(request), {
    lookup,
    own: { addresses: [], ports: new Set() },
    lookupMs: 5_000,
    signal: new AbortController().signal,
    ...options,
  });
  const dialled = result.verdict === 'allow' ? result.addresses.map(formatAddress) : [];
  return { asked, result, dialled, at: result.verdict === 'deny' ? result.at : null };
}

describe('resolveTarget()', () => {
  it('asks for an allowed name once and gives the addresses in their order', async () => {
    const answers = [['93.184.216.34', '2606:4700::1', '93.184.216.34']];
    const { asked, dialled, result } = await resolve(['example.com'], 'Example.com.:443', { answers });
    expect(asked).toEqual(['example.com']);
    expect(dialled).toEqual(['93.184.216.34', '2606:4700::1']);
    expect(result).toMatchObject({ verdict: 'allow', rule: 'example.com' });
  });

  it.each([
    [[], 'secret-data.attacker.example:443'],
    [['example.com'], 'secret-data.attacker.example:443'],
    [['example.com'], 'secret-data.example.com:443'],
    [['example.com'], 'example.com:53'],
    [['*.example.com', '!a.example.com'], 'a.example.com:443'],
  ])('with %j lets no question about %s leave', async (entries, request) => {
    const { asked, at } = await resolve(entries, request, { answers: [['93.184.216.34']] });
    expect({ asked, at }).toEqual({ asked: [], at: 'list' });
  });

  it.each([
    ['loopback', '127.0.0.1'],
    ['loopback', '::1'],
    ['a mapped address', '::ffff:127.0.0.1'],
    ['this network', '0.0.0.0'],
    ['a private network', '192.168.1.1'],
    ['a unique local address', 'fd12::1'],
    ['the local link', 'fe80::1'],
    ['metadata', '169.254.169.254'],
    ['metadata of Azure', '168.63.129.16'],
    ['metadata of Alibaba', '100.100.100.200'],
    ['metadata over IPv6', 'fd00:ec2::254'],
    ['NAT64 of metadata', '64:ff9b::a9fe:a9fe'],
    ['6to4 of a private network', '2002:a00:1::1'],
    ['multicast', '224.0.0.1'],
    ['the address of the machine', '203.0.112.9'],
    ['a short spelling', '127.1'],
    ['a zone', 'fe80::1%eth0'],
    ['not a valid address', 'example.org'],
    ['nothing', ''],
  ])('refuses all answers when one is %s', async (_what, bad) => {
    const own = { addresses: [addressOf('203.0.112.9')], ports: new Set<number>() };
    for (const answer of [[bad], ['93.184.216.34', bad], [bad, '93.184.216.34']]) {
      const { asked, dialled, result } = await resolve(['example.com'], 'example.com:443', {
        answers: [answer],
        own,
      });
      expect({ asked, dialled, verdict: result.verdict }).toEqual({
        asked: ['example.com'],
        dialled: [],
        verdict: 'deny',
      });
    }
    // The control: the same name with the good answer alone.
    const { dialled } = await resolve(['example.com'], 'example.com:443', {
      answers: [['93.184.216.34']],
      own,
    });
    expect(dialled).toEqual(['93.184.216.34']);
  });

  it('dials a special address that an entry names, for the port that it names', async () => {
    const entries = ['db.example.com:5432', '10.1.2.0/24:5432'];
    const answers = [['10.1.2.3']];
    expect((await resolve(entries, 'db.example.com:5432', { answers })).dialled).toEqual(['10.1.2.3']);
    expect(
      (await resolve(['db.example.com:5432', '10.1.2.0/24'], 'db.example.com:5432', { answers })).at,
    ).toBe('address');
    expect((await resolve(entries, 'db.example.com:5432', { answers: [['10.1.3.3']] })).at).toBe('address');
    expect((await resolve(entries, '10.1.2.3:5432')).dialled).toEqual(['10.1.2.3']);
  });

  it('refuses an answer that a denying entry has', async () => {
    const { result } = await resolve(['example.com', '!93.184.0.0/16'], 'example.com:443', {
      answers: [['93.184.216.34']],
    });
    expect(result).toMatchObject({
      rule: '!93.184.0.0/16',
      why: 'Cannot reach "example.com:443" at "93.184.216.34": the entry "!93.184.0.0/16" denies it, expected no such entry in the allow-list',
    });
  });

  it('asks nobody about an address, and checks that it is not the own one', async () => {
    const own = { addresses: [addressOf('8.8.8.8')], ports: new Set<number>() };
    expect(await resolve(['9.9.9.9'], '0x9090909:443', { own })).toMatchObject({
      asked: [],
      dialled: ['9.9.9.9'],
    });
    expect(await resolve(['8.0.0.0/8'], '8.8.8.8:443', { own })).toMatchObject({ asked: [], at: 'address' });
    expect(await resolve(['8.8.8.8'], '8.8.8.8:443', { own })).toMatchObject({ dialled: ['8.8.8.8'] });
  });

  it('never leads to the ports of the gateway on this machine, whatever the list says', async () => {
    const own = { addresses: [addressOf('8.8.8.8')], ports: new Set([7_070]) };
    const home = [
      '127.0.0.1',
      '127.9.9.9',
      '0.0.0.0',
      '[::1]',
      '[::]',
      '8.8.8.8',
      '[64:ff9b::7f00:1]',
      '[2001:0:7f00:1::f5ff:fffe]',
    ];
    for (const host of home) {
      const refused = await resolve([`${host}:7070`], `${host}:7070`, { own });
      expect(refused).toMatchObject({ dialled: [], at: 'address' });
      expect(refused.result).toMatchObject({ why: expect.stringContaining('the gateway itself') });
      expect((await resolve([`${host}:7071`], `${host}:7071`, { own })).result.verdict).toBe('allow');
    }
    const named = await resolve(['x.example:7070', '127.0.0.1:7070'], 'x.example:7070', {
      answers: [['127.0.0.1']],
      own,
    });
    expect(named.at).toBe('address');
    expect((await resolve(['9.9.9.9:7070'], '9.9.9.9:7070', { own })).dialled).toEqual(['9.9.9.9']);
  });

  it('gives an address that really is the server, though the name means another the next time', async () => {
    const server = createServer((socket) => socket.end('here'));
    onTestFinished(() => void server.close());
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const bound = server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    const entries = [`rebind.example:${port}`, `127.0.0.1:${port}`];
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const { dialled, asked } = await resolve(entries, `rebind.example:${port}`, { answers });
    const heard = await new Promise<string>((done, fail) => {
      const socket = connect(port, dialled[0]);
      socket.once('data', (bytes) => done(bytes.toString())).once('error', fail);
    });
    expect({ heard, asked }).toEqual({ heard: 'here', asked: ['rebind.example'] });
  });
});

describe('resolveTarget() and a name server that misbehaves', () => {
  const entries = ['example.com'];
  const failing = (error: unknown) => ({ lookup: () => Promise.reject(error) });

  it.each([
    ['has no answer', { answers: [[]] }, 'its name has no address'],
    [
      'has too many',
      { answers: [Array.from({ length: 65 }, (_, at) => `9.9.9.${at}`)] },
      '65 addresses, expected at most 64',
    ],
    ['fails', failing(Object.assign(new Error('x'), { code: 'ENOTFOUND' })), '(ENOTFOUND)'],
    ['fails with words', failing(new Error('<evil>')), '(failed)'],
    ['fails with a strange code', failing(Object.assign(new Error('x'), { code: '\x1b[2J' })), '(failed)'],
    ['fails with nothing', failing(undefined), '(failed)'],
    [
      'throws',
      {
        lookup: () => {
          throw new TypeError('no');
        },
      },
      '(failed)',
    ],
    [
      'never answers',
      { lookup: () => new Promise<never>(() => {}), lookupMs: 20 },
      'expected an answer within 20 ms',
    ],
  ])('refuses when it %s', async (_what, world: World, why) => {
    const { result, at } = await resolve(entries, 'example.com:443', world);
    expect(at).toBe('lookup');
    expect(result).toMatchObject({ rule: null, why: expect.stringContaining(why) });
  });

  it('takes the most answers that are allowed', async () => {
    const answers = [Array.from({ length: 64 }, (_, at) => `9.9.9.${at}`)];
    expect((await resolve(entries, 'example.com:443', { answers })).dialled).toHaveLength(64);
  });

  it('ends with the call, tells the lookup, and leaves no listener behind', async () => {
    const call = new AbortController();
    const reported: boolean[] = [];
    const lookup: Lookup = (_name, signal) =>
      new Promise((_done, fail) => {
        signal.addEventListener('abort', () => {
          reported.push(signal.aborted);
          fail(new Error('aborted'));
        });
        setImmediate(() => call.abort());
      });
    const ended = await resolve(entries, 'example.com:443', { lookup, signal: call.signal });
    expect(ended.result).toMatchObject({
      why: 'Cannot reach "example.com:443": the call has ended, expected one that still runs',
    });
    expect(reported).toEqual([true]);
    expect(getEventListeners(call.signal, 'abort')).toEqual([]);
    const { asked, at } = await resolve(entries, 'example.com:443', { signal: call.signal });
    expect({ asked, at }).toEqual({ asked: [], at: 'lookup' });
  });

  it('leaves no listener behind when all went well', async () => {
    const { signal } = new AbortController();
    await resolve(entries, 'example.com:443', { answers: [['9.9.9.9']], signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

function nameOf(text: string): HostName {
  const host = parseHost(text);
  if (!host.ok || host.value.kind !== 'name') throw new Error(text);
  return host.value.name;
}

/** A lookup that answers when the test says so. */
function slowLookup() {
  const asked: string[] = [];
  const answers = new Map<string, () => void>();
  const lookup = (name: HostName) =>
    new Promise<readonly string[]>((resolve) => {
      asked.push(name);
      answers.set(name, () => resolve([`address of ${name}`]));
    });
  const answer = async (name: string) => {
    answers.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lookup, asked, answer };
}

const never = () => new AbortController().signal;

describe('runs that look names up', () => {
  it('have one question under way each, and so many in all', async () => {
    const { lookup, asked, answer } = slowLookup();
    const turns = new LookupTurns(lookup, 2);
    const [a, b, c] = [turns.forRun(), turns.forRun(), turns.forRun()];
    const all = [
      a(nameOf('a1.test'), never()),
      a(nameOf('a2.test'), never()),
      b(nameOf('b1.test'), never()),
      c(nameOf('c1.test'), never()),
    ];
    expect(asked).toEqual(['a1.test', 'b1.test']);
    await answer('a1.test');
    // The run that had its turn goes behind the one that had none.
    expect(asked).toEqual(['a1.test', 'b1.test', 'c1.test']);
    await answer('c1.test');
    expect(asked.at(-1)).toBe('a2.test');
    await answer('b1.test');
    await answer('a2.test');
    expect(await Promise.all(all)).toEqual([
      ['address of a1.test'],
      ['address of a2.test'],
      ['address of b1.test'],
      ['address of c1.test'],
    ]);
  });

  it('with a thousand names that nobody answers keep no other run from its answer', async () => {
    const { lookup, asked, answer } = slowLookup();
    const turns = new LookupTurns(lookup, 2);
    const [hostile, other] = [turns.forRun(), turns.forRun()];
    const questions = Array.from({ length: 1_000 }, (_, index) => hostile(nameOf(`h${index}.test`), never()));
    const answered = other(nameOf('other.test'), never());
    expect(asked).toEqual(['h0.test', 'other.test']);
    await answer('other.test');
    expect(await answered).toEqual(['address of other.test']);
    expect(questions).toHaveLength(1_000);
  });

  it('that have given up are not asked for', async () => {
    const { lookup, asked, answer } = slowLookup();
    const run = new LookupTurns(lookup, 2).forRun();
    const stop = new AbortController();
    const first = run(nameOf('first.test'), never());
    const refused = expect(run(nameOf('second.test'), stop.signal)).rejects.toThrow('gone');
    stop.abort(new Error('gone'));
    const third = run(nameOf('third.test'), never());
    await answer('first.test');
    await refused;
    await answer('third.test');
    expect([await first, await third]).toHaveLength(2);
    expect(asked).toEqual(['first.test', 'third.test']);
  });

  it('go on after a lookup that failed', async () => {
    const turns = new LookupTurns(async (name) => {
      if (name === 'bad.test') throw new Error('no such name');
      return ['192.0.2.1'];
    }, 1);
    const run = turns.forRun();
    await expect(run(nameOf('bad.test'), never())).rejects.toThrow('no such name');
    expect(await run(nameOf('good.test'), never())).toEqual(['192.0.2.1']);
  });
});

describe('systemLookup()', () => {
  it('gives every address of a name that the system knows', async () => {
    const answers = await systemLookup(nameOf('localhost'), new AbortController().signal);
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers) expect(['127.0.0.1', '::1']).toContain(answer);
  });

  it('asks nothing for a call that has ended', async () => {
    await expect(systemLookup(nameOf('localhost'), AbortSignal.abort())).rejects.toThrow();
  });
});

describe('ownOf()', () => {
  it('lists every address of every interface, without its zone', () => {
    const interfaces = {
      lo: [{ address: '127.0.0.1' }, { address: '::1' }],
      eth0: [{ address: '192.0.2.7' }, { address: 'fe80::1%eth0' }, { address: 'fe80::2%3' }],
      gone: undefined,
    };
    const { addresses, ports } = ownOf(interfaces, [8_080, 8_443]);
    expect(addresses.map(formatAddress)).toEqual(['127.0.0.1', '::1', '192.0.2.7', 'fe80::1', 'fe80::2']);
    expect([...ports]).toEqual([8_080, 8_443]);
  });

  it('knows the machine that it runs on', () => {
    const { addresses } = ownOf(undefined, []);
    expect(addresses.map(formatAddress)).toContain('127.0.0.1');
  });

  it('does not leave out what it cannot read', () => {
    expect(() => ownOf({ eth0: [{ address: 'eth0' }] }, [])).toThrow(
      'Cannot list own addresses: "eth0" is not a valid address, expected an IP address',
    );
  });
});
