import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sample } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  endAll,
  gone,
  identity,
  isRoot,
  LOOK_AGAIN_MS,
  living,
  makeFolder,
  removeFolder,
  shipped,
} from './launch.ts';
import { frame, rawFrame, Starter } from './starter.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const uid = 60_151;
const user = identity(uid);
/** The argument of sleeping commands: a number that no other process has. */
const mark = `86401.${process.pid}`;
const started: Starter[] = [];

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterEach(async () => {
  for (const each of started) each.socket.destroy();
  await Promise.all(started.splice(0).map((each) => each.end));
  endAll(mark);
});
afterAll(() => removeFolder(folder));

const sleeper = ['--', '/bin/sleep', 'sleep', mark];
const script = (text: string) => ['--', '/bin/sh', 'sh', '-c', text];
const quiet = ['null', 'null', 'null', '--', ...user];

async function waitFor(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((wake) => setTimeout(wake, LOOK_AGAIN_MS));
}

/** The sanitized starter is the same code, and has its share of the rows. */
function rowsFor<T>(kind: 'shipped' | 'sanitized', rows: readonly T[], least: number): readonly T[] {
  return kind === 'shipped' ? rows : sample(rows, least);
}

describe.each(['shipped', 'sanitized'] as const)('the %s starter', (kind) => {
  function open(): Starter {
    const starter = new Starter(built[kind]);
    started.push(starter);
    return starter;
  }

  describe('gives a run', () => {
    test('each kind of descriptor in its place, and no other', async () => {
      const starter = open();
      const path = join(folder, `${kind}-written`);
      writeFileSync(path, '', { mode: 0o666 });
      const files = [openSync(import.meta.filename, 'r'), openSync(path, 'r+'), openSync(folder, 'r')];
      const given = [
        'in',
        'out',
        'out',
        'bytes:3',
        ...['read', 'write', 'read'].map((each, at) => `${each}:${files[at]}`),
      ];
      const text =
        'read x; echo "$x"; cat <&3; head -c6 <&4; echo written >&5; ls /proc/self/fd/6/; echo no >&4; i=0; while [ $i -lt 99 ]; do [ -e /proc/$$/fd/$i ] && printf "$i "; i=$((i+1)); done';
      const args = [...user, 'mode=exec', ...[3, 4, 5, 6].map((fd) => `keep=${fd}`), ...script(text)];
      starter.send(['start', '1', ...given, '--', ...args], Buffer.from('abc'));
      const [, , , stdin] = await starter.replies('started 1');
      const input = openSync(`/proc/${starter.pid}/fd/${stdin}`, 'w');
      writeFileSync(input, 'line\n');
      closeSync(input);
      const [stdout, stderr] = await readEnds(starter, 1);
      for (const file of files) closeSync(file);
      expect(stdout).toMatch(/^line\nabcimport/);
      expect(stdout).toContain(`${kind}-written\n`);
      expect(stdout?.split('\n').at(-1)).toBe('0 1 2 3 4 5 6 ');
      expect(stderr).toContain('error');
      expect(readFileSync(path, 'latin1')).toBe('written\n');
    });

    /** As `outputs`, without the first end, which is the run's to read. */
    async function readEnds(starter: Starter, id: number): Promise<readonly string[]> {
      const [, , , , ...numbers] = await starter.replies(`started ${id}`);
      const ends = numbers.map((number) => openSync(`/proc/${starter.pid}/fd/${number}`, 'r'));
      starter.send(['took', String(id)]);
      await starter.replies(`ended ${id}`);
      const texts = ends.map((end) => readFileSync(end, 'latin1'));
      for (const end of ends) closeSync(end);
      return texts;
    }

    test('67 descriptors in their order, though each stands in the way of another', async () => {
      const starter = open();
      const parts = Array.from({ length: 64 }, (_, at) => `<${at + 3}>`);
      const keep = parts.map((_, at) => `keep=${at + 3}`);
      const text = 'i=3; while [ $i -le 66 ]; do cat /proc/$$/fd/$i; i=$((i+1)); done';
      starter.send(
        [
          'start',
          '1',
          'null',
          'out',
          'null',
          ...parts.map((each) => `bytes:${each.length}`),
          '--',
          'mode=exec',
          ...user,
          ...keep,
          ...script(text),
        ],
        Buffer.from(parts.join('')),
      );
      expect(await starter.outputs(1)).toEqual([parts.join('')]);
    });

    test('bytes that it cannot change', async () => {
      const starter = open();
      const text = 'echo more >> /proc/$$/fd/3; true > /proc/$$/fd/3; cat <&3';
      starter.send(
        ['start', '1', 'null', 'out', 'out', 'bytes:4', '--', ...user, 'keep=3', ...script(text)],
        Buffer.from('same'),
      );
      const [stdout, stderr] = await starter.outputs(1);
      expect(stdout).toBe('same');
      expect(stderr).not.toBe('');
    });

    test('no variables but those that are set', async () => {
      const starter = open();
      const args = [...user, 'set=PATH=/bin', 'set=EMPTY=', 'set=TWO=a=b', '--', '/usr/bin/env', 'env'];
      starter.send(['start', '1', 'null', 'out', 'null', '--', ...args]);
      expect(await starter.outputs(1)).toEqual(['PATH=/bin\nEMPTY=\nTWO=a=b\n']);
    });

    test('neither the requests nor the pipes of another run', async () => {
      const starter = open();
      starter.send(['start', '1', 'null', 'out', 'out', 'in', '--', ...user, ...sleeper]);
      // Only root looks into a supervisor; the command of a run without one is there for everybody.
      starter.send(['start', '2', ...quiet, ...(isRoot ? [] : ['mode=exec']), ...sleeper]);
      const [, , pid = ''] = await starter.replies('started 2');
      await waitFor(() => living(`sleep\0${mark}`).length === 2);
      const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      expect(links.filter((link) => link.startsWith('socket:'))).toEqual([]);
      const [, , , ...numbers] = await starter.replies('started 1');
      const pipes = numbers.map((number) => readlinkSync(`/proc/${starter.pid}/fd/${number}`));
      expect(pipes).toHaveLength(3);
      expect(links.filter((link) => pipes.includes(link))).toEqual([]);
    });
  });

  describe('tells', () => {
    const ends: readonly (readonly [text: string, args: readonly string[], end: string])[] = [
      ['a status', ['mode=exec', ...script('exit 7')], 'exit=7'],
      ['a signal', ['mode=exec', ...script('kill -TERM $$')], 'signal=15'],
      ['the status of a supervised command', script('exit 9'), 'exit=9'],
      ['a refusal', ['nonsense', ...script('exit 9')], 'exit=125'],
      ['no file', ['--', '/nowhere', 'nowhere'], 'exit=127'],
    ];
    test.each(rowsFor(kind, ends, 2))('%s after it has told the start', async (_, args, end) => {
      const starter = open();
      starter.send(['start', '8', 'null', 'null', 'null', '--', ...user, ...args]);
      await starter.replies('ended 8');
      expect(starter.lines).toEqual([expect.stringMatching(/^started 8 [1-9]\d*$/), `ended 8 ${end}`]);
    });

    test('a refusal on the standard error of the run', async () => {
      const starter = open();
      starter.send(['start', '1', 'null', 'null', 'out', '--', 'nonsense=1', ...sleeper]);
      expect(await starter.outputs(1)).toEqual([
        expect.stringMatching(/^Cannot start the command: "nonsense=1" /),
      ]);
    });

    const failures: readonly (readonly [given: string, replies: string])[] = [
      ['read:4095', 'read ENOENT'],
      ['write:4095', 'write ENOENT'],
    ];
    test.each(failures)('that %s cannot be opened, and leaves nothing', async (given, replies) => {
      const starter = open();
      await waitFor(() => starter.open().length === 5);
      starter.send(
        ['start', '1', 'in', 'out', 'bytes:1', given, 'out', '--', ...user, ...sleeper],
        Buffer.from('x'),
      );
      expect((await starter.replies('failed 1')).join(' ')).toBe(`failed 1 ${replies}`);
      expect(starter.open()).toHaveLength(5);
      starter.send(['start', '1', ...quiet, ...script('exit 0')]);
      expect(await starter.replies('ended 1')).toContain('exit=0');
    });

    test('nothing of orphans that come to it, and leaves no zombies', async () => {
      const starter = open();
      starter.send([
        'start',
        '1',
        'null',
        'null',
        'null',
        '--',
        ...user,
        'mode=exec',
        ...script('(true &); (true &); sleep 0.1'),
      ]);
      await starter.replies('ended 1');
      const children = () => readFileSync(`/proc/${starter.pid}/task/${starter.pid}/children`, 'latin1');
      await waitFor(() => children() === '');
      expect(starter.lines).toHaveLength(2);
    });

    test('the output of a run that ended before its pipes were taken', async () => {
      const starter = open();
      starter.send(['start', '1', 'null', 'out', 'null', '--', ...user, 'mode=exec', ...script('echo late')]);
      await starter.replies('ended 1');
      expect(await starter.outputs(1)).toEqual(['late\n']);
      await waitFor(() => starter.open().length === 5);
    });
  });

  test('takes requests in pieces, and several at once', async () => {
    const starter = open();
    const one = frame(
      ['start', '1', 'null', 'out', 'null', 'bytes:2', '--', ...user, 'keep=3', ...script('cat <&3')],
      Buffer.from('ab'),
    );
    const all = Buffer.concat([
      one,
      frame(['kill', '77']),
      frame(['start', '2', ...quiet, ...script('exit 2')]),
      frame(['took', '77']),
    ]);
    starter.socket.setNoDelay();
    for (const byte of one) {
      starter.socket.write(Buffer.of(byte));
      await new Promise((wake) => setImmediate(wake));
    }
    expect(await starter.outputs(1)).toEqual(['ab']);
    starter.socket.write(all);
    expect(await starter.replies('ended 2')).toContain('exit=2');
    await waitFor(() => starter.lines.filter((line) => line.startsWith('ended 1 ')).length === 2);
  });

  test('takes a request of 8 MiB and gives the memory of it back', async () => {
    const starter = open();
    const args = [
      'start',
      '1',
      'null',
      'out',
      'null',
      'bytes:8000000',
      '--',
      ...user,
      'keep=3',
      ...script('wc -c <&3'),
    ];
    starter.send(args, Buffer.alloc(8_000_000, 'x'));
    expect(await starter.outputs(1)).toEqual(['8000000\n']);
    const rssKb = Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${starter.pid}/status`, 'latin1'))?.[1]);
    expect(rssKb).toBeGreaterThan(0);
    if (kind === 'shipped') expect(rssKb).toBeLessThan(2_000);
  });

  test('has 256 runs and not one more, and has room again when they are killed', async () => {
    const starter = open();
    for (let id = 1; id <= 257; id += 1)
      starter.send(['start', String(id), 'null', 'null', 'null', '--', ...user, 'mode=exec', ...sleeper]);
    expect(await starter.replies('failed 257')).toEqual(['failed', '257', 'runs', 'EUSERS']);
    for (let id = 1; id <= 256; id += 1) starter.send(['kill', String(id)]);
    await waitFor(() => starter.lines.filter((line) => line.startsWith('ended ')).length === 256);
    expect(starter.lines.filter((line) => line.endsWith(' signal=9'))).toHaveLength(256);
    starter.send(['start', '257', ...quiet, ...script('exit 3')]);
    expect(await starter.replies('ended 257')).toContain('exit=3');
    expect(living(mark)).toEqual([]);
  });

  describe('kills', () => {
    test('the whole group of a run', async () => {
      const starter = open();
      const text = `sleep ${mark} & sleep ${mark} & wait`;
      starter.send(['start', '1', 'null', 'null', 'null', '--', ...user, 'mode=exec', ...script(text)]);
      await waitFor(() => living(`sleep\0${mark}`).length === 2);
      starter.send(['kill', '1']);
      expect(await starter.replies('ended 1')).toContain('signal=9');
      await gone(mark);
    });

    test('what is left of a group whose first process has ended', async () => {
      const starter = open();
      const text = `sleep ${mark} & exit 4`;
      starter.send(['start', '1', 'null', 'null', 'null', '--', ...user, 'mode=exec', ...script(text)]);
      expect(await starter.replies('ended 1')).toContain('exit=4');
      await gone(mark);
    });

    test('the daemons of a supervised run that is killed, and nothing of the run beside it', async () => {
      const starter = open();
      const daemon = `(setsid setsid sleep ${mark} >/dev/null 2>&1 &) ; sleep ${mark}`;
      starter.send(['start', '1', ...quiet, ...script(daemon)]);
      starter.send([
        'start',
        '2',
        'null',
        'null',
        'null',
        '--',
        ...user,
        'mode=exec',
        ...script(`(sleep ${mark}5 &) ; sleep ${mark}5`),
      ]);
      await waitFor(() => living(`sleep\0${mark}`).length === 4);
      starter.send(['kill', '1']);
      expect(await starter.replies('ended 1')).toContain('signal=9');
      await waitFor(() => living(`sleep\0${mark}\0`).length === 0);
      expect(living(`sleep\0${mark}5\0`)).toHaveLength(2);
    });
  });

  describe('ends all that it started when', () => {
    const daemons = `(setsid sh -c 'trap "" HUP TERM INT; setsid sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 &) ; sleep ${mark}`;
    const orders: readonly (readonly [order: string, code: number, give: (starter: Starter) => unknown])[] = [
      ['its requests end', 0, ({ socket }) => socket.end()],
      ['its requests are cut off', 0, ({ socket }) => socket.destroy()],
      [
        'a request is cut off',
        0,
        ({ socket }) => socket.end(frame(['start', '9', ...quiet, ...sleeper]).subarray(0, -1)),
      ],
      ['it gets SIGTERM', 0, ({ child }) => child.kill('SIGTERM')],
      ['it gets SIGINT', 0, ({ child }) => child.kill('SIGINT')],
      ['it gets SIGHUP', 0, ({ child }) => child.kill('SIGHUP')],
      ['a request is malformed', 125, ({ socket }) => socket.write(frame(['stop', '1']))],
    ];
    test.each(rowsFor(kind, orders, 2))('%s', async (_, code, give) => {
      const starter = open();
      starter.send(['start', '1', ...quiet, ...script(daemons)]);
      starter.send(['start', '2', 'null', 'null', 'null', '--', ...user, 'mode=exec', ...script(daemons)]);
      starter.send(['start', '3', 'null', 'out', 'in', '--', ...user, ...sleeper]);
      await waitFor(() => living(`sleep\0${mark}`).length === 7);
      give(starter);
      expect((await starter.end).code).toBe(code);
      expect(living(mark)).toEqual([]);
    });
  });

  const start = ['start', '1', ...quiet, ...sleeper];
  const text = (strings: readonly string[]) => Buffer.from(strings.map((each) => `${each}\0`).join(''));
  const malformed: readonly (readonly [what: string, bytes: Buffer])[] = [
    ['is longer than 8 MiB', rawFrame(0, Buffer.alloc(0), 8_388_609)],
    ['is shorter than a number', Buffer.of(3, 0, 0, 0, 0, 0, 0)],
    ['has no strings', rawFrame(0, Buffer.alloc(0))],
    ['has fewer bytes than strings', rawFrame(text(start).length + 1, text(start))],
    ['has strings of 4 GiB', rawFrame(0xffff_ffff, text(start))],
    ['has a string without an end', rawFrame(text(start).length - 1, text(start))],
    ['has a kind alone', frame(['start'])],
    ['has another kind', frame(['begin', ...start.slice(1)])],
    ['has the id 0', frame(['start', '0', ...start.slice(2)])],
    ['has an id above 2^53', frame(['start', '9007199254740993', ...start.slice(2)])],
    ['has an id with a sign', frame(['start', '+1', ...start.slice(2)])],
    ['has an id that is in use', Buffer.concat([frame(start), frame(start)])],
    ['has no end of its descriptors', frame(['start', '1', 'null'])],
    ['has 68 descriptors', frame(['start', '1', ...Array(68).fill('null'), '--', ...sleeper])],
    ['has another descriptor', frame(['start', '1', 'file', '--', ...sleeper])],
    ['has null with a value', frame(['start', '1', 'null:1', '--', ...sleeper])],
    ['has read without a value', frame(['start', '1', 'read', '--', ...sleeper])],
    ['has read of no number', frame(['start', '1', 'read:-1', '--', ...sleeper])],
    ['has read of a path', frame(['start', '1', 'read:1/../../1/fd/0', '--', ...sleeper])],
    ['has a map of three numbers', frame(['start', '1', 'map:1:2:3', '--', ...sleeper])],
    ['has a map of five numbers', frame(['start', '1', 'map:1:2:3:4:5', '--', ...sleeper])],
    [
      'takes more bytes than there are',
      frame(['start', '1', 'bytes:4', '--', ...sleeper], Buffer.from('abc')),
    ],
    ['leaves bytes over', frame(['start', '1', 'bytes:2', '--', ...sleeper], Buffer.from('abc'))],
    ['takes with a word too many', frame(['took', '1', '2'])],
    ['kills with bytes', frame(['kill', '1'], Buffer.from('x'))],
  ];
  test.each(rowsFor(kind, malformed, 8))(
    'starts nothing more and exits 125 when a request %s',
    async (_, bytes) => {
      const starter = open();
      starter.socket.write(Buffer.concat([bytes, frame(['start', '2', ...quiet, ...sleeper])]));
      expect((await starter.end).code).toBe(125);
      expect(starter.lines.filter((line) => line.startsWith('started 2'))).toEqual([]);
      expect(living(mark)).toEqual([]);
    },
  );
});
