import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { wat, writeModule } from '../../fixture/wat.ts';
import { ECHO, guest, packed } from '../../tiers/a-wasm/guests.ts';
import { type Ran, runInside } from './fake-edge.ts';
import { holdGateways } from './held-gateways.ts';
import { makeScratch, useBuild } from './palisade.ts';

/* The command inside the test, on real engines; the engine's file is a built one. */
useBuild();
const scratch = makeScratch();
const { open: openGateway, close } = holdGateways();
afterAll(close);
const HELLO = resolve(import.meta.dirname, '../../../../../examples/wasm/hello.wasm');
/** With the policies that a new state directory starts with, and with others. */
const [starters, judged] = [join(scratch, 'starters'), join(scratch, 'judged')];

const POLICIES = `@id("all")
permit (principal, action, resource);

@id("no-such-host")
forbid (principal, action == Action::"call", resource)
when { context.hosts.contains("api.example.com") };

@id("nothing-reads-secrets")
forbid (principal, action == Action::"call", resource in Category::"wasm")
when { context.capabilities.contains("secret:reveal") };

@id("channels-need-approval")
forbid (principal, action == Action::"call", resource)
when { context.capabilities.contains("channel") }
unless { context.approved };
`;

beforeAll(() => {
  mkdirSync(join(judged, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(judged, 'policies/all.cedar'), POLICIES);
});

type How = { readonly stdin?: Readable; readonly signal?: AbortSignal };

function palisade(words: readonly string[], state: string, how: How = {}): Promise<Ran> {
  return runInside([...words, '--state', state], {
    ...{ clock: systemClock, random: systemRandom, cwd: scratch, openGateway, openRecords },
    ...how,
  });
}

const run = (file: string, words: readonly string[], state = starters, how: How = {}) =>
  palisade(
    ['wasm', 'run', file, ...(words.includes('--tool') ? [] : ['--tool', 'tool']), ...words],
    state,
    how,
  );

async function runJson(file: string, words: readonly string[], state = starters, how: How = {}) {
  const { status, out, err } = await run(file, [...words, '--json'], state, how);
  return { status, told: JSON.parse(out), err };
}

const recordsIn = async (state: string) => {
  const { out } = await palisade(['journal', 'search', '--json', '--limit', '1000'], state);
  return JSON.parse(out).records.length as number;
};

const file = (name: string, bytes: Uint8Array) => writeModule(scratch, name, bytes);
const echo = file('echo', guest(ECHO));
const COUNT = `(local.set $n (i32.const 20000))
  (loop $next (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) ${ECHO}`;
const put = guest(
  `(call $print (call $storage_put (call $capability_handle (i32.const 3) (i32.const 0)) (i32.const 16) (i32.const 7)
    (local.get $at) (local.get $length) (f64.const -1)))`,
  ['notes/a'],
);
const get = guest(
  `(local.set $n (call $storage_get (i32.const 30000) (i32.const 16) (i32.const 7)))
   (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (call $print (local.get $n)))))
   (drop (call $result_read (i32.const 20000) (i32.const 4096)))
   ${packed('(i32.const 20008)', '(i32.sub (local.get $n) (i32.const 8))')}`,
  ['notes/a'],
);

describe('palisade wasm run', () => {
  test('prints the output, how it ended and what it took', async () => {
    const { status, out, err } = await run(HELLO, ['--tool', 'greet', '--input', '{"name":"Ada"}']);
    expect(JSON.parse(out)).toEqual({ greeting: 'Hello, Ada!' });
    expect(err).toMatch(/^ok {2}call_\w+ {2}\d+ ms {2}\d+ fuel\n→ palisade receipt call_\w+\n$/);
    expect(status).toBe(0);
  });

  test('is a call like any other: recorded, with a receipt that names the module by its digest', async () => {
    const receipt = join(scratch, 'receipt.json');
    const words = ['--tool', 'greet', '--input', '{"name":"Ada"}', '--receipt', receipt];
    const { told } = await runJson(HELLO, words);
    const { payload } = JSON.parse(readFileSync(receipt, 'utf8'));
    const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
    expect(predicate).toMatchObject({
      principal: 'user:ada',
      tool: { id: 'local.hello.greet' },
      artifacts: [{ name: 'hello.wasm', sha256: digestBytes(readFileSync(HELLO)) }],
      execution: { tier: 'a' },
      policy: { decidedBy: ['users-call-tools'] },
    });
    expect(predicate.usage.fuel).toBeGreaterThan(0);
    const shown = await palisade(['journal', 'show', told.callId, '--json'], starters);
    expect(JSON.parse(shown.out).records.map(({ kind }: { kind: string }) => kind)).toEqual([
      ...['intent', 'ended'],
    ]);
    expect((await palisade(['verify', receipt], starters)).out).toMatch(/\nverified\n$/);
  });

  const inputs = join(scratch, 'input.json');
  test.each([
    ['--input', ['--input', '{"a":"ü"}'], []],
    ['--input @FILE', ['--input', `@${inputs}`], []],
    ['--input -', ['--input', '-'], ['{"a":', '"ü"}']],
    ['--input-file', ['--input-file', inputs], []],
    ['standard input without a flag', [], [' {"a":"ü"}\n']],
  ])('takes the input of %s, and hands it over as canonical JSON', async (_, words, stdin) => {
    writeFileSync(inputs, '{ "a": "\\u00fc" }');
    const piped = Readable.from(stdin.map((each) => Buffer.from(each)));
    const { told } = await runJson(echo, words, starters, { stdin: piped });
    expect(told).toMatchObject({ status: 'ok', output: { a: 'ü' } });
  });

  test.each([
    ['nothing is piped in', Readable.from([])],
    [
      'standard input is a terminal, which is not waited for',
      Object.assign(new Readable({ read() {} }), { isTTY: true }),
    ],
  ])('takes {} when %s', async (_, stdin) => {
    expect((await runJson(echo, [], starters, { stdin })).told).toMatchObject({ output: {} });
  });

  test.each([
    ['that is no JSON', '{name:1}', 'registry/invalid-input'],
    ['with a key twice', '{"a":1,"a":2}', 'registry/invalid-input'],
  ])('refuses input %s, and records the refusal', async (_, input, code) => {
    const { status, told } = await runJson(echo, ['--input', input]);
    expect(told).toMatchObject({ status: 'refused', code });
    expect((await palisade(['receipt', told.callId], starters)).status).toBe(0);
    expect(status).toBe(2);
  });

  test('tells what the tool reports as its failure', async () => {
    const { status, out, err } = await run(HELLO, ['--tool', 'greet', '--input', '{"name":"A","to":"B"}']);
    expect(err).toContain('failed  tier/tool-error');
    expect(err).toContain(
      'the tool reported "expected an object with a name and nothing else" (wrong-input)',
    );
    expect({ out, status }).toEqual({ out: '', status: 1 });
  });

  test('tells a module that V8 refuses from one that ran', async () => {
    const bytes = wat(`(module (memory (export "memory") 1)
      (func (export "palisade_alloc") (param i32) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`);
    // The tool returns an i32 where its type has an i64.
    const at = bytes.lastIndexOf(0x42);
    bytes[at] = 0x41;
    const { status, told } = await runJson(file('invalid', bytes), []);
    expect(told).toMatchObject({ status: 'failed', code: 'tier/invalid-module' });
    expect(status).toBe(1);
  });
});

describe('the limits of palisade wasm run', () => {
  const count = file('count', guest(COUNT));

  test('end a module that takes more fuel than --fuel, which runs with as much as it needs', async () => {
    const { told } = await runJson(count, []);
    expect(told).toMatchObject({ status: 'ok' });
    const { fuel } = told.usage;
    expect((await runJson(count, ['--fuel', String(fuel)])).told).toMatchObject({ status: 'ok' });
    expect((await runJson(count, ['--fuel', String(fuel - 1)])).told).toMatchObject({
      code: 'tier/out-of-fuel',
      usage: { fuel: fuel - 1 },
    });
  });

  test('refuse a module that needs more memory than --memory', async () => {
    expect((await runJson(echo, ['--memory', '128k'])).told).toMatchObject({ status: 'ok' });
    expect((await runJson(echo, ['--memory', '127k'])).told).toMatchObject({ code: 'tier/invalid-module' });
  });

  test('end a module that waits at --timeout', async () => {
    const waits = file(
      'waits',
      guest('(call $print (call $channel_receive (i32.const 40000) (i32.const 60000)))'),
    );
    const { status, told } = await runJson(waits, ['--grant', 'channel=news:receive', '--timeout', '300ms']);
    expect(told).toMatchObject({ code: 'tier/timed-out' });
    expect(status).toBe(1);
  });

  test.each([
    ['--fuel', '10000001', '`wasm.fuel` of palisade.toml is 10000000, expected at most that'],
    ['--memory', '65m', '`wasm.memory_bytes` of palisade.toml is 67108864, expected at most that'],
  ])('are not lowered in silence: %s %s is refused', async (flag, value, why) => {
    const before = await recordsIn(starters);
    const { status, err } = await run(echo, [flag, value]);
    expect(err).toContain(why);
    expect(status).toBe(64);
    expect(await recordsIn(starters)).toBe(before);
  });
});

describe('the log of a module', () => {
  const LOGS = wat(`(module (import "palisade_v1" "log" (func $log (param i32 i32 i32)))
    (memory (export "memory") 1) (data (i32.const 16) "plain") (data (i32.const 32) "\\1b[31m\\0aerror: forged\\e2\\80\\ae")
    (func (export "palisade_alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "tool") (param $at i32) (param $length i32) (result i64)
      (call $log (i32.const 0) (i32.const 16) (i32.const 5))
      (call $log (i32.const 1) (i32.const 16) (i32.const 5))
      (call $log (i32.const 2) (i32.const 16) (i32.const 5))
      (call $log (i32.const 3) (i32.const 32) (i32.const 22))
      (call $log (i32.const 77) (i32.const 16) (i32.const 5))
      ${ECHO}))`);
  const logs = file('logs', LOGS);
  const LINES = [
    ...['debug: plain', 'info: plain', 'warning: plain'],
    ...['error: \\u{1b}[31m\\u{a}error: forged\\u{202e}', 'log: plain', ''],
  ].join('\n');

  test('goes to standard error with the words of its levels, and makes no line and no escape of its own', async () => {
    const { out, err } = await run(logs, ['--grant', 'log']);
    expect(err.startsWith(LINES)).toBe(true);
    expect(JSON.parse(out)).toEqual({});
  });

  test('stands beside the document for programs, not in it', async () => {
    const { told, err } = await runJson(logs, ['--grant', 'log']);
    expect(err).toBe(LINES);
    expect(JSON.stringify(told)).not.toContain('forged');
  });

  test('ends at its quota, which is said and recorded', async () => {
    const flood = file(
      'flood',
      guest(
        `(local.set $n (i32.const 5000))
         (loop $next
           (call $log (i32.const 1) (i32.const 16) (i32.const 26))
           (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) ${ECHO}`,
        ['abcdefghijklmnopqrstuvwxyz'],
      ),
    );
    const { told, err } = await runJson(flood, ['--grant', 'log']);
    const lines = err.trimEnd().split('\n');
    expect(lines.at(-1)).toBe('… and more: a log is cut at 65536 bytes');
    expect(new Set(lines.slice(0, -1))).toEqual(new Set(['info: abcdefghijklmnopqrstuvwxyz']));
    expect(err.length).toBeLessThanOrEqual(65_536 + 100);
    const { predicate } = JSON.parse(Buffer.from(told.receipt.payload, 'base64').toString());
    expect(predicate.execution.isolation.isLogCut).toBe(true);
  });
});

describe('what is granted on the command line', () => {
  test('is storage that lasts, for files of that name and for no other', async () => {
    const [notes, other] = [file('notes', put), file('other', get)];
    const words = ['--grant', 'storage=notes/', '--input', '{"canary":1}'];
    expect((await runJson(notes, words)).told).toMatchObject({ output: 0 });
    expect((await runJson(other, words)).told).toMatchObject({ output: -2 });
    writeModule(scratch, 'notes', get);
    expect((await runJson(notes, words)).told).toMatchObject({ output: { canary: 1 } });
    expect((await runJson(notes, ['--grant', 'storage=elsewhere/'])).told).toMatchObject({ output: -1 });
  });

  test('is storage that is only read with :ro', async () => {
    const store = file('store', put);
    expect((await runJson(store, ['--grant', 'storage=notes:ro'])).told).toMatchObject({ output: -1 });
    expect((await runJson(store, ['--grant', 'storage=notes'])).told).toMatchObject({ output: 0 });
  });

  test('is its configuration', async () => {
    const configured = file(
      'configured',
      guest(
        `(local.set $n (call $config_get (i32.const 16) (i32.const 6)))
         (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (call $print (local.get $n)))))
         (drop (call $result_read (i32.const 20000) (i32.const 4096)))
         ${packed('(i32.const 20000)', '(local.get $n)')}`,
        ['region'],
      ),
    );
    expect((await runJson(configured, ['--grant', 'config:region="eu"'])).told).toMatchObject({
      output: 'eu',
    });
    expect((await runJson(configured, ['--grant', 'config:other=1'])).told).toMatchObject({ output: -2 });
  });

  test('is one host to make requests to', async () => {
    const requested: string[] = [];
    const server = createServer((request, response) => {
      requested.push(request.url ?? '');
      response.end('hello');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const head = JSON.stringify({ url: `http://127.0.0.1:${port}/from-guest` });
    const asks = guest(
      `(local.set $n (call $http_request (i32.const 10000) (i32.const 16) (i32.const ${head.length}) (i32.const 0) (i32.const 0)))
       (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (call $print (local.get $n)))))
       (call $print (i32.const 1))`,
      [head],
    );
    const asker = file('asker', asks);
    expect((await runJson(asker, ['--grant', `http=127.0.0.1:${port}`])).told).toMatchObject({ output: 1 });
    expect((await runJson(asker, ['--grant', `http=127.0.0.2:${port}`])).told).toMatchObject({ output: -1 });
    expect(requested).toEqual(['/from-guest']);
  });
});

describe('the policies', () => {
  const greet = ['--tool', 'greet', '--input', '{"name":"Ada"}'];

  test('that a new state directory starts with let agents compute, and people grant or approve', async () => {
    expect((await runJson(HELLO, [...greet, '--as', 'agent:ada'])).told).toMatchObject({ status: 'ok' });
    expect((await runJson(HELLO, [...greet, '--grant', 'storage=x'])).told).toMatchObject({ status: 'ok' });
    const { status, err } = await run(HELLO, [...greet, '--grant', 'storage=x', '--as', 'agent:ada']);
    expect(err).toContain('refused  policy/approval-required');
    expect(err).toMatch(/palisade approvals approve apr_\w+ --state /);
    expect(status).toBe(2);
  });

  test('that a new state directory starts with keep everybody from the metadata service', async () => {
    const { told } = await runJson(HELLO, [...greet, '--grant', 'http=169.254.169.254']);
    expect(told).toMatchObject({
      code: 'policy/denied',
      message: expect.stringContaining('no-cloud-metadata'),
    });
  });

  test('see the hosts and the kinds of the grants', async () => {
    const runs = (...grants: string[]) =>
      runJson(HELLO, [...greet, ...grants.flatMap((each) => ['--grant', each])], judged);
    const denied = { code: 'policy/denied' };
    expect((await runs('http=docs.example.com', 'secret=a@docs.example.com')).told).toMatchObject({
      status: 'ok',
    });
    expect((await runs('http=https://API.example.com/v1/')).told).toMatchObject(denied);
    expect((await runs('secret=a:reveal')).told).toMatchObject(denied);
  });

  test('that ask for an approval are met by one, once, for that very call', async () => {
    const words = [...greet, '--grant', 'channel=news'];
    const requested = (await runJson(HELLO, words, judged)).told;
    expect(requested).toMatchObject({ code: 'policy/approval-required', receipt: expect.any(Object) });
    const [id = ''] = /apr_\w+/.exec(requested.remedy) ?? [];
    const shown = await palisade(['approvals', 'show', id], judged);
    expect(shown.out).toContain('about    The export "greet" of a file, granted ["channel=news"].');
    // Neither what is granted more nor another input is what was asked.
    const other = ['--grant', 'log', ...words];
    expect((await palisade(['approvals', 'approve', id, '--as', 'agent:ada'], judged)).status).not.toBe(0);
    expect((await palisade(['approvals', 'approve', id], judged)).status).toBe(0);
    expect((await runJson(HELLO, other, judged)).told).toMatchObject({ code: 'policy/approval-required' });
    expect((await runJson(HELLO, words, judged)).told).toMatchObject({ status: 'ok' });
    expect((await runJson(HELLO, words, judged)).told).toMatchObject({ code: 'policy/approval-required' });
  });

  test('that ask for an approval are not met by one that was denied', async () => {
    const words = ['--tool', 'greet', '--input', '{"name":"Eve"}', '--grant', 'channel=news'];
    const requested = (await runJson(HELLO, words, judged)).told;
    const [id = ''] = /apr_\w+/.exec(requested.remedy) ?? [];
    expect((await palisade(['approvals', 'deny', id], judged)).status).toBe(0);
    expect((await runJson(HELLO, words, judged)).told).toMatchObject({ code: 'policy/approval-denied' });
  });
});

describe('what palisade wasm run is told of its tool', () => {
  const schema = (name: string, text: string) => {
    writeFileSync(join(scratch, name), text);
    return join(scratch, name);
  };
  const small = schema('small.json', '{"type":"object","properties":{"n":{"type":"integer","maximum":2}}}');

  test('is the schema of its input, and what does not fit is refused before anything runs', async () => {
    const words = (n: number) => ['--input-schema', small, '--input', JSON.stringify({ n })];
    expect((await runJson(echo, words(2))).told).toMatchObject({ status: 'ok', output: { n: 2 } });
    expect((await runJson(echo, words(3))).told).toMatchObject({ code: 'registry/invalid-input' });
  });

  test('is the schema of its output, and what does not fit is no success', async () => {
    const words = (n: number) => ['--output-schema', small, '--input', JSON.stringify({ n })];
    expect((await runJson(echo, words(2))).told).toMatchObject({ status: 'ok', output: { n: 2 } });
    const { told, status } = await runJson(echo, words(3));
    expect([told.code, told.output, status]).toEqual(['tier/invalid-output', { n: 3 }, 1]);
    // The same output once more is the same, although nobody holds it against the schema.
    expect((await palisade(['replay', told.callId], starters)).out).toMatch(/^same/);
  });

  test.each([
    ['no JSON', '{', 'Cannot read JSON'],
    ['no object', '[]', 'it is not an object'],
    ['no schema', '{"type":"number","minimum":"x"}', 'it is not a valid JSON Schema'],
  ])('is refused when its schema is %s, and nothing is recorded', async (_, text, why) => {
    const before = await recordsIn(starters);
    const { status, err } = await run(echo, ['--output-schema', schema('bad.json', text)]);
    expect([status, err]).toEqual([64, expect.stringContaining(why)]);
    expect(await recordsIn(starters)).toBe(before);
  });

  test('is that it is not recorded, which its receipt says', async () => {
    const recordingOf = async (...words: string[]) => {
      const { told } = await runJson(echo, words);
      const { predicate } = JSON.parse(Buffer.from(told.receipt.payload, 'base64').toString());
      const replayed = await palisade(['replay', told.callId], starters);
      return [predicate.execution.isolation.recording, replayed.status];
    };
    expect(await recordingOf()).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), 0]);
    const [told, status] = await recordingOf('--no-record');
    expect(told).toBe('none: the tool opts out');
    expect(status).not.toBe(0);
  });
});

