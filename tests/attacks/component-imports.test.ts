import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { WasmGrants } from '../../packages/gateway/src/core/wasm.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../packages/gateway/src/open.ts';
import {
  moduleOf,
  needOf,
  RUN_TYPE,
  WORLD_FUNCTIONS,
} from '../../packages/gateway/src/tiers/a-wasm/engine/world.ts';
import { type Ran, runInside } from '../../packages/gateway/test/doors/cli/fake-edge.ts';
import type { WitFunction } from '../../packages/wasm/src/component/types.ts';
import { scratch } from '../fixtures/cli.ts';
import { component, ECHO } from '../fixtures/components/guest.ts';
import type { Import } from '../fixtures/components/interfaces.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A component asks for what its world does not have, or for what nobody gave it: it is refused before a byte of it runs. */

const GUESTS = resolve(import.meta.dirname, '../../packages/gateway/test/tiers/a-wasm/engine/guests');
const NOTHING: WitFunction = { params: [], result: null };
const NO_FILES = 'use palisade:skill/storage: there are no files';
const NO_SOCKETS = 'use palisade:skill/http: there are no sockets';
const OTHER_WORLD = 'build it for the world of docs/components.md';

/** A component like any other, with one import more. */
const importing = (place: string, name: string, type: WitFunction = NOTHING) => {
  const more: Import = { as: 'more', interface: place, name, type };
  return component(ECHO, { imports: [more] });
};
/** The same, as the world has it. */
const honest = (place: string, name: string) =>
  component(ECHO, { imports: [{ as: 'more', interface: place, name }] });

/** Functions of WASI that would reach a file. */
const ON_FILES = [
  ...['open-at', 'stat-at', 'create-directory-at', 'link-at', 'readlink-at', 'remove-directory-at'],
  ...['rename-at', 'symlink-at', 'unlink-file-at', 'set-times-at', 'metadata-hash-at', 'read-directory'],
  ...['set-size', 'set-times', 'advise', 'read', 'write', 'sync', 'sync-data', 'is-same-object'],
  'metadata-hash',
].map((name) => `[method]descriptor.${name}`);

type Strange = readonly [bytes: Uint8Array, named: string, remedy: string];

const STRANGE: Readonly<Record<string, Strange>> = {
  ...Object.fromEntries(
    [...ON_FILES, '[method]directory-entry-stream.read-directory-entry'].map((name): [string, Strange] => [
      `files by ${name}`,
      [importing('wasi:filesystem/types@0.2.12', name), `wasi:filesystem/types@0.2.12#${name}`, NO_FILES],
    ]),
  ),
  ...Object.fromEntries(
    ['tcp', 'udp', 'network', 'instance-network', 'ip-name-lookup', 'tcp-create-socket'].map(
      (name): [string, Strange] => [
        `sockets by ${name}`,
        [importing(`wasi:sockets/${name}@0.2.12`, 'connect'), `wasi:sockets/${name}@0.2.12`, NO_SOCKETS],
      ],
    ),
  ),
  'a network, as C has it': [
    readFileSync(join(GUESTS, 'sockets.component.wasm')),
    'wasi:sockets/network@0.2.12',
    NO_SOCKETS,
  ],
  'a file, as C has it': [
    readFileSync(join(GUESTS, 'files.component.wasm')),
    'wasi:filesystem/types@0.2.12#[method]descriptor.open-at',
    NO_FILES,
  ],
  'requests of WASI': [
    importing('wasi:http/outgoing-handler@0.2.12', 'handle'),
    'wasi:http/outgoing-handler@0.2.12',
    'use palisade:skill/http, which sends requests to granted hosts',
  ],
  'an interface that nobody knows': [
    importing('evil:host/shell@1.0.0', 'exec'),
    'evil:host/shell@1.0.0',
    OTHER_WORLD,
  ],
  'an interface without a version': [
    importing('palisade:skill/log', 'write'),
    'palisade:skill/log',
    OTHER_WORLD,
  ],
  'a later version of its world': [
    importing('palisade:skill/log@1.1.0', 'write'),
    'palisade:skill/log@1.1.0',
    OTHER_WORLD,
  ],
  'WASI of another version': [
    importing('wasi:io/streams@0.3.0', 'write'),
    'wasi:io/streams@0.3.0',
    'build it without this, for WASI 0.2',
  ],
  'a function that an interface does not have': [
    importing('palisade:skill/log@1.0.0', 'read'),
    'palisade:skill/log@1.0.0#read',
    OTHER_WORLD,
  ],
  'the prototype of a table': [
    importing('palisade:skill/log@1.0.0', '__proto__'),
    'palisade:skill/log@1.0.0#__proto__',
    OTHER_WORLD,
  ],
  'a function of the ABI': [importing('palisade_v1', 'log'), 'palisade_v1', ''],
  'a function of the meter': [importing('palisade', 'set'), 'palisade', ''],
  'a function with a parameter less': [
    importing('palisade:skill/secrets@1.0.0', 'read', {
      params: [],
      result: { kind: 'list', element: 'u8' },
    }),
    'palisade:skill/secrets@1.0.0#read',
    'as func() -> list<u8>, expected func(handle: u32) -> result<list<u8>,',
  ],
  'a function with another number': [
    importing('palisade:skill/random@1.0.0', 'bytes', {
      params: [['length', 'u64']],
      result: { kind: 'list', element: 'u8' },
    }),
    'palisade:skill/random@1.0.0#bytes',
    'as func(length: u64) -> list<u8>, expected func(length: u32) -> list<u8>',
  ],
  'a function that gives more than it does': [
    importing('palisade:skill/clock@1.0.0', 'now-ms', { params: [], result: 'string' }),
    'palisade:skill/clock@1.0.0#now-ms',
    'as func() -> string, expected func() -> f64',
  ],
  'an enum with a case more': [
    importing('palisade:skill/capabilities@1.0.0', 'count', {
      params: [['kind', { kind: 'enum', names: ['http', 'secret', 'storage', 'channel', 'process'] }]],
      result: 'u32',
    }),
    'palisade:skill/capabilities@1.0.0#count',
    'channel, process }',
  ],
  'nothing and exports no `run`': [component(ECHO, { runName: null }), 'run', 'it has no export'],
  'nothing and exports a `run` of another type': [
    component(ECHO, {
      runType: {
        ...RUN_TYPE,
        params: [
          ['tool', 'string'],
          ['in', 'string'],
        ],
      },
    }),
    'run',
    'expected func(tool: string, input: string)',
  ],
};

