import { describe, expect, it } from 'vitest';
import { linkComponent } from '../../src/component/link-component.ts';
import { isSupported } from '../../src/features.table.ts';
import { tile } from '../fixture/builder.ts';
import { unsigned } from '../fixture/leb.ts';
import { refusalOf } from '../fixture/refusal.ts';
import { wat } from '../fixture/wat.ts';
import {
  alias,
  componentOf,
  coreInstance,
  declarations,
  externName,
  instance,
  sections,
  types,
  use,
  WORDS,
} from './compose.ts';
import { worldOf } from './linked.ts';

const ANYTHING = { ...worldOf([], {}), knows: () => true };
const COMPONENT = [0x04];
const MODULE = [0x00, 0x11];

function refuse(bytes: Uint8Array) {
  return refusalOf(() => linkComponent(bytes, ANYTHING));
}

function nest(depth: number): Uint8Array {
  let inner = componentOf([]);
  for (let left = depth; left > 0; left -= 1) inner = componentOf([sections.component(inner)]);
  return inner;
}

/** Each of these types is a pair of the one before it. */
function doubling(levels: number): Uint8Array {
  const pairs = Array.from({ length: levels }, (_none, index) => types.tuple(use(index), use(index)));
  return componentOf([sections.types([WORDS.u32], ...pairs)]);
}

/** Each of these components instantiates the one before it twice. */
function multiplying(levels: number): Uint8Array {
  const twice = (index: number) =>
    componentOf([
      sections.aliases(alias.outer(COMPONENT, 1, index)),
      sections.instances(instance.of(0), instance.of(0)),
    ]);
  const all = Array.from({ length: levels }, (_none, index) => sections.component(twice(index)));
  return componentOf([sections.component(componentOf([])), ...all, sections.instances(instance.of(levels))]);
}

