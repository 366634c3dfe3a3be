import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CAPABILITY_KINDS } from '../../../../src/core/wasm.ts';
import { ABI_ERRORS, ABI_FUNCTIONS, ERROR_NAMES } from '../../../../src/tiers/a-wasm/engine/abi.table.ts';
import {
  needOf,
  RUN_TYPE,
  requireGranted,
  SKILL_FUNCTIONS,
  TYPE_INTERFACES,
  WORLD_FUNCTIONS,
  worldOf,
  worldRow,
} from '../../../../src/tiers/a-wasm/engine/world.ts';
import { readWit } from './read-wit.ts';

const FOLDER = resolve(import.meta.dirname, '../../../../../guest/wit');
const FILES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.wit'))
  // What others use comes first.
  .sort((a, b) => Number(b === 'types.wit') - Number(a === 'types.wit'));
const TEXT = FILES.map((name) => readFileSync(join(FOLDER, name), 'utf8')).join('\n');
const WIT = readWit(TEXT);
const short = (name: string) => name.replace('palisade:skill/', '');

describe('the table of the world', () => {
  it('has every function of the WIT files with its very type, and no other', () => {
    const table = new Map(SKILL_FUNCTIONS.map((row) => [`${short(row.interface)}.${row.name}`, row.type]));
    expect(table.size).toBe(14);
    expect(table).toEqual(WIT.functions);
  });

  it('has the interfaces and the export of the world', () => {
    const interfaces = new Set(
      [...SKILL_FUNCTIONS.map((row) => row.interface), ...TYPE_INTERFACES].map(short),
    );
    expect(interfaces).toEqual(WIT.interfaces);
    expect(interfaces).toEqual(new Set(WIT.imported));
    expect([...WIT.exported]).toEqual([['run', RUN_TYPE]]);
  });

  it('has the errors in the order of their numbers', () => {
    const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const inOrder = Object.entries(ABI_ERRORS).sort(([, a], [, b]) => b.code - a.code);
    expect(inOrder.map(([name]) => kebab(name))).toEqual([...ERROR_NAMES]);
    expect(inOrder.map(([, { code }]) => code)).toEqual(ERROR_NAMES.map((_, index) => -1 - index));
  });

  it('covers what the ABI can do, but for what only numbers need', () => {
    const done = new Set(SKILL_FUNCTIONS.map(({ abi }) => abi));
    const left = ABI_FUNCTIONS.filter(({ name }) => !done.has(name)).map(({ name }) => name);
    expect(left).toEqual(['result_read', 'fail']);
  });

  it('names each kind of capability in the enum', () => {
    const [count] = SKILL_FUNCTIONS;
    expect(count?.type.params[0]?.[1]).toEqual({ kind: 'enum', names: Object.keys(CAPABILITY_KINDS) });
  });
});

describe('every function in the WIT files', () => {
  it('has a sentence above it', () => {
    const lines = TEXT.split('\n');
    const bare = lines.filter(
      (line, at) => /: func\(/.test(line) && !lines[at - 1]?.trim().startsWith('/// '),
    );
    expect(lines.some((line) => /: func\(/.test(line))).toBe(true);
    expect(bare).toEqual([]);
  });
});

describe('docs/components.md', () => {
  const page = readFileSync(resolve(FOLDER, '../../../docs/components.md'), 'utf8');

  it('has a row for each interface, with its functions and its grant', () => {
    const names = [...new Set(SKILL_FUNCTIONS.map((row) => row.interface))];
    const rows = names.map((name) => {
      const own = SKILL_FUNCTIONS.filter((row) => row.interface === name);
      const need = own[0] === undefined ? null : needOf(own[0]);
      const functions = own.map((row) => `\`${row.name}\``).join(', ');
      return `| \`${short(name)}\` | ${functions} | ${need === null ? '–' : `\`${need}\``} |`;
    });
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  it('names every package of WASI that is there', () => {
    const packages = WORLD_FUNCTIONS.flatMap((row) => /^wasi:[a-z]+/.exec(row.interface) ?? []);
    expect([...new Set(packages)].filter((name) => !page.includes(`| \`${name}/`))).toEqual([]);
  });
});

