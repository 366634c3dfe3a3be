import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TLS_LIMITS } from '../../../src/egress/limits.ts';
import { readClientHello } from '../../../src/egress/tls/client-hello.ts';
import {
  alpn,
  CLIENTS,
  extension,
  helloWith,
  inRecords,
  messageOf,
  NEEDED,
  nameEntry,
  type Offer,
  type Parts,
  record,
  serverName,
  vector,
} from './hellos.ts';

const NAME = 'api.example.com';
const FOUND = { kind: 'hello', serverName: NAME, protocols: ['http/1.1'] };
const MORE = { kind: 'more' };
const EMPTY = Buffer.alloc(0);

const withExtensions = (...extensions: readonly Uint8Array[]) => inRecords(messageOf({ extensions }));

describe('the hello of a real client', () => {
  const offers: readonly (readonly [string, Offer])[] = [
    ['a name and protocols', { name: NAME, protocols: ['http/1.1'] }],
    ['a name alone', { name: 'Upper.Example.COM', protocols: [] }],
    ['neither', { name: null, protocols: [] }],
  ];
  const cases = Object.entries(CLIENTS).flatMap(([client, hello]) =>
    offers.map(([what, offer]) => ({ client, what, hello, offer })),
  );

  it.each(cases)('of $client with $what is read, in any pieces', async ({ client, hello, offer }) => {
    const bytes = await hello(offer);
    // curl writes a name in small letters before it sends it.
    const name = client === 'curl' ? (offer.name?.toLowerCase() ?? null) : offer.name;
    expect(readClientHello(bytes)).toEqual({
      kind: 'hello',
      serverName: name,
      protocols: offer.protocols,
    });
    for (let count = 0; count < bytes.length; count += 1)
      expect(readClientHello(bytes.subarray(0, count))).toEqual(MORE);
  });

  it('is read when the client splits it over several records', async () => {
    const protocols = Array.from({ length: 40 }, (_, index) => `protocol-number-${index}`);
    const split = CLIENTS['openssl in records of 512 bytes'];
    const bytes = await split?.({ name: NAME, protocols });
    expect(bytes?.readUInt16BE(3)).toBe(512);
    expect(readClientHello(bytes ?? EMPTY)).toEqual({ kind: 'hello', serverName: NAME, protocols });
  });
});

describe('readClientHello()', () => {
  it('asks for more when there is nothing', () => {
    expect(readClientHello(EMPTY)).toEqual(MORE);
  });

  it('does not look behind the hello', () => {
    const early = Buffer.concat([
      helloWith(NAME),
      record(Buffer.alloc(64, 1), 23),
      Buffer.alloc(100_000, 0xff),
    ]);
    expect(readClientHello(early)).toEqual(FOUND);
  });

  it('reads a view into other bytes, and nothing around it', () => {
    const hello = helloWith(NAME);
    const whole = new Uint8Array(Buffer.concat([Buffer.alloc(9, 22), hello, Buffer.alloc(9, 22)]));
    expect(readClientHello(whole.subarray(9, 9 + hello.length))).toEqual(FOUND);
  });

  it('reads the hello of an old client, which has no extensions', () => {
    const none = { kind: 'hello', serverName: null, protocols: [] };
    expect(readClientHello(inRecords(messageOf({ extensions: null })))).toEqual(none);
    expect(readClientHello(inRecords(messageOf({ extensions: [] })))).toEqual(none);
  });

  it.each([
    NAME,
    'localhost',
    '192.0.2.1',
    'example.com.',
    'xn--bcher-kva.example',
    'a_b.example',
    'a'.repeat(253),
  ])('gives the name %j as it was sent', (name) =>
    expect(readClientHello(helloWith(name))).toMatchObject({ serverName: name }),
  );

  it('gives the protocols in their order, whatever their bytes', () => {
    const offered = ['h2', 'http/1.1', '\x0a\x0a', '\xff\x00'];
    expect(readClientHello(withExtensions(alpn(...offered)))).toMatchObject({ protocols: offered });
  });

  it('reads a hello in records of one byte each', () => {
    const message = messageOf({ extensions: [serverName(nameEntry(NAME)), alpn('http/1.1')] });
    const bytes = inRecords(message, [...message.keys()]);
    expect(bytes.length).toBe(message.length * 6);
    expect(readClientHello(bytes)).toEqual(FOUND);
    expect(readClientHello(bytes.subarray(0, -1))).toEqual(MORE);
  });
});

describe('what is not TLS', () => {
  it.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['SSH', Buffer.from('SSH-2.0-OpenSSH\r\n')],
    ['HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n')],
    ['a hello of SSL 2, which has no names', Buffer.from([0x80, 0x2e, 1, 3, 1, 0, 0x15])],
    ['PostgreSQL', Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f])],
    ['a packet of MySQL with 278 bytes', Buffer.from([22, 1, 0, 1, 0x8d, 0xa6, 0xff, 0x19])],
    ['a message of MongoDB with 278 bytes', Buffer.from([22, 1, 0, 0, 1, 0, 0, 0, 0, 0])],
    ['a byte 22 and then text', Buffer.from('\x16hello')],
    ['a byte 22 and a version that no server takes', Buffer.from([22, 16, 0, 0, 4, 1])],
  ])('is told apart at its first bytes: %s', (_what, bytes) => {
    expect(readClientHello(bytes)).toEqual({ kind: 'other' });
  });
});

