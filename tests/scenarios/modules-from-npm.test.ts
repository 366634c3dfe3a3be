import { runInNewContext } from 'node:vm';
import { brotliDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { runBare } from '../fixtures/modules/bare.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { BROTLI, ZSTD } from '../fixtures/modules/programs/codecs.ts';
import { quickJsGuest } from '../fixtures/modules/programs/quickjs.ts';
import { resvgGuest } from '../fixtures/modules/programs/resvg.ts';
import { sqliteGuest } from '../fixtures/modules/programs/sqlite.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';
import { drawing, prose, records } from '../fixtures/real-programs/material.ts';
import { besideEntry, required } from '../fixtures/real-programs/program.ts';
import { sample } from '../volume/volume.ts';

/*
 * A database, a JavaScript engine, compressors and a renderer as npm has them, each with a small adapter to the ABI: as
 * tools they do through the whole line what they do without meter and limits, and they stay within those.
 */

const LIMITS = { fuel: 2_000_000_000, memoryBytes: 64 * 1024 * 1024 };
/** Less than any of them needs for its work. */
const LITTLE = { ...LIMITS, fuel: 500_000 };

const SESSION = [
  'create table author (id integer primary key, name text not null unique)',
  'create table book (id integer primary key, author integer references author, title text, year integer, price real)',
  "insert into author values (1, 'Ada'), (2, 'Émile \"E\" Zoë'), (3, 'Grace'), (4, 'nobody')",
  ...records(120).map(
    ({ id, name, score }) =>
      `insert into book values (${id}, ${1 + (id % 3)}, '${name}', ${1900 + (id % 90)}, ${score})`,
  ),
  'create index by_year on book (year, author)',
  'begin',
  'update book set price = price * 1.1 where year < 1950 and id in (select id from book order by price limit 40)',
  'delete from book where year between 1960 and 1965',
  'commit',
  'create view sums as select author, count(*) as books, round(sum(price), 2) as total from book group by author',
];
const QUERY = `select json_group_array(json_object('name', name, 'books', books, 'total', total, 'oldest', oldest)) from (
  select a.name, coalesce(s.books, 0) as books, s.total,
    (select json_group_array(title) from (select title from book b where b.author = a.id order by year, id limit 3)) as oldest
  from author a left join sums s on s.author = a.id order by a.name)`;

/** Both engines must agree on it: nothing of it depends on a place or a time. */
const SCRIPT = `
  class Tree {
    constructor(value) { this.value = value }
    add(value) { const side = value < this.value ? 'left' : 'right'; this[side] ? this[side].add(value) : this[side] = new Tree(value) }
    *[Symbol.iterator]() { if (this.left) yield* this.left; yield this.value; if (this.right) yield* this.right }
  }
  const tree = new Tree(500);
  for (let i = 0; i < 400; i++) tree.add(i * 7919 % 997);
  const words = 'the gate, the wall and the queue'.match(/\\p{L}+/gu);
  const counted = {};
  for (const word of words) counted[word] = (counted[word] ?? 0) + 1;
  const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);
  ({ sorted: [...tree].slice(0, 9), counted, fib: fib(17), big: String(2n ** 200n), sine: Math.sin(2).toFixed(9),
     text: [...'aü😀'].reverse().join(''), json: JSON.stringify(JSON.parse('{"a":[1,{"b":null}]}')), from: typeof process })`;

const TEXTS = { title: 'Zoë "Z" \\ 😀', words: prose(3_000) };
const SVG = drawing(12);

const GUESTS = {
  sqlite: { module: sqliteGuest(), input: { statements: [...SESSION, QUERY] } },
  quickjs: { module: quickJsGuest(), input: { script: SCRIPT } },
  'zstd-compress': { module: ZSTD.compress(), input: TEXTS },
  'brotli-compress': { module: BROTLI.compress(), input: TEXTS },
  resvg: { module: resvgGuest(), input: { svg: SVG } },
} as const;
const NAMES = Object.keys(GUESTS) as (keyof typeof GUESTS)[];

const { call } = sharedModules(() => ({
  config: `[limits]\nfuel = ${LIMITS.fuel}\n`,
  tools: [
    ...NAMES.map((name) => moduleTool(`npm.${name}`, GUESTS[name].module, { limits: LIMITS })),
    ...NAMES.map((name) => moduleTool(`starved.${name}`, GUESTS[name].module, { limits: LITTLE })),
    moduleTool('npm.zstd-expand', ZSTD.expand(), { limits: LIMITS }),
    moduleTool('npm.brotli-expand', BROTLI.expand(), { limits: LIMITS }),
  ],
}));

/** The output of a program under the meter and limits. */
async function outputOf(name: string, input: Json): Promise<Json> {
  const { code, message, output } = await call(`npm.${name}`, input);
  expect([code, message]).toEqual(['ok', '']);
  return output;
}

describe.each(sample(NAMES, 2))('%s', (name) => {
  const { module, input } = GUESTS[name];

  test('gives as a tool what it gives without meter and limits, for the same fuel each time', async () => {
    const bare = runBare(module, input);
    const ends = [await call(`npm.${name}`, input), await call(`npm.${name}`, input)];
    for (const { code, output } of ends) expect([code, output]).toEqual(['ok', JSON.parse(bare.toString())]);
    expect(bare.length).toBeGreaterThan(100);
    const [first = 0, second] = ends.map(({ usage }) => usage.fuel);
    expect(first).toBeGreaterThan(LITTLE.fuel);
    expect(second).toBe(first);
  });

  test('is stopped when its fuel is used up, and works again after that', async () => {
    const starved = await call(`starved.${name}`, input);
    expect([starved.code, starved.output]).toEqual(['tier/out-of-fuel', null]);
    expect((await call(`npm.${name}`, input)).code).toBe('ok');
  });
});

describe('SQLite', () => {
  test('answers as its own package does', async () => {
    type Database = { exec(sql: string): { values: unknown[][] }[] };
    const { Database } = await required<() => Promise<{ Database: new () => Database }>>('sql.js')();
    const database = new Database();
    for (const sql of SESSION) database.exec(sql);
    const expected = JSON.parse(String(database.exec(QUERY)[0]?.values[0]?.[0]));
    expect(expected).toHaveLength(4);
    expect(await outputOf('sqlite', { statements: [...SESSION, QUERY] })).toEqual(expected);
  });

  test('says what is wrong with a statement', async () => {
    const output = await outputOf('sqlite', { statements: ['create table a (x)', 'selekt 1'] });
    expect(output).toEqual({ error: 'near "selekt": syntax error' });
  });

  test('has no database of an earlier call', async () => {
    await outputOf('sqlite', { statements: ['create table kept (x)', "select json('1')"] });
    const output = await outputOf('sqlite', { statements: ['select json_array(x) from kept'] });
    expect(output).toEqual({ error: 'no such table: kept' });
  });

  test('reaches no file', async () => {
    const output = await outputOf('sqlite', { statements: ["attach '/etc/passwd' as stolen", 'select 1'] });
    expect(output).toEqual({ error: 'unable to open database: /etc/passwd' });
  });
});

describe('QuickJS', () => {
  test('computes what V8 computes', async () => {
    const value = runInNewContext(SCRIPT);
    expect(await outputOf('quickjs', { script: SCRIPT })).toEqual({
      value: JSON.parse(JSON.stringify(value)),
    });
  });

  test('hands out the error of a script', async () => {
    expect(await outputOf('quickjs', { script: 'null.x' })).toMatchObject({
      error: expect.stringMatching(/^TypeError: /),
    });
  });

  test('is stopped by its fuel in a loop without end', async () => {
    expect((await call('npm.quickjs', { script: 'for (;;);' })).code).toBe('tier/out-of-fuel');
  });

  test('is told by the limit of its memory that there is no more, and tells the script', async () => {
    const script = 'const all = []; for (;;) all.push(new Uint8Array(1 << 20))';
    expect(await outputOf('quickjs', { script })).toEqual({ error: 'InternalError: out of memory' });
  });
});

describe('a compressor', () => {
  test.each(['zstd', 'brotli'])('%s gets back what it compressed', async (name) => {
    const hex = await outputOf(`${name}-compress`, TEXTS);
    expect(String(hex).length / 2).toBeLessThan(JSON.stringify(TEXTS).length / 2);
    expect(await outputOf(`${name}-expand`, { hex })).toEqual(TEXTS);
  });

  test('Brotli is understood by the one of Node', async () => {
    const hex = await outputOf('brotli-compress', TEXTS);
    expect(JSON.parse(brotliDecompressSync(Buffer.from(String(hex), 'hex')).toString())).toEqual(TEXTS);
  });

  test('Zstandard is understood by its own package', async () => {
    type Zstd = { init(): Promise<void>; decompress(bytes: Uint8Array): Uint8Array };
    const zstd = required<Zstd>('@bokuweb/zstd-wasm');
    await zstd.init();
    const hex = await outputOf('zstd-compress', TEXTS);
    expect(JSON.parse(Buffer.from(zstd.decompress(Buffer.from(String(hex), 'hex'))).toString())).toEqual(
      TEXTS,
    );
  });

  test('that is given damaged bytes traps in its own guest and nowhere else', async () => {
    const hex = String(await outputOf('zstd-compress', TEXTS));
    const damaged = await call('npm.zstd-expand', { hex: `${hex.slice(0, 200)}0000${hex.slice(204)}` });
    expect(damaged.code).toBe('tier/trapped');
    expect(await outputOf('zstd-expand', { hex })).toEqual(TEXTS);
  });
});

describe('resvg', () => {
  test('renders the picture that its own package renders', async () => {
    type Resvg = {
      initWasm(bytes: Uint8Array): Promise<void>;
      Resvg: new (svg: string) => { render(): { asPng(): Uint8Array } };
    };
    const resvg = required<Resvg>('@resvg/resvg-wasm');
    await resvg.initWasm(besideEntry('@resvg/resvg-wasm', 'index_bg.wasm'));
    const png = Buffer.from(new resvg.Resvg(SVG).render().asPng());
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect(await outputOf('resvg', { svg: SVG })).toBe(png.toString('hex'));
  });
});

test('programs of npm work for several tenants at once, each with its own answer', async () => {
  const requested = Array.from({ length: 16 }, (_, number) => ({
    tenant: `tenant-${number % 4}`,
    sqlite: { statements: [`select json_array(${number}, '${'x'.repeat(number)}')`] },
    quickjs: { script: `${number} * 2` },
  }));
  const ends = await Promise.all(
    requested.flatMap(({ tenant, sqlite, quickjs }) => [
      call('npm.sqlite', sqlite, { tenant }),
      call('npm.quickjs', quickjs, { tenant }),
    ]),
  );
  const expected = requested.flatMap((_, number) => [[number, 'x'.repeat(number)], { value: number * 2 }]);
  expect(ends.map(({ output }) => output)).toEqual(expected);
});
