/** What holds for all bytes. The oracle and a server of OpenSSL read the same bytes and are compared. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { readClientHello } from '../../../src/egress/tls/client-hello.ts';
import { namesIn } from './hello-oracle.ts';
import {
  alpn,
  extension,
  inRecords,
  messageOf,
  NEEDED,
  nameEntry,
  record,
  serverName,
  startServer,
} from './hellos.ts';

const names = fc.stringMatching(/^[a-z0-9.-]{1,40}$/);
const bytes = (maxLength: number) => fc.uint8Array({ maxLength });

/** What a client sends, and now and then a second name, a name of another type or no name. */
const extensions = fc
  .record({
    name: fc.option(names, { freq: 4 }),
    others: fc.array(
      fc.oneof(
        { weight: 1, arbitrary: names.map((name) => serverName(nameEntry(name))) },
        {
          weight: 1,
          arbitrary: fc
            .array(fc.tuple(names, fc.nat(1)), { maxLength: 2 })
            .map((entries) => serverName(...entries.map(([name, type]) => nameEntry(name, type)))),
        },
        {
          weight: 3,
          arbitrary: fc.array(names, { minLength: 1, maxLength: 3 }).map((each) => alpn(...each)),
        },
        {
          weight: 5,
          arbitrary: fc
            .tuple(fc.integer({ min: 60_000, max: 65_000 }), bytes(20))
            .map(([type, body]) => extension(type, body)),
        },
      ),
      { maxLength: 3 },
    ),
  })
  .map(({ name, others }) => [...(name === null ? [] : [serverName(nameEntry(name))]), ...others, ...NEEDED]);

const hellos = fc
  .record({
    extensions,
    session: fc.constantFrom(0, 32, 32, 33),
    tail: fc.constantFrom(0, 0, 0, 1),
    ends: fc.array(fc.nat(), { maxLength: 4 }),
  })
  .map(({ ends, session, tail, ...parts }) =>
    inRecords(messageOf({ ...parts, session: Buffer.alloc(session), tail: Buffer.alloc(tail) }), ends),
  );

type Change = (from: Buffer) => Buffer;
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(255)).map(
    ([place, byte]): Change =>
      (from) => {
        const to = Buffer.from(from);
        to[place % to.length] = byte;
        return to;
      },
  ),
  // Small steps are what makes lengths lie by one.
  fc.tuple(fc.nat(), fc.constantFrom(-1, 1)).map(
    ([place, step]): Change =>
      (from) => {
        const to = Buffer.from(from);
        const at = place % to.length;
        to[at] = ((to[at] ?? 0) + step) & 0xff;
        return to;
      },
  ),
  fc.tuple(fc.nat(), bytes(9)).map(
    ([place, more]): Change =>
      (from) => {
        const at = place % from.length;
        return Buffer.concat([from.subarray(0, at), more, from.subarray(at)]);
      },
  ),
  fc.tuple(fc.nat(), fc.nat(9)).map(
    ([place, count]): Change =>
      (from) => {
        const at = place % from.length;
        return Buffer.concat([from.subarray(0, at), from.subarray(at + count)]);
      },
  ),
);
const mutants = fc
  .tuple(hellos, fc.array(changes, { maxLength: 2 }))
  .map(([hello, steps]) => steps.reduce((from, change) => (from.length === 0 ? from : change(from)), hello));

const share = (count: number) => volume(count, count / 5);
const runs = (count: number) => ({ numRuns: share(count), seed: 20_260_101 });

describe('whatever the bytes', () => {
  it('random ones never throw and are never taken for a hello', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (random, isRecord) => {
        const answer = readClientHello(isRecord ? record(random) : random);
        expect(['more', 'other', 'malformed']).toContain(answer.kind);
      }),
      runs(5_000),
    );
  });

  it('a hello and its mutants have the one name that the oracle finds, or none', () => {
    const count = { named: 0, unnamed: 0, malformed: 0 };
    fc.assert(
      fc.property(mutants, (mutant) => {
        const answer = readClientHello(mutant);
        if (answer.kind !== 'hello') {
          count.malformed += answer.kind === 'malformed' ? 1 : 0;
          return;
        }
        expect(namesIn(mutant)).toEqual(answer.serverName === null ? [] : [answer.serverName]);
        count[answer.serverName === null ? 'unnamed' : 'named'] += 1;
      }),
      runs(10_000),
    );
    // Without enough of each it would have proved little.
    for (const seen of Object.values(count)) expect(seen).toBeGreaterThan(share(10_000) / 20);
  });

  it('an answer other than "more" stands, whatever comes behind', () => {
    let decided = 0;
    fc.assert(
      fc.property(mutants, bytes(40), fc.nat(), (mutant, more, place) => {
        const answer = readClientHello(mutant.subarray(0, place % (mutant.length + 1)));
        if (answer.kind === 'more') return;
        expect(readClientHello(Buffer.concat([mutant, more]))).toEqual(answer);
        decided += 1;
      }),
      runs(3_000),
    );
    expect(decided).toBeGreaterThan(share(3_000) / 10);
  });

  it('the records that a message is cut into make no difference', () => {
    fc.assert(
      fc.property(extensions, fc.array(fc.nat(), { maxLength: 30 }), (list, ends) => {
        const message = messageOf({ extensions: list });
        expect(readClientHello(inRecords(message, ends))).toEqual(readClientHello(inRecords(message)));
      }),
      runs(2_000),
    );
  });
});

describe('a server of OpenSSL', () => {
  const HELLO = inRecords(messageOf({ extensions: [serverName(nameEntry('one.example')), ...NEEDED] }));

  it('reads no other name in a mutant than the reader does', async () => {
    const nameSeenBy = await startServer();
    let named = 0;
    await fc.assert(
      fc.asyncProperty(mutants, async (mutant) => {
        const seen = await nameSeenBy(mutant);
        if (seen === null) return;
        named += 1;
        const answer = readClientHello(mutant);
        // What is malformed is not passed on, so it does not matter what a server would make of it.
        if (answer.kind !== 'malformed') expect(answer).toMatchObject({ kind: 'hello', serverName: seen });
      }),
      runs(400),
    );
    expect(named).toBeGreaterThan(share(400) / 8);
  });

  it('takes a hello behind an empty record, which the reader refuses', async () => {
    const nameSeenBy = await startServer();
    const hidden = Buffer.concat([record(Buffer.alloc(0)), HELLO]);
    expect(await nameSeenBy(hidden)).toBe('one.example');
    expect(readClientHello(hidden).kind).toBe('malformed');
    expect(await nameSeenBy(HELLO)).toBe('one.example');
    expect(readClientHello(HELLO)).toMatchObject({ serverName: 'one.example' });
  });
});
