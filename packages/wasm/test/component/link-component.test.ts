import { describe, expect, it } from 'vitest';
import { isComponent, linkComponent } from '../../src/component/link-component.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { readModule } from '../../src/read/module.ts';
import { assemble } from '../fixture/builder.ts';
import { refusalOf } from '../fixture/refusal.ts';
import { callOnce, FIXTURES, type Fixture, fixture } from './linked.ts';
import { EXPORTS, hostsOf, IMPORTS, worldFor } from './worlds.ts';

type Run = Parameters<typeof hostsOf>[1];

function call(name: Fixture, run: Run, ...args: unknown[]): Promise<unknown> {
  const [first = 'run'] = Object.keys(EXPORTS[name]);
  return callOnce(fixture(name), hostsOf(name, run), EXPORTS[name], { name: first, args });
}

describe('isComponent()', () => {
  it('knows a component by its first eight bytes and takes nothing else for one', () => {
    expect(isComponent(fixture('shim'))).toBe(true);
    expect(isComponent(assemble({}))).toBe(false);
    expect(isComponent(fixture('shim').subarray(0, 7))).toBe(false);
    expect(isComponent(new Uint8Array())).toBe(false);
  });
});

describe('linkComponent()', () => {
  it('returns a module that only imports functions of the world', () => {
    for (const name of FIXTURES) {
      const { bytes, imports } = linkComponent(fixture(name), worldFor(name));
      const module = readModule(bytes, DEFAULT_LIMITS);
      expect(module.imports.map((each) => [each.kind, each.module, each.name])).toEqual(
        imports.map((each) => ['function', each.module, each.name]),
      );
      expect(imports.map((each) => `${each.module}#${each.name}`).sort()).toEqual(
        Object.keys(IMPORTS[name]).sort(),
      );
    }
  });

  it('exports the memory, the allocator and the functions of the world, and nothing else', () => {
    const names = FIXTURES.map((name) => {
      const { bytes } = linkComponent(fixture(name), worldFor(name));
      return readModule(bytes, DEFAULT_LIMITS).exports.map((each) => each.name);
    });
    expect(names).toEqual([
      ['memory', 'realloc', 'run'],
      ['memory', 'realloc', 'run'],
      ['sums', 'again'],
      ['memory', 'run'],
    ]);
  });

  it('fills the table that imports go through, so a guest reaches its host and answers', async () => {
    const logged: unknown[] = [];
    const write = (...values: unknown[]) => void logged.push(values);
    expect(await call('shim', { write }, 'count', 'one two')).toEqual({ tag: 'ok', value: 'one two' });
    expect(await call('shim', { write }, 'fail', 'why')).toEqual({
      tag: 'error',
      value: { code: 'nope', message: 'why' },
    });
    expect(logged).toEqual([
      ['info', 'hello'],
      ['info', 'hello'],
    ]);
  });

  it('has each function write through its own allocator, also after one was called at the start', async () => {
    const places = await call('reallocs', { main: () => 'main', adapter: () => 'adapter' }, 'input');
    // At the start, of main, of the adapter, and the argument: main's part is at 0x1000, the adapter's at 0x8000.
    expect(places).toEqual([0x8000, 0x1100, 0x8100, 0x1000]);
  });

  it('evaluates nested components with their arguments', async () => {
    expect(await call('nested', { now: () => 40n }, 2)).toBe(42);
  });

  it('merges a module as often as it is instantiated', () => {
    const { bytes } = linkComponent(fixture('nested'), worldFor('nested'));
    expect(readModule(bytes, DEFAULT_LIMITS).bodies).toHaveLength(4);
  });

  it('knows a resource by the interface that has it, under whatever name it is dropped', async () => {
    const seen: unknown[] = [];
    const see =
      (what: string, answer?: unknown) =>
      (...values: unknown[]) => {
        seen.push([what, ...values]);
        return answer;
      };
    const run: Run = {
      open: see('open', 3),
      '[method]output-stream.check-write': see('check', { tag: 'ok', value: 4096n }),
      '[resource-drop]output-stream': see('drop stream'),
      '[resource-drop]error': see('drop error'),
    };
    expect(await call('resources', run)).toBe(4096n);
    expect(seen).toEqual([['open'], ['check', 3], ['drop error', 7], ['drop stream', 3]]);
  });

  it('takes a resource of another patch version for the same, and of another minor version not', () => {
    const retyped = (version: string) =>
      Object.fromEntries(
        Object.entries(IMPORTS.resources).map(([name, type]) => [
          name,
          JSON.parse(JSON.stringify(type).replaceAll('@0.2.3', `@${version}`)),
        ]),
      );
    const link = (version: string) =>
      refusalOf(() => linkComponent(fixture('resources'), worldFor('resources', retyped(version))));
    expect(link('0.2.9')).toBeUndefined();
    expect(link('0.3.3')).toMatchObject({ code: 'link' });
  });

  it('returns the same bytes for the same component', () => {
    const link = () => linkComponent(fixture('shim'), worldFor('shim')).bytes;
    expect(link()).toEqual(link());
  });

  it('does not look at bytes that change afterwards', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(fixture('shim').length));
    shared.set(fixture('shim'));
    const { bytes } = linkComponent(shared, worldFor('shim'));
    const before = bytes.slice();
    shared.fill(0);
    expect(bytes).toEqual(before);
  });
});
