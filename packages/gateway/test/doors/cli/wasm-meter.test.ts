import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '@palisade/wasm';
import { describe, expect, test } from 'vitest';
import { VERBS } from '../../../src/doors/cli/verbs.table.ts';
import { wat, writeModule } from '../../fixture/wat.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';

const scratch = makeScratch();
const file = (name: string) => join(scratch, name);

const COUNT = `(module
  (func $add (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  (func (export "sum") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (call $add (local.get $sum) (local.get $n)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum))
  (func (export "halve") (param f64) (result f64) (f64.div (local.get 0) (f64.const 2)))
  (func (export "forever") (loop (br 0))))`;
const source = writeModule(scratch, 'count', COUNT);

type Guest = {
  sum(n: number): number;
  forever(): void;
  'palisade:set'(fuel: number, stackBytes: number): void;
  'palisade:left'(): number;
  'palisade:why'(): number;
};

function instantiate(path: string): Guest {
  const module = new WebAssembly.Module(readFileSync(path));
  return new WebAssembly.Instance(module).exports as Guest;
}

async function meter(out: string, ...words: string[]) {
  const { status, out: text } = await runInside([
    'wasm',
    'meter',
    source,
    '--out',
    file(out),
    '--json',
    ...words,
  ]);
  return { status, told: JSON.parse(text) };
}

describe('palisade wasm meter', () => {
  test('writes a module that does what the old one did, counts it, and stops when its fuel is used up', async () => {
    const { status, told } = await meter('metered.wasm');
    expect(status).toBe(0);
    const guest = instantiate(file('metered.wasm'));
    guest['palisade:set'](1_000_000, 524_288);
    expect(guest.sum(100)).toBe(5050);
    const used = 1_000_000 - guest['palisade:left']();
    guest['palisade:set'](used, 524_288);
    expect(guest.sum(100)).toBe(5050);
    expect(guest['palisade:left']()).toBe(0);
    guest['palisade:set'](1_000_000, 524_288);
    expect(() => guest.forever()).toThrow(WebAssembly.RuntimeError);
    expect(guest['palisade:why']()).toBe(1);
    expect(told).toMatchObject({
      file: file('metered.wasm'),
      bytes: statSync(file('metered.wasm')).size,
      from: { file: source, bytes: wat(COUNT).length },
      initialFuel: DEFAULT_LIMITS.fuel,
    });
  });

  test('lists exactly the exports it added', async () => {
    const { told } = await meter('listed.wasm');
    const all = WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(file('listed.wasm'))));
    const added = all.map(({ name }) => name).filter((name) => name.startsWith('palisade:'));
    expect(told.exports.map(({ name }: { name: string }) => name)).toEqual(added);
    expect(all).toHaveLength(added.length + 3);
  });

  test('tells people how to set the fuel, in a line each', async () => {
    const { out } = await runInside(['wasm', 'meter', source, '--out', file('told.wasm')]);
    expect(out).toMatch(/^size +\d+ bytes before, \d+ after, [\d.]+ times$/m);
    for (const name of ['set', 'charge', 'left', 'why'])
      expect(out).toMatch(new RegExp(`^palisade:${name} +.*exports\\['palisade:${name}'\\]\\(`, 'm'));
  });

  test.each([['local'], ['thread']])('in the form %s counts the same', async (form) => {
    const { told } = await meter(`${form}.wasm`, '--form', form);
    expect(told.form).toBe(form);
    const guest = instantiate(file(`${form}.wasm`));
    guest['palisade:set'](10_000, 524_288);
    guest.sum(100);
    const plain = instantiate(file('metered.wasm'));
    plain['palisade:set'](10_000, 524_288);
    plain.sum(100);
    expect(guest['palisade:left']()).toBe(plain['palisade:left']());
  });

  test('gives a new instance the fuel of --fuel', async () => {
    await meter('poor.wasm', '--fuel', '7');
    expect(instantiate(file('poor.wasm'))['palisade:left']()).toBe(7);
    await meter('empty.wasm', '--fuel', '0');
    const guest = instantiate(file('empty.wasm'));
    expect(() => guest.sum(1_000)).toThrow(WebAssembly.RuntimeError);
  });

  test('makes NaNs canonical with --deterministic, which changes the module', async () => {
    const [plain, fixed] = [await meter('plain.wasm'), await meter('fixed.wasm', '--deterministic')];
    expect(plain.told.deterministic).toBe(false);
    expect(fixed.told.deterministic).toBe(true);
    expect(readFileSync(file('fixed.wasm')).equals(readFileSync(file('plain.wasm')))).toBe(false);
  });

  test('says in its help what the default fuel is', () => {
    for (const words of ['wasm meter', 'wasm bench']) {
      const flag = VERBS.find((verb) => verb.words === words)?.flags.find(({ name }) => name === 'fuel');
      expect(flag?.sentence).toContain(`(default: ${DEFAULT_LIMITS.fuel}`);
    }
  });
});

