import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { sample, volume } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  endAll,
  gone,
  identity,
  kinds,
  LOOK_AGAIN_MS,
  living,
  makeFolder,
  REPORT,
  removeFolder,
  shipped,
} from './launch.ts';
import { frame, rawFrame, Starter } from './starter.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_161);
const mark = `86402.${process.pid}`;

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterEach(() => void endAll(mark));
afterAll(() => removeFolder(folder));

/** Starts a gateway with a starter; gives both when the starter is there. */
async function begin(
  launcher: string,
): Promise<{ readonly gateway: ChildProcess; readonly starter: number }> {
  const file = join(import.meta.dirname, 'gateway-that-dies.mjs');
  const gateway = spawn(process.execPath, [file, launcher, mark, ...user], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const starter = await new Promise<number>((done, fail) => {
    gateway.stdout.once('data', (chunk) => done(Number(chunk)));
    gateway.once('exit', () => fail(new Error('the gateway ended before it had a starter')));
  });
  return { gateway, starter };
}

function kill(gateway: ChildProcess): Promise<unknown> {
  const end = new Promise((done) => gateway.once('exit', done));
  gateway.kill('SIGKILL');
  return end;
}

const pause = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

describe.each(kinds())('a gateway with the %s starter', (kind) => {
  test('leaves its runs behind when it is killed, until the starter goes on', async () => {
    const { gateway, starter } = await begin(built[kind]);
    while (living(`sleep\0${mark}`).length < 30) await pause(LOOK_AGAIN_MS);
    process.kill(starter, 'SIGSTOP');
    await kill(gateway);
    await pause(50);
    expect(living(`sleep\0${mark}`).length).toBeGreaterThanOrEqual(30);
    process.kill(starter, 'SIGCONT');
    await gone(mark);
  });

  test('leaves nothing behind whenever it is killed, in the middle of starts too', async () => {
    // The shorter waits meet bubblewrap and the launcher in their set-up.
    for (const ms of sample([0, 3, 6, 10, 15, 20, 30, 40, 60, 90, 140, 250], 4)) {
      const { gateway } = await begin(built[kind]);
      await pause(ms);
      await kill(gateway);
      await gone(mark);
    }
  });
});

const number = fc.oneof(
  fc.constantFrom('0', '1', '2', '3', '67', '9007199254740992', '9007199254740993', '18446744073709551616'),
  fc.integer({ min: -2, max: 300 }).map(String),
);
const descriptor = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('null', 'out', 'in') },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom('bytes', 'read', 'null'), number).map((each) => each.join(':')),
  },
  { weight: 1, arbitrary: fc.array(number, { maxLength: 6 }).map((each) => ['map', ...each].join(':')) },
  { weight: 1, arbitrary: fc.string({ unit: CHARACTER }).map((each) => each.replaceAll('\0', '')) },
);
const args = fc.oneof(
  fc.constant([...user, '--', '/bin/true', 'true']),
  fc.constant([...user, 'mode=exec', 'set=A=B', '--', '/bin/true', 'true']),
  fc.array(fc.oneof(descriptor, fc.constantFrom('--', 'words=3', 'map=3', 'keep=3', 'status=4')), {
    maxLength: 6,
  }),
);
const bytes = fc.oneof(
  fc.constant(Buffer.alloc(0)),
  fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each)),
);
const sound = fc.tuple(fc.array(descriptor, { maxLength: 8 }), args, number).map(([given, tail, id]) => {
  const byteCount = given.reduce((sum, each) => sum + Number(/^bytes:(\d{1,3})$/.exec(each)?.[1] ?? 0), 0);
  return frame(['start', id, ...given, '--', ...tail], Buffer.alloc(byteCount, 'b'));
});
const request = fc.oneof(
  { weight: 6, arbitrary: sound },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('took', 'kill', 'start'), number).map((each) => frame(each)),
  },
  { weight: 1, arbitrary: fc.tuple(fc.array(descriptor), bytes).map(([each, rest]) => frame(each, rest)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(400), bytes, fc.option(fc.nat(2 ** 32 - 1), { nil: undefined }))
      .map(([text, rest, length]) => rawFrame(text, rest, length)),
  },
);
/** Where a stream of requests is cut into pieces, and which of its bytes is another one. */
const stream = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 6 }),
  cuts: fc.array(fc.nat(600), { maxLength: 4 }),
  changed: fc.option(fc.tuple(fc.nat(200), fc.nat(255)), { freq: 2 }),
});

/** One that has nothing wrong with it. */
const starting = {
  requests: [frame(['start', '1', 'null', 'null', 'null', '--', ...user, '--', '/bin/true', 'true'])],
  cuts: [],
  changed: null,
};

test('the sanitized starter answers any bytes with runs or its end, and never with a fault', async () => {
  const seen = { refused: 0, started: 0 };
  await fc.assert(
    fc.asyncProperty(stream, async ({ requests, cuts, changed }) => {
      const starter = new Starter(built.sanitized);
      const all = Buffer.concat(requests);
      if (changed !== null) all[changed[0] % all.length] = changed[1];
      const places = [0, ...cuts.map((cut) => cut % all.length).sort((a, b) => a - b), all.length];
      for (const [at, place] of places.slice(0, -1).entries()) {
        starter.socket.write(all.subarray(place, places[at + 1]));
        await new Promise((wake) => setImmediate(wake));
      }
      // A last request that cannot be understood: all before it have been answered when the starter is gone.
      starter.socket.write(frame(['end']));
      starter.socket.end();
      const { code, signal, stderr } = await starter.end;
      expect(stderr).not.toMatch(REPORT);
      expect(signal).toBeNull();
      expect([0, 125]).toContain(code);
      for (const line of starter.lines) {
        expect(line).toMatch(
          /^(?:started \d+ \d+(?: \d+)*|failed \d+ [a-z]+ [A-Z]+|ended \d+ (?:exit=(?!99)\d+|signal=\d+))$/,
        );
      }
      seen.refused += code === 125 ? 1 : 0;
      seen.started += starter.lines.some((line) => line.startsWith('started ')) ? 1 : 0;
    }),
    { numRuns: volume(200, 60), examples: [[starting]] },
  );
  expect(seen.refused).toBeGreaterThan(0);
  expect(seen.started).toBeGreaterThan(0);
});