describe('a small component', () => {
  it('nests as deep as tools write it and no deeper', () => {
    expect(refuse(nest(16))).toBeUndefined();
    expect(refuse(nest(17))).toMatchObject({ code: 'limit', detail: 'component-depth' });
    expect(refuse(nest(300))).toMatchObject({ code: 'limit', detail: 'component-depth' });
  });

  it('does not nest types deeper either', () => {
    const nested = (depth: number): number[] =>
      depth === 0 ? types.instance() : types.instance(declarations.type(nested(depth - 1)));
    expect(refuse(componentOf([sections.types(nested(15))]))).toBeUndefined();
    expect(refuse(componentOf([sections.types(nested(16))]))).toMatchObject({ detail: 'component-depth' });
  });

  it('has no type that doubles with every line', () => {
    expect(refuse(doubling(10))).toBeUndefined();
    expect(refuse(doubling(60))).toMatchObject({ code: 'limit', detail: 'component-type' });
  });

  it('has no type that is nested through many lines', () => {
    const lists = Array.from({ length: 100 }, (_none, index) => [0x70, ...use(index)]);
    expect(refuse(componentOf([sections.types([WORDS.u32], ...lists)]))).toMatchObject({
      detail: 'component-type',
    });
  });

  it('does not instantiate without end what instantiates twice', () => {
    expect(refuse(multiplying(8))).toBeUndefined();
    expect(refuse(multiplying(15))).toMatchObject({ code: 'limit', detail: 'component-steps' });
  });

  it('cannot name itself', () => {
    const itself = componentOf([
      sections.aliases(alias.outer(COMPONENT, 1, 0)),
      sections.instances(instance.of(0)),
    ]);
    const outer = componentOf([sections.component(itself), sections.instances(instance.of(0))]);
    expect(refuse(outer)).toMatchObject({ code: 'malformed' });
    const type = types.instance(declarations.outerType(1, 0));
    const imported = componentOf([sections.types(type), sections.imports([...externName('a'), 0x05, 0x00])]);
    expect(refuse(imported)).toMatchObject({ code: 'malformed' });
  });

  it('does not have a long type described again for each of many imports', () => {
    const lines = Array.from({ length: 2000 }, () => declarations.type([WORDS.u32]));
    const bytes = componentOf([
      sections.types(types.instance(...lines)),
      sections.imports(
        ...Array.from({ length: 2000 }, (_none, index) => [...externName(`i${index}`), 0x05, 0x00]),
      ),
    ]);
    expect(refuse(bytes)).toMatchObject({ code: 'limit', detail: 'component-steps' });
  });

  it('does not merge one module until the result is too large', () => {
    const module = wat(`(module (memory 1) (data (i32.const 0) "${'x'.repeat(50_000)}"))`);
    const bytes = componentOf([
      sections.module(module),
      sections.coreInstances(...Array.from({ length: 2000 }, () => coreInstance.of(0))),
    ]);
    expect(refuse(bytes)).toMatchObject({ code: 'limit', detail: 'memories' });
    const bare = wat('(module (global i32 (i32.const 0)))');
    const many = componentOf([
      sections.module(bare),
      ...Array.from({ length: 60 }, () =>
        sections.coreInstances(...Array.from({ length: 1000 }, () => coreInstance.of(0))),
      ),
    ]);
    expect(refuse(many)).toMatchObject({ code: 'limit', detail: 'globals' });
  });

  it('has no constant that doubles with every module', () => {
    const first = wat('(module (global (export "c") i32 (i32.const 1)))');
    const sum = wat(`(module (import "p" "c" (global $c i32))
      (global (export "c") i32 (i32.add (global.get $c) (global.get $c))))`);
    const chain = (length: number) =>
      componentOf([
        sections.module(first),
        sections.module(sum),
        sections.coreInstances(
          coreInstance.of(0),
          ...Array.from({ length }, (_none, index) => coreInstance.of(1, [['p', index]])),
        ),
      ]);
    const isTaken = isSupported('extended-constants');
    expect(refuse(chain(3))?.code).toBe(isTaken ? undefined : 'feature');
    expect(refuse(chain(60))?.code).toBe(isTaken ? 'limit' : 'feature');
  });

  it('has each of many imports of one long type held to it', () => {
    const long = 'i32 '.repeat(100);
    const names = Array.from({ length: 5000 }, (_none, index) => `"e${index}"`);
    const from = wat(`(module (func $f (param ${long}))
      ${names.map((each) => `(export ${each} (func $f))`).join('')})`);
    const into = (params: string) =>
      wat(`(module (type $t (func (param ${params})))
        ${names.map((each) => `(import "m" ${each} (func (type $t)))`).join('')})`);
    const linked = (module: Uint8Array, times: number) =>
      componentOf([
        sections.module(from),
        sections.module(module),
        sections.coreInstances(
          coreInstance.of(0),
          ...Array.from({ length: times }, () => coreInstance.of(1, [['m', 0]])),
        ),
      ]);
    expect(refuse(linked(into(long), 38))).toBeUndefined();
    expect(refuse(linked(into(`${'i32 '.repeat(99)} i64`), 1))).toMatchObject({ code: 'link' });
  });

  it('has no more entries than can be kept', () => {
    const entries = 120_000;
    const plain = tile(entries, [WORDS.u8]);
    const count = unsigned(entries);
    const size = unsigned(count.length + plain.length);
    expect(refuse(componentOf([[7], size, count, plain]))).toMatchObject({
      code: 'limit',
      detail: 'component-entries',
    });
    const customs = tile(entries, [0x00, 0x01, 0x00]);
    expect(refuse(componentOf([customs]))).toMatchObject({ detail: 'component-entries' });
  });

  it('says how many there are only if there can be so many', () => {
    expect(refuse(componentOf([[7, 5, 0xff, 0xff, 0xff, 0xff, 0x0f]]))).toMatchObject({ code: 'malformed' });
    expect(refuse(componentOf([sections.aliases(alias.outer(MODULE, 0xffff, 0))]))).toMatchObject({
      code: 'malformed',
    });
  });
});