describe('palisade wasm run --dry-run', () => {
  const words = ['--tool', 'greet', '--grant', 'http=*.example.com:8443', '--grant', 'log', '--dry-run'];

  test('shows the tool, its grants and the verdict; nothing runs and nothing is recorded', async () => {
    const before = await recordsIn(starters);
    const { status, out, err } = await run(HELLO, [...words, '--fuel', '5']);
    expect(out).toContain('tool        local.hello.greet\n');
    expect(out).toContain(`sha256      ${digestBytes(readFileSync(HELLO))}\n`);
    expect(out).toContain('grant       http=*.example.com:8443\ngrant       log\n');
    expect(out).toContain('limit       fuel=5\n');
    expect(out).toMatch(/^allowed {2}user:ada runs local\.hello\.greet$/m);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(await recordsIn(starters)).toBe(before);
  });

  test('is one document with --json, of what needs an approval as well', async () => {
    const { status, told } = await runJson(HELLO, [...words, '--as', 'agent:ada']);
    expect(told).toMatchObject({
      principal: 'agent:ada',
      tool: 'local.hello.greet',
      export: 'greet',
      tier: 'a',
      risk: 'medium',
      capabilities: ['http', 'log'],
      hosts: ['*.example.com'],
      policy: { verdict: 'ask' },
    });
    expect(status).toBe(2);
  });
});