/** What each function of the world needs, granted, and as words of a command. */
const GRANTS: Readonly<Record<string, readonly [grants: Partial<WasmGrants>, word: string]>> = {
  http: [{ http: ['example.com'] }, 'http=example.com'],
  secret: [{ secrets: [{ name: 'token', mayReveal: true, hosts: [] }] }, 'secret:read=token'],
  storage: [{ storage: [{ read: ['notes/'], write: ['notes/'] }] }, 'storage=notes/'],
  channel: [{ channels: [{ name: 'news', publish: true, receive: true }] }, 'channel=news'],
  log: [{ log: true }, 'log'],
  clock: [{ clock: true }, 'clock'],
  random: [{ random: true }, 'random'],
  config: [{ config: {} }, 'config:key=value'],
};
const GRANTED = WORLD_FUNCTIONS.flatMap((row) => {
  const needs = needOf(row);
  // Those that give out resources need the interfaces of those too; `wasi.test.ts` has them.
  const isPlain = !JSON.stringify(row.type).includes('"resource"');
  return needs === null || !isPlain
    ? []
    : [{ place: moduleOf(row).replace(/@0\.2$/, '@0.2.3'), name: row.name, needs }];
});

const nameOf = (what: string) => `test.${what.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
const { call } = sharedModules(() => ({
  tools: [
    ...Object.entries(STRANGE).map(([what, [bytes]]) => moduleTool(nameOf(what), bytes)),
    ...GRANTED.flatMap(({ place, name, needs }) => [
      moduleTool(nameOf(`without ${place} ${name}`), honest(place, name)),
      moduleTool(nameOf(`with ${place} ${name}`), honest(place, name), { grants: GRANTS[needs]?.[0] ?? {} }),
    ]),
    moduleTool('test.plain', component(ECHO)),
  ],
}));

const directory = scratch();
const state = join(directory, 'state');

beforeAll(() => {
  mkdirSync(join(state, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, 'policies/all.cedar'), '@id("all") permit (principal, action, resource);\n');
});

/** `palisade wasm run` of such a file, as a document. */
async function runFile(bytes: Uint8Array, ...words: readonly string[]): Promise<Ran> {
  const file = join(directory, 'component.wasm');
  writeFileSync(file, bytes);
  const parts = { clock: systemClock, random: systemRandom, cwd: directory, openRecords, openGateway };
  const requested = ['wasm', 'run', file, '--tool', 'tool', '--input', '{"a":1}', '--json', '--state', state];
  return runInside([...requested, ...words], parts);
}

describe('a component that imports', () => {
  test.each(Object.entries(STRANGE))(
    '%s is refused by its name, from a file and by the line',
    async (what, [bytes, named, remedy]) => {
      const end = await call(nameOf(what));
      expect(end).toMatchObject({ code: 'tier/invalid-module', output: null, usage: { fuel: 0 } });
      const { status, out, err } = await runFile(bytes);
      expect(status).not.toBe(0);
      expect(JSON.parse(out || err)).toMatchObject({ code: 'wasm/link' });
      for (const reported of [end.message, JSON.parse(out || err).message]) {
        expect(reported).toContain(`"${named}"`);
        expect(reported).toContain(remedy);
      }
    },
  );

  test.each(GRANTED)('$place $name runs only where $needs was granted', async ({ place, name, needs }) => {
    const refused = await call(nameOf(`without ${place} ${name}`));
    expect(refused).toMatchObject({ code: 'tier/invalid-module', usage: { fuel: 0 } });
    expect(refused.message).toContain(`.${name}`);
    expect(refused.message).toContain(`--grant ${needs}`);
    expect(await call(nameOf(`with ${place} ${name}`), { a: 1 })).toMatchObject({ output: { a: 1 } });
  });

  test('nothing runs', async () => {
    expect(await call('test.plain', { a: 1 })).toMatchObject({ code: 'ok', output: { a: 1 } });
  });
});

describe('from a file,', () => {
  test.each([
    ['palisade:skill/storage@1.0.0', 'get', 'storage'],
    ['wasi:random/random@0.2.3', 'get-random-u64', 'random'],
  ])('%s %s is refused without a grant, and runs with it', async (place, name, needs) => {
    const bytes = honest(place, name);
    const refused = await runFile(bytes);
    expect(JSON.parse(refused.out || refused.err)).toMatchObject({
      ...{ code: 'wasm/link', message: expect.stringContaining(`.${name}, which was not granted`) },
    });
    const ran = await runFile(bytes, '--grant', GRANTS[needs]?.[1] ?? '');
    expect([ran.status, JSON.parse(ran.out).output]).toEqual([0, { a: 1 }]);
  });
});