describe('the file that palisade wasm meter writes', () => {
  test('replaces an older one, keeps its mode, and leaves nothing beside it', async () => {
    writeFileSync(file('older.wasm'), 'x'.repeat(100_000), { mode: 0o600 });
    await meter('older.wasm');
    expect(WebAssembly.validate(readFileSync(file('older.wasm')))).toBe(true);
    expect(statSync(file('older.wasm')).mode & 0o777).toBe(0o600);
    expect(readdirSync(scratch).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  test('stays as it was when the module is refused', async () => {
    writeFileSync(file('kept.wasm'), 'kept');
    const bad = writeModule(scratch, 'bad', Buffer.from('no module'));
    const { status } = await runInside(['wasm', 'meter', bad, '--out', file('kept.wasm')]);
    expect(status).toBe(2);
    expect(readFileSync(file('kept.wasm'), 'utf8')).toBe('kept');
  });

  test('is the one that a link points to', async () => {
    writeFileSync(file('behind.wasm'), '');
    symlinkSync(file('behind.wasm'), file('link.wasm'));
    await meter('link.wasm');
    expect(lstatSync(file('link.wasm')).isSymbolicLink()).toBe(true);
    expect(statSync(file('behind.wasm')).size).toBeGreaterThan(0);
  });

  test('may be a device', async () => {
    const { status } = await runInside(['wasm', 'meter', source, '--out', '/dev/null']);
    expect(status).toBe(0);
    expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  test.each([
    ['is not named', [], '--out is missing'],
    ['is the module itself', ['--out', source], 'it is the input module'],
    ['is in no directory', ['--out', join(scratch, 'no/where')], 'ENOENT'],
    ['is a directory', ['--out', scratch], 'EISDIR'],
    ['has an unknown form', ['--out', file('x'), '--form', 'round'], 'expected one of local, thread'],
    ['has no number for fuel', ['--out', file('x'), '--fuel', 'much'], 'expected a whole number'],
  ])('is wrong usage when it %s', async (_, words, why) => {
    const before = readFileSync(source);
    const { status, err } = await runInside(['wasm', 'meter', source, ...words]);
    expect(err).toContain(why);
    expect(status).toBe(64);
    expect(readFileSync(source).equals(before)).toBe(true);
    expect(existsSync(file('x'))).toBe(false);
  });

  test('cannot be metered again, and the message says what to do', async () => {
    await meter('once.wasm');
    const { status, err } = await runInside([
      'wasm',
      'meter',
      file('once.wasm'),
      '--out',
      file('twice.wasm'),
    ]);
    expect(err).toContain('it exports "palisade:set"');
    expect(err).toContain('→ Use the module as it was before metering');
    expect(status).toBe(2);
    expect(existsSync(file('twice.wasm'))).toBe(false);
  });
});
