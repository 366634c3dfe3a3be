import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { digestBytes } from '../../packages/gateway/src/core/digest.ts';
import type { WasmGrants } from '../../packages/gateway/src/core/wasm.ts';
import { findRecording } from '../../packages/gateway/src/recordings/recordings.ts';
import { replay } from '../../packages/gateway/src/tiers/a-wasm/replay.ts';
import { canonicalize } from '../../packages/sdk/src/index.ts';
import { component, ECHO, gives, OFFSETS, skillImport } from '../fixtures/components/guest.ts';
import { engines } from '../fixtures/modules/engines.ts';
import { guest, ECHO as MODULE_ECHO, OFFSETS as MODULE_OFFSETS, packed } from '../fixtures/modules/guest.ts';
import { type ModuleEnd, sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';
import { skillTool } from '../fixtures/skills/tool.ts';

/* A component takes more than its call may have, or looks for what is another's: it is bounded and apart as a module is. */

const GUESTS = resolve(import.meta.dirname, '../../packages/gateway/test/tiers/a-wasm/engine/guests');
const built = (name: string) => readFileSync(resolve(GUESTS, `${name}.component.wasm`));
const MIB = 1024 * 1024;
const [FUEL, MUCH_FUEL] = [3_000_000, 500_000_000];
const [CAP, LARGE] = [2 * MIB, 256 * MIB];
const CAP_PAGES = CAP / 65_536;
const { answer } = OFFSETS;
const again = (body: string) => `(loop $again ${body} (br $again)) (unreachable)`;

/** WASI's standard output, with the interfaces that its types come from. */
const STDOUT = [
  { as: 'describe', interface: 'wasi:io/error@0.2.3', name: '[method]error.to-debug-string' },
  { as: 'write', interface: 'wasi:io/streams@0.2.3', name: '[method]output-stream.write' },
  { as: 'stdout', interface: 'wasi:cli/stdout@0.2.3', name: 'get-stdout' },
];
const prints = (length: number) =>
  component(
    ({ bytes }) =>
      again(`(call $write (call $stdout) ${bytes('line\n'.repeat(length / 5))} (i32.const ${answer}))`),
    { imports: STDOUT },
  );

const LOOPS = {
  'does nothing in a loop': component(again('')),
  'asks the host for something cheap again and again': component(
    again('(drop (call $capabilities_count (i32.const 1)))'),
    { imports: [skillImport('capabilities.count')] },
  ),
  'fills all of its memory again and again': component(
    again('(memory.fill (i32.const 0) (i32.const 7) (i32.const 524288))'),
  ),
} as const;

/** A text of so many bytes; its first character has three of them, so that a string of it takes two for each. */
const large = (bytes: number) =>
  component(
    `(memory.fill (i32.const 65536) (i32.const 120) (i32.const ${bytes}))
     (i32.store (i32.const 65536) (i32.const 0x22aa9ee8))
     ${gives(`(i32.const 65536) (i32.const ${bytes})`)}`,
    { memory: '3900' },
  );
/** A request with so many headers that all are the same text of a megabyte. */
const repeats = (count: number) =>
  component(
    `(memory.fill (i32.const 1048576) (i32.const 120) (i32.const 1000000))
     (loop $again
       (i32.store (i32.add (i32.const 4194304) (i32.mul (local.get $n) (i32.const 8))) (i32.const 1048576))
       (i32.store (i32.add (i32.const 4194308) (i32.mul (local.get $n) (i32.const 8))) (i32.const 1000000))
       (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const ${2 * count}))))
     (call $http_send (i32.const 10000) ${'(i32.const 0) '.repeat(4)} (i32.const 4194304) (i32.const ${count})
       ${'(i32.const 0) '.repeat(8)} (i32.const ${answer}))
     (i32.store8 (i32.const 8) (i32.add (i32.const 48) (i32.load8_u (i32.const ${answer + 4}))))
     ${gives('(i32.const 8) (i32.const 1)')}`,
    { memory: '256', imports: [skillImport('http.send')] },
  );
/** Grows page by page until there is no more, and says how many it has then, in two digits. */
const GROWS = component(
  `(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
   (i32.store8 (i32.const 8) (i32.add (i32.const 48) (i32.div_u (memory.size) (i32.const 10))))
   (i32.store8 (i32.const 9) (i32.add (i32.const 48) (i32.rem_u (memory.size) (i32.const 10))))
   ${gives('(i32.const 8) (i32.const 2)')}`,
  { memory: '8' },
);
/** Says whether there is anything in memory that nobody gave it, and leaves its mark on all of it. */
const MARKS = component(
  `(local $found i32)
   (local.set $n (i32.const 131072))
   (loop $again
     (local.set $found (i32.or (local.get $found) (i32.load8_u (local.get $n))))
     (i32.store8 (local.get $n) (i32.const 1))
     (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 524288))))
   (i32.store8 (i32.const 8) (i32.add (i32.const 48) (i32.or (local.get $found) (global.get $mark))))
   (global.set $mark (i32.const 1))
   ${gives('(i32.const 8) (i32.const 1)')}`,
  { more: '(global $mark (mut i32) (i32.const 0))' },
);

/** Pairs of a module and a component that do the same. */
const TWINS = {
  'gives back its input': [guest(MODULE_ECHO), component(ECHO), {}],
  'writes a line': [
    guest(({ bytes }) => `(call $log (i32.const 2) ${bytes('watch out')}) ${MODULE_ECHO}`),
    component(({ bytes }) => `(call $log_write (i32.const 2) ${bytes('watch out')}) ${ECHO}`, {
      imports: [skillImport('log.write')],
    }),
    { log: true },
  ],
  'reads its configuration': [
    guest(
      ({ bytes }) => `(local.set $n (call $config_get ${bytes('city')}))
        (drop (call $result_read (i32.const ${MODULE_OFFSETS.answer}) (i32.const 99)))
        ${packed(`(i32.const ${MODULE_OFFSETS.answer})`, '(local.get $n)')}`,
    ),
    component(
      ({ bytes }) => `(call $config_get ${bytes('city')} (i32.const ${answer}))
        ${gives(`(i32.load (i32.const ${answer + 4})) (i32.load (i32.const ${answer + 8}))`)}`,
      { imports: [skillImport('config.get')] },
    ),
    { config: { city: '"Oslo"' } },
  ],
  'asks for a host that it was not granted': [
    guest(({ bytes }) => {
      const head = bytes('{"method":"GET","url":"http://127.0.0.1:10/"}');
      return `(call $say (call $http_request (i32.const 10000) ${head} (i32.const 0) (i32.const 0))) (call $said)`;
    }),
    component(
      ({ bytes }) => `(call $http_send (i32.const 10000) ${bytes('GET')} ${bytes('http://127.0.0.1:10/')}
        ${'(i32.const 0) '.repeat(10)} (i32.const ${answer}))
        (i32.store8 (i32.const 10) (i32.add (i32.const 49) (i32.load8_u (i32.const ${answer + 4}))))
        ${gives('(i32.const 8) (i32.const 4)')}`,
      { imports: [skillImport('http.send')], more: '(data (i32.const 8) "[-0]")' },
    ),
    { http: ['127.0.0.1:9'] },
  ],
} as const;

const ALL: WasmGrants = {
  ...{ http: ['127.0.0.1:9'], log: true, clock: true, random: true, config: {} },
  storage: [{ read: ['/'], write: ['/'] }],
  secrets: [{ name: 'canary', mayReveal: true, hosts: [] }],
  channels: [{ name: 'news', publish: true, receive: true }],
};
const SKILL = built('skill');
const TOOLS = ['put', 'get', 'keys', 'delete', 'read', 'publish', 'receive', 'random', 'clock'];

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const much = { fuel: MUCH_FUEL, memoryBytes: LARGE };
const { call, opened } = sharedModules(() => ({
  config: `[limits]\nfuel = ${MUCH_FUEL}\nmemory_bytes = ${LARGE}\n`,
  tools: [
    moduleTool('test.echo', component(ECHO)),
    ...Object.entries(LOOPS).map(([what, bytes]) =>
      moduleTool(nameOf(what), bytes, { limits: { fuel: FUEL } }),
    ),
    ...[5, 5_000].map((length) =>
      moduleTool(`test.prints-${length}`, prints(length), { grants: { log: true }, limits: { fuel: FUEL } }),
    ),
    moduleTool('test.grows', GROWS, { limits: { memoryBytes: CAP } }),
    moduleTool('test.declares', component(ECHO, { memory: `${CAP_PAGES + 1}` }), {
      limits: { memoryBytes: CAP },
    }),
    moduleTool('test.declares-less', component(ECHO, { memory: `${CAP_PAGES}` }), {
      limits: { memoryBytes: CAP },
    }),
    moduleTool('test.large', large(100_000_000), { limits: much }),
    moduleTool('test.less', large(1_000_000), { limits: much }),
    ...[1, 1_600].map((count) =>
      moduleTool(`test.repeats-${count}`, repeats(count), {
        ...{ grants: { http: ['127.0.0.1:9'] }, limits: { fuel: MUCH_FUEL } },
      }),
    ),
    moduleTool('test.marks', MARKS),
    ...TOOLS.map((tool) => skillTool(`skill.${tool}`, SKILL, tool, { grants: ALL, skill: 'notes' })),
    ...['forged-write', 'forged-read', 'forged-block', 'forged-file'].map((tool) =>
      skillTool(`wasi.${tool}`, built('wasi'), tool, { grants: { log: true, clock: true, random: true } }),
    ),
    moduleTool('test.forger', built('forger')),
    moduleTool('test.granted', built('forger'), { grants: { log: true } }),
    ...Object.entries(TWINS).flatMap(([what, [module, twin, grants]]) => [
      moduleTool(nameOf(`module ${what}`), module, { grants }),
      moduleTool(nameOf(`component ${what}`), twin, { grants }),
    ]),
  ],
}));

beforeAll(async () => {
  const by = { kind: 'user', name: 'operator' } as const;
  await opened().gateway.vault.set(
    'canary',
    { kind: 'tenant', subject: 'alice' },
    Buffer.from('sk-alice'),
    by,
  );
});

/** A tool of the component that has them all, with texts as its arguments. */
const skill = (tool: string, args: readonly string[], tenant = 'default') =>
  call(`skill.${tool}`, { a: args }, { tenant });
const outputOf = async (ending: Promise<ModuleEnd>) => (await ending).output;

describe('a component that', () => {
  test.each(Object.keys(LOOPS))('%s is stopped when its fuel is used up, to the last unit', async (what) => {
    await call('test.echo');
    const before = engines().map(({ pid }) => pid);
    const ends = [await call(nameOf(what)), await call(nameOf(what))];
    expect(ends.map(({ code, usage }) => [code, usage.fuel])).toEqual(
      ends.map(() => ['tier/out-of-fuel', FUEL]),
    );
    expect(engines().map(({ pid }) => pid)).toEqual(expect.arrayContaining(before));
    expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });

  test.each([5, 5_000])('prints %i bytes without an end is cut at the quota of its log', async (length) => {
    const end = await call(`test.prints-${length}`);
    expect(end).toMatchObject({ code: 'tier/out-of-fuel', isolation: { isLogCut: true } });
    expect(end.log).toMatch(/^info: line\ninfo: line\n/);
    expect(end.log).toMatch(/… and more: a log is cut at 65536 bytes\n$/);
    expect(Buffer.byteLength(end.log)).toBeLessThan(64 * 1024 + 200);
  });

  test('grows gets what its call may have, and no more', async () => {
    const end = await call('test.grows');
    expect(end).toMatchObject({ output: CAP_PAGES, isolation: { peakMemoryBytes: CAP } });
  });

  test('declares more than it may have is refused before it runs', async () => {
    const end = await call('test.declares');
    expect(end).toMatchObject({ code: 'tier/invalid-module', usage: { fuel: 0 } });
    expect(end.message).toContain('its "memoryBytes" would be');
    expect(await call('test.declares-less', { a: 1 })).toMatchObject({ output: { a: 1 } });
  });

  test('returns a hundred megabytes has returned nothing, and none of them were made outside of it', async () => {
    expect(await call('test.less')).toMatchObject({ code: 'tier/invalid-output' });
    const end = await call('test.large');
    expect(end).toMatchObject({ code: 'tier/output-exceeded', output: null });
    expect(end.isolation.peakMemoryBytes).toBeGreaterThan(200 * MIB);
    for (const { peakBytes } of engines()) expect(peakBytes).toBeLessThan(LARGE + 250 * MIB);
  });

  test('passes the same megabyte three thousand times is stopped before that is made', async () => {
    // A few are only refused: the answer is one of the errors.
    expect(await call('test.repeats-1')).toMatchObject({ code: 'ok', output: expect.any(Number) });
    const end = await call('test.repeats-1600');
    expect(end).toMatchObject({ code: 'tier/trapped', output: null });
    expect(end.message).toMatch(/^Cannot pass value: the parts of a value have/);
    for (const { peakBytes } of engines()) expect(peakBytes).toBeLessThan(LARGE + 250 * MIB);
  });
});

describe('a component with a forged handle', () => {
  test.each([
    ['get', ['30001', 'canary'], ['30000', 'canary'], { error: 1 }],
    ['put', ['30001', 'k', 'v', '0', '0'], ['30000', 'k', 'v', '0', '0'], null],
    ['keys', ['30001', '/', '', '9'], ['30000', '/', '', '9'], expect.any(Array)],
    ['delete', ['30001', 'k', ''], ['30000', 'k', ''], null],
    ['read', ['20001'], ['20000'], { error: 1 }],
    ['publish', ['40001', 'x'], ['40000', 'x'], null],
    ['receive', ['40001', '0'], ['40000', '0'], { error: 1 }],
  ])('is denied %s, and with its own it is not', async (tool, forged, own, output) => {
    const end = await skill(tool, forged);
    expect(end).toMatchObject({ output: { error: 0 }, isolation: { hostCallsDenied: 1 } });
    for (const handle of ['0', '4294967295', '10000'])
      expect(await outputOf(skill(tool, [handle, ...forged.slice(1)]))).toEqual({ error: 0 });
    expect(await outputOf(skill(tool, own))).toEqual(output);
  });

  test.each([
    ['forged-write', '1'],
    ['forged-write', '4294967295'],
    ['forged-read', '2'],
    ['forged-block', '1'],
    ['forged-file', '3'],
  ])('of WASI ends there: %s %s', async (tool, handle) => {
    const end = await call(`wasi.${tool}`, { a: [handle] });
    expect(end).toMatchObject({ code: 'tier/trapped', output: null, log: '' });
  });

  test('of a stream prints nothing where it was not granted a log', async () => {
    for (const handle of ['2', '3']) {
      expect(await call('test.forger', { a: [handle] })).toMatchObject({ code: 'tier/trapped', log: '' });
      const granted = await call('test.granted', { a: [handle] });
      expect([granted.code, granted.log]).toEqual(['ok', expect.stringContaining('forged')]);
    }
  });
});

describe('what a tenant', () => {
  test('stores is found by its own components and by nobody else’s', async () => {
    expect(await outputOf(skill('put', ['30000', 'mine', 'of alice', '0', '0'], 'alice'))).toBeNull();
    expect(await outputOf(skill('get', ['30000', 'mine'], 'alice'))).toMatchObject({ value: 'of alice' });
    for (const tenant of ['bob', 'default']) {
      expect(await outputOf(skill('get', ['30000', 'mine'], tenant))).toEqual({ error: 1 });
      expect(await outputOf(skill('keys', ['30000', '/', '', '9'], tenant))).not.toContain('mine');
    }
  });

  test('has as its secret is told to its own components and to nobody else’s', async () => {
    expect(await outputOf(skill('read', ['20000'], 'alice'))).toBe('sk-alice');
    for (const tenant of ['bob', 'default'])
      expect(await outputOf(skill('read', ['20000'], tenant))).toEqual({ error: 1 });
  });

  test('publishes is heard by its own components and by nobody else’s', async () => {
    /** What a listener hears while alice publishes, until it has ended. */
    const receivedBy = async (tenant: string, waitMs: string) => {
      let isOver = false;
      const listening = skill('receive', ['40000', waitMs], tenant).finally(() => {
        isOver = true;
      });
      while (!isOver) await skill('publish', ['40000', 'of alice'], 'alice');
      return (await listening).output;
    };
    expect(await receivedBy('alice', '20000')).toMatchObject({ body: 'of alice' });
    expect(await receivedBy('bob', '500')).toEqual({ error: 1 });
  });

  test('leaves in memory and globals is gone, for itself and for others', async () => {
    const tenants = ['alice', 'alice', 'bob', 'bob', 'alice'];
    const found = [];
    for (const tenant of tenants) found.push((await call('test.marks', {}, { tenant })).output);
    expect(found).toEqual(tenants.map(() => 0));
  });
});

describe('the record of a component’s call', () => {
  test.each([
    ['random', ['16'], 'ok'],
    ['clock', [], 'ok'],
    ['put', ['30000', 'recorded', 'v', '0', '0'], 'ok'],
    ['get', ['30000', 'recorded'], 'ok'],
    ['publish', ['40000', 'x'], 'ok'],
  ])('runs again to the same end: %s%j', async (tool, args, code) => {
    const { gateway } = opened();
    const end = await skill(tool, args);
    const kept = findRecording(gateway.store, end.callId);
    if (kept === null) throw new Error('nothing was kept');
    const runs = [];
    for (let round = 0; round < 2; round++)
      runs.push(await replay(gateway, kept.recording, kept.module, new AbortController().signal));
    expect(end.code).toBe(code);
    const outputDigest = end.output === null ? null : digestBytes(canonicalize(end.output));
    const same = { code, outputDigest, fuel: end.usage.fuel, parting: null };
    expect(runs).toEqual(runs.map(() => expect.objectContaining(same)));
    const other = { ...kept.recording, seed: '00'.repeat(32), startedMs: 1 };
    const changed = await replay(gateway, other, kept.module, new AbortController().signal);
    // What depends on chance or time has another output when those are others: the digest means something.
    const isBound = tool === 'random' || tool === 'clock';
    expect(changed.outputDigest === outputDigest).toBe(!isBound);
  });
});

describe('a module and a component of one tool', () => {
  test.each(Object.keys(TWINS))('end alike where it %s', async (what) => {
    const ends = [
      await call(nameOf(`module ${what}`), { a: 'ü' }),
      await call(nameOf(`component ${what}`), { a: 'ü' }),
    ];
    const [module, twin] = ends.map(({ code, output, log, isolation }) => [
      code,
      output,
      log,
      isolation.hostCallsDenied,
    ]);
    expect(module?.[0]).toBe('ok');
    expect(twin).toEqual(module);
  });
});