/** Each is one change to a hello that is read, and what the refusal says about it. */
const LENGTHS = 'lengths that do not add up';
const TWICE = serverName(nameEntry(NAME), nameEntry('evil.example'));
const list = (...extensions: readonly Uint8Array[]): Parts => ({ extensions });
const MALFORMED: readonly (readonly [string, Parts, string])[] = [
  [
    'two extensions with names',
    list(serverName(nameEntry(NAME)), serverName(nameEntry(NAME))),
    'two extensions',
  ],
  [
    'two extensions of a kind that nobody knows',
    list(extension(99), extension(99)),
    'two extensions of type 99',
  ],
  ['two lists of protocols', list(alpn('h2'), alpn('http/1.1')), 'two extensions of type 16'],
  ['two names in one list', list(TWICE), 'another name'],
  ['a name of another type', list(serverName(nameEntry(NAME, 1))), 'another name'],
  ['a name of another type behind it', list(serverName(nameEntry(NAME), nameEntry('b', 1))), 'another name'],
  ['no name in the list', list(serverName()), LENGTHS],
  ['an extension for names without a list', list(extension(0)), LENGTHS],
  ['a name without characters', list(serverName(nameEntry(''))), 'its server name is ""'],
  ['a name with a NUL', list(serverName(nameEntry(`${NAME}\0.evil.example`))), 'its server name is "api'],
  ['a name that is not ASCII', list(serverName(nameEntry('b\xfccher.example'))), 'its server name is "b'],
  ['a name with a blank', list(serverName(nameEntry('a b.example'))), 'its server name is "a b'],
  [
    'a name with a line break',
    list(serverName(nameEntry('a\r\nb'))),
    String.raw`its server name is "a\r\nb"`,
  ],
  ['a name with a control character', list(serverName(nameEntry('a\x7f'))), 'its server name is "a\\u{7f}"'],
  ['a dot for a name', list(serverName(nameEntry('.'))), 'its server name is "."'],
  ['dots for a name', list(serverName(nameEntry('...'))), 'its server name is "..."'],
  [
    'bytes behind the list of names',
    list(extension(0, vector(2, nameEntry(NAME)), Uint8Array.of(0))),
    LENGTHS,
  ],
  ['bytes behind the name', list(serverName(nameEntry(NAME), Uint8Array.of(0))), 'another name'],
  ['a name that is cut', list(extension(0, vector(2, nameEntry(NAME).subarray(0, -1)))), LENGTHS],
  ['a list of names that is cut', list(extension(0, vector(2, nameEntry(NAME)).subarray(0, -1))), LENGTHS],
  ['no protocols in the list', list(alpn()), LENGTHS],
  ['a protocol without a name', list(alpn('h2', '')), LENGTHS],
  [
    'bytes behind the protocols',
    list(extension(16, vector(2, vector(1, Buffer.from('h2'))), EMPTY, Buffer.alloc(1))),
    LENGTHS,
  ],
  ['an extension that is cut', list(serverName(nameEntry(NAME)), Uint8Array.of(0, 10, 0, 9, 1)), LENGTHS],
  ['half of the head of an extension', list(serverName(nameEntry(NAME)), Uint8Array.of(0, 10, 0)), LENGTHS],
  ['bytes behind the extensions', { tail: Uint8Array.of(0) }, LENGTHS],
  ['half of the length of the extensions', { extensions: null, tail: Uint8Array.of(0) }, LENGTHS],
  ['extensions that are cut', { extensions: null, tail: Uint8Array.of(0, 9, 0) }, LENGTHS],
  ['a session of 33 bytes', { session: Buffer.alloc(33) }, 'its session'],
  ['no ciphers', { suites: EMPTY }, 'ciphers'],
  ['half a cipher', { suites: Buffer.alloc(3) }, 'ciphers'],
  ['no compressions', { methods: EMPTY }, 'compressions'],
  ['another type', { type: 2 }, 'its type is 2'],
];

describe('a malformed hello', () => {
  it.each(MALFORMED)('with %s is refused, and says why', (_what, parts, why) => {
    const bytes = inRecords(messageOf(parts));
    expect(readClientHello(bytes)).toEqual({ kind: 'malformed', why: expect.stringContaining(why) });
    expect(readClientHello(inRecords(messageOf(parts), [1, 3, 50]))).toEqual(readClientHello(bytes));
  });

  it('is one whose parts are not those, when all else is the same', () => {
    expect(readClientHello(withExtensions(serverName(nameEntry(NAME)), ...NEEDED, alpn('http/1.1')))).toEqual(
      FOUND,
    );
  });

  it('says so in one sentence that can be shown', () => {
    const answer = readClientHello(withExtensions(serverName(nameEntry(`\x1b[2J${'x'.repeat(9_000)}`))));
    expect(answer).toEqual({
      kind: 'malformed',
      why: expect.stringMatching(
        /^Cannot read hello: its server name is "[ -~…]{1,140}", expected a name in ASCII$/,
      ),
    });
  });
});