describe('worldOf()', () => {
  const world = worldOf();

  it.each([
    ['palisade:skill/log@1.0.0', true],
    ['palisade:skill/types@1.0.0', true],
    ['palisade:skill/log@1.0.1', false],
    ['palisade:skill/log', false],
    ['palisade:skill/files@1.0.0', false],
    ['wasi:io/streams@0.2.0', true],
    ['wasi:io/streams@0.2.12', true],
    ['wasi:io/streams@0.3.0', false],
    ['wasi:io/streams@0.2.0-rc-2023-11-10', false],
    ['wasi:io/streams@1.0.0', false],
    ['wasi:http/outgoing-handler@0.2.0', false],
    ['wasi:sockets/tcp@0.2.0', false],
    ['wasi:filesystem/types@0.2.3', true],
    ['wasi:cli/__proto__@0.2.0', false],
    ['__proto__', false],
    ['', false],
  ])('knows %j: %j', (name, isKnown) => {
    expect(world.knows(name)).toBe(isKnown);
  });

  it('finds a function by its interface and name, whatever the version of WASI', () => {
    expect(world.find('wasi:cli/stdout@0.2.7', 'get-stdout')).toEqual({
      module: 'wasi:cli/stdout@0.2',
      name: 'get-stdout',
      type: { params: [], result: { kind: 'own', resource: 'wasi:io/streams@0.2/output-stream' } },
    });
    expect(world.find('palisade:skill/log@1.0.0', 'write')?.module).toBe('palisade:skill/log@1.0.0');
  });

  it.each([
    ['palisade:skill/log@1.0.0', 'read'],
    ['palisade:skill/log@1.0.0', 'constructor'],
    ['palisade:skill/log@1.0.0', '__proto__'],
    ['wasi:sockets/tcp@0.2.0', '[method]tcp-socket.start-bind'],
    ['wasi:cli/stdout@0.3.0', 'get-stdout'],
    ['wasi:filesystem/types@0.2.12', '[method]directory-entry-stream.read-directory-entry'],
  ])('does not find %j %j', (place, name) => {
    expect(world.find(place, name)).toBeNull();
  });
});

describe('of the files of WASI', () => {
  const inTypes = WORLD_FUNCTIONS.filter((row) => row.interface === 'wasi:filesystem/types');

  it('is there what streams need, and nothing that opens, reads, changes or lists a file', () => {
    expect(inTypes.map(({ name }) => name)).toEqual([
      ...['read-via-stream', 'write-via-stream', 'append-via-stream', 'get-flags', 'get-type', 'stat'].map(
        (method) => `[method]descriptor.${method}`,
      ),
      ...['[resource-drop]descriptor', '[resource-drop]directory-entry-stream', 'filesystem-error-code'],
    ]);
  });

  it('takes nothing a path', () => {
    expect(inTypes.flatMap(({ type }) => type.params).filter(([, type]) => type === 'string')).toEqual([]);
  });
});

describe('requireGranted()', () => {
  const imported = (place: string, name: string) => {
    const found = worldOf().find(place, name);
    if (found === null) throw new Error(`there is no ${name}`);
    return [found];
  };

  it.each([
    ['palisade:skill/storage@1.0.0', 'get', 'storage_get', '--grant storage=…'],
    ['palisade:skill/config@1.0.0', 'get', 'config_get', '--grant config:KEY=VALUE'],
    ['wasi:random/random@0.2.3', 'get-random-u64', 'random', '--grant random'],
    ['wasi:clocks/wall-clock@0.2.3', 'now', 'clock_ms', '--grant clock'],
    ['wasi:cli/stdout@0.2.3', 'get-stdout', 'log', '--grant log'],
  ] as const)('says which grant %s %s lacks, and nothing with it', (place, name, does, word) => {
    expect(() => requireGranted(imported(place, name), [])).toThrow(
      expect.objectContaining({ code: 'link', message: expect.stringContaining(word) }),
    );
    expect(() => requireGranted(imported(place, name), [does])).not.toThrow();
  });

  it('lets through what needs no grant', () => {
    expect(() => requireGranted(imported('wasi:cli/environment@0.2.3', 'get-environment'), [])).not.toThrow();
  });
});

describe('worldRow()', () => {
  it('finds the row behind every import that the world gives', () => {
    for (const row of WORLD_FUNCTIONS) {
      const version = row.interface.startsWith('wasi:') ? '0.2.6' : '1.0.0';
      const found = worldOf().find(`${row.interface}@${version}`, row.name);
      expect(found && worldRow(found)).toBe(row);
    }
    expect(worldRow({ module: 'palisade_v1', name: 'log' })).toBeUndefined();
    const stdout = worldRow({ module: 'wasi:cli/stdout@0.2', name: 'get-stdout' });
    expect(stdout && needOf(stdout)).toBe('log');
  });
});
