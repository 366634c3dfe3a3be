import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { writeModule } from '../../fixture/wat.ts';
import { guest } from '../../tiers/a-wasm/guests.ts';
import { finish, makeScratch, palisade, start, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const state = join(scratch, 'state');
const root = resolve(import.meta.dirname, '../../../../..');

const waits = writeModule(
  scratch,
  'waits',
  guest(
    `(call $log (i32.const 1) (i32.const 16) (i32.const 7))
     (call $print (call $channel_receive (i32.const 40000) (i32.const 60000)))`,
    ['waiting'],
  ),
);
const WAITING = [
  'wasm',
  'run',
  waits,
  '--tool',
  'tool',
  '--input',
  '{}',
  '--grant',
  'log',
  '--grant',
  'channel=news',
];

async function lastEnding(): Promise<string> {
  const { out } = await palisade(['journal', 'search', '--kind', 'ended', '--limit', '1', '--state', state]);
  return out;
}

describe('the built palisade wasm run', () => {
  test('works in a new state directory, with nothing configured and the input piped in', async () => {
    const words = ['wasm', 'run', 'examples/wasm/hello.wasm', '--tool', 'greet', '--state', state];
    const { status, out, err } = await palisade(words, { cwd: root, stdin: '{"name":"Grüße \\"quoted\\""}' });
    expect(JSON.parse(out)).toEqual({ greeting: 'Hello, Grüße "quoted"!' });
    expect(err).toMatch(/^ok {2}call_/);
    expect(status).toBe(0);
  });

  test('passes on what is logged as it comes, and Ctrl-C ends the module and records that', async () => {
    const child = start([...WAITING, '--state', state]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const [first] = (await once(child.stderr ?? child, 'data')) as [Buffer];
    expect(first.toString()).toBe('info: waiting\n');
    child.kill('SIGINT');
    const { status, out, err } = await finish(child);
    expect(err).toMatch(/^failed {2}tier\/cancelled {2}call_\w+\nCannot .*\n→ .*\n$/);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(await lastEnding()).toContain('tier/cancelled');
    expect((await palisade(['journal', 'verify', '--state', state])).status).toBe(0);
  });

  test('is ended by Ctrl-C also in the middle of a computation', async () => {
    // It says that it has begun, and then computes for as long as its fuel lasts: many seconds.
    const toml = '[limits]\nfuel = 10000000000\n';
    const own = join(scratch, 'busy');
    await palisade(['policy', 'list', '--state', own]);
    writeFileSync(join(own, 'palisade.toml'), toml);
    const busy = writeModule(
      scratch,
      'busy',
      guest('(call $log (i32.const 1) (i32.const 16) (i32.const 5)) (loop $x (br $x)) (unreachable)', [
        'begun',
      ]),
    );
    const child = start([
      ...['wasm', 'run', busy, '--tool', 'tool', '--input', '{}', '--grant', 'log'],
      ...['--fuel', '10000000000', '--state', own],
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const [first] = (await once(child.stderr ?? child, 'data')) as [Buffer];
    expect(first.toString()).toBe('info: begun\n');
    child.kill('SIGINT');
    const { status, err } = await finish(child);
    expect(err).toContain('failed  tier/cancelled');
    expect(status).toBe(1);
  });

  test('is ended by Ctrl-C while standard input is awaited, and no call was made', async () => {
    const own = join(scratch, 'waiting');
    const hello = join(root, 'examples/wasm/hello.wasm');
    const child = start(['wasm', 'run', hello, '--tool', 'greet', '--json', '--state', own]);
    const ended = finish(child);
    // More than all buffers between the two hold: once it is written, the command is reading.
    await new Promise((done) => child.stdin?.write(Buffer.alloc(8 * 1024 * 1024, ' '), done));
    child.kill('SIGINT');
    const { status, out } = await ended;
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', code: 'tier/cancelled' });
    expect(status).toBe(1);
    expect(existsSync(own)).toBe(false);
  });
});