describe('records', () => {
  const hello = helloWith(NAME);
  const message = hello.subarray(5);
  const refused = (why: string) => ({ kind: 'malformed', why: expect.stringContaining(why) });

  it.each([
    ['a warning', record(Uint8Array.of(1, 112), 21), 'a record of type 21'],
    ['an empty record of data', record(EMPTY, 23), 'a record of type 23'],
    ['a change of ciphers', record(Uint8Array.of(1), 20), 'a record of type 20'],
    ['an empty handshake', record(EMPTY), 'a record has 0 bytes'],
    ['a heartbeat', record(Uint8Array.of(1, 0, 0), 24), 'a record of type 24'],
    ['a warning of no version', record(Uint8Array.of(1, 112), 21, [0, 1]), 'the version of its record is 0'],
  ])('before the hello are malformed: %s', (_what, before, why) => {
    expect(readClientHello(Buffer.concat([before, hello]))).toEqual(refused(why));
  });

  it.each([
    ['a warning', record(Uint8Array.of(1, 112), 21)],
    ['an empty handshake', record(EMPTY)],
    ['a change of ciphers', record(Uint8Array.of(1), 20)],
    ['a handshake of another version', record(Uint8Array.of(1), 22, [4, 1])],
  ])('between two parts of the hello are malformed: %s', (_what, between) => {
    const parts = [record(message.subarray(0, 50)), record(message.subarray(50))] as const;
    expect(readClientHello(Buffer.concat(parts))).toEqual(FOUND);
    expect(readClientHello(Buffer.concat([parts[0], between, parts[1]]))).toMatchObject({
      kind: 'malformed',
    });
  });

  it.each([0, 1, 2, 4, 15])(
    'of version %i.x are malformed, since there are servers that take them',
    (major) => {
      expect(readClientHello(record(message, 22, [major, 1]))).toEqual(refused(`record is ${major}`));
    },
  );

  it.each([0, 1, 3, 4, 255])('of version 3.%i are read', (minor) => {
    expect(readClientHello(record(message, 22, [3, minor]))).toEqual(FOUND);
  });

  it('that hold more than the hello are malformed', () => {
    const two = Buffer.concat([message, message]);
    expect(readClientHello(record(two))).toEqual(refused('its last record is longer'));
    expect(readClientHello(inRecords(two, [message.length - 3]))).toEqual(
      refused('its last record is longer'),
    );
  });
});

describe('a length that is a lie', () => {
  const refused = { kind: 'malformed', why: expect.any(String) };

  it.each([
    ['a record of 65535 bytes', Buffer.from([22, 3, 1, 0xff, 0xff])],
    ['a record of 16385 bytes', Buffer.from([22, 3, 1, 0x40, 1])],
    ['a message of 16 MiB', Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
    ['a message that is one byte too long', Buffer.from([22, 3, 1, 0, 4, 1, 0, 0xff, 0xfd])],
  ])('is refused before anything is awaited: %s', (_what, bytes) => {
    expect(readClientHello(bytes)).toEqual(refused);
  });

  it('makes nobody wait for more than is looked at', () => {
    const longest = messageOf({ extensions: [extension(21, Buffer.alloc(63_000))] });
    expect(readClientHello(inRecords(longest, [16_000, 32_000, 48_000]))).toMatchObject({ kind: 'hello' });
    const crumbs = inRecords(
      longest,
      Array.from({ length: 1_000 }, (_, index) => index * 63),
    );
    expect(crumbs.length).toBeGreaterThan(TLS_LIMITS.helloBytes);
    expect(readClientHello(crumbs.subarray(0, TLS_LIMITS.helloBytes - 1))).toEqual(MORE);
    expect(readClientHello(crumbs.subarray(0, TLS_LIMITS.helloBytes))).toEqual(refused);
    expect(readClientHello(crumbs)).toEqual(refused);
  });

  it('makes nobody read crumbs without end', () => {
    const message = messageOf({
      extensions: [serverName(nameEntry(NAME)), extension(21, Buffer.alloc(2_000))],
    });
    const inCrumbs = (count: number) => inRecords(message, [...Array(count).keys()]);
    expect(readClientHello(inCrumbs(1_024))).toMatchObject({ serverName: NAME });
    expect(readClientHello(inCrumbs(1_025))).toMatchObject({ why: expect.stringContaining('1024 records') });
  });

  it('inside a hello reaches nothing behind it', () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(0xff, 0x7f, 0x40, 0), (place, byte) => {
        const bytes = Buffer.concat([helloWith(NAME), Buffer.from('evil.example'.repeat(9_000))]);
        bytes[place % helloWith(NAME).length] = byte;
        expect(JSON.stringify(readClientHello(bytes))).not.toContain('evil');
      }),
    );
  });
});
