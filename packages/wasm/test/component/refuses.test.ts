import { describe, expect, it } from 'vitest';
import { linkComponent } from '../../src/component/link-component.ts';
import {
  REFUSED_CANONS,
  REFUSED_OPTIONS,
  REFUSED_SECTIONS,
  REFUSED_TYPES,
} from '../../src/component/read/refused.table.ts';
import type { WitFunction, World } from '../../src/component/types.ts';
import { isSupported } from '../../src/features.table.ts';
import { assemble, section, vector } from '../fixture/builder.ts';
import { refusalOf } from '../fixture/refusal.ts';
import { wat } from '../fixture/wat.ts';
import {
  alias,
  CORE,
  canon,
  componentOf,
  coreInstance,
  declarations,
  exported,
  externName,
  instance,
  sections,
  types,
  use,
  WORDS,
} from './compose.ts';
import { fixture, worldOf } from './linked.ts';
import { EXPORTS, IMPORTS, worldFor } from './worlds.ts';

const EMPTY = worldOf([], {});
const U32: WitFunction = { params: [['x', 'u32']], result: 'u32' };
const WRITE = 'palisade:skill/log@1.0.0#write';

function refuse(bytes: Uint8Array, world: World = EMPTY) {
  return refusalOf(() => linkComponent(bytes, world));
}

describe('linkComponent() writes what it read', () => {
  /** A module with a memory, and a load from it whose alignment is these bytes. */
  const loading = (...alignment: number[]) =>
    assemble({
      types: [{ params: [], results: [] }],
      functions: [{ type: 0, code: [0x41, 0, 0x28, ...alignment, 0, 0x1a, 0x0b] }],
      memories: [{ min: 1 }],
    });
  const behindAnother = (module: Uint8Array) =>
    componentOf([
      sections.module(loading(2)),
      sections.module(module),
      sections.coreInstances(coreInstance.of(0), coreInstance.of(1)),
    ]);

  it.each([[[0x80, 0x01]], [[0x80, 0x80, 0x80, 0x80, 0x08]], [[0xff, 0xff, 0xff, 0xff, 0x0f]]])(
    'or refuses it, as an alignment that no instruction has: %j',
    (alignment) => {
      const code = isSupported('multi-memory') ? 'malformed' : 'feature';
      expect(refuse(behindAnother(loading(...alignment)))?.code).toBe(code);
      expect(refuse(behindAnother(loading(2)))).toBeUndefined();
    },
  );
});

describe('linkComponent() holds a component to its world', () => {
  it('refuses an interface that the world does not know, by its name', () => {
    expect(refuse(fixture('shim'), worldFor('shim', {}))).toMatchObject({
      code: 'link',
      detail: 'palisade:skill/log@1.0.0',
    });
  });

  it('refuses a function that the world does not have, by its name', () => {
    const world = { ...worldFor('shim', {}), knows: () => true };
    expect(refuse(fixture('shim'), world)).toMatchObject({ code: 'link', detail: WRITE });
    const dropless = Object.entries(IMPORTS.resources).filter(
      ([name]) => !name.includes('[resource-drop]error'),
    );
    const resources = { ...worldFor('resources', Object.fromEntries(dropless)), knows: () => true };
    expect(refuse(fixture('resources'), resources)?.detail).toBe('test:io/error@0.2.3#[resource-drop]error');
  });

  it('refuses a function of another type and says both types as WIT has them', () => {
    const type: WitFunction = { params: [['text', { kind: 'list', element: 'u8' }]], result: 'bool' };
    const refusal = refuse(fixture('shim'), worldFor('shim', { [WRITE]: type }));
    expect(refusal).toMatchObject({ code: 'link', detail: WRITE });
    expect(refusal?.message).toContain(
      'as func(level: enum { debug, info, warning, error }, text: string), expected func(text: list<u8>) -> bool',
    );
  });

  it.each([
    [
      'a name in a type',
      {
        params: [
          ['tool', 'string'],
          ['inputs', 'string'],
        ],
        result: EXPORTS.shim.run?.result,
      },
    ],
    ['a result', { params: EXPORTS.shim.run?.params, result: 'string' }],
  ])('refuses an export that differs in %s', (_what, type) => {
    const world = worldFor('shim', IMPORTS.shim, { run: type as WitFunction });
    expect(refuse(fixture('shim'), world)).toMatchObject({ code: 'link', detail: 'run' });
  });

  it('refuses a component without an export that the world requires', () => {
    const world = worldFor('shim', IMPORTS.shim, { ...EXPORTS.shim, stop: U32 });
    expect(refuse(fixture('shim'), world)).toMatchObject({ code: 'link', detail: 'stop' });
  });

  it('refuses an export that is not the component’s own', () => {
    const signature = componentOf([
      sections.types(
        types.instance(
          declarations.type(types.func([['x', [WORDS.u32]]], [WORDS.u32])),
          declarations.func('f', 0),
        ),
      ),
      sections.imports([...externName('a:b/c'), 0x05, 0x00]),
      sections.aliases(alias.of(0x01, 0, 'f')),
      sections.exports(exported('run', 0)),
    ]);
    const world = worldOf([{ module: 'a:b/c', name: 'f', type: U32 }], { run: U32 });
    expect(refuse(signature, world)).toMatchObject({ code: 'link', detail: 'run' });
  });
});

/** A core module with a memory, an allocator and functions to lift. */
const GUEST = wat(`(module
  (memory (export "m") 1)
  (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "text") (param i32 i32)))`);

/** Two such instances; memory 0 and functions 0, 1 are of the first, memory 1 and functions 2, 3 of the second. */
const PAIR = [
  sections.module(GUEST),
  sections.coreInstances(coreInstance.of(0), coreInstance.of(0)),
  sections.aliases(
    ...[0, 1].flatMap((index) => [
      alias.core(CORE.memory, index, 'm'),
      alias.core(CORE.function, index, 'realloc'),
      alias.core(CORE.function, index, 'text'),
    ]),
  ),
  sections.types(types.func([['text', [WORDS.string]]], null)),
];
const TEXT: WitFunction = { params: [['text', 'string']], result: null };
const at = (memory: number, realloc: number) => [
  [0x03, memory],
  [0x04, realloc],
];

describe('linkComponent() refuses what the host could not serve', () => {
  const lifted = (one: readonly number[][], two: readonly number[][]) =>
    componentOf([
      ...PAIR,
      sections.canons(canon.lift(1, 0, one), canon.lift(3, 0, two)),
      sections.exports(exported('one', 0), exported('two', 1)),
    ]);
  const world = worldOf([], { one: TEXT, two: TEXT });

  it('takes two exports of one memory and one allocator', () => {
    expect(refuse(lifted(at(0, 0), at(0, 0)), world)).toBeUndefined();
  });

  it('refuses two memories and two allocators of exports', () => {
    expect(refuse(lifted(at(0, 0), at(1, 0)), world)).toMatchObject({ code: 'link', detail: 'memory' });
    expect(refuse(lifted(at(0, 0), at(0, 2)), world)).toMatchObject({ code: 'link', detail: 'realloc' });
  });

  it('refuses text without a memory or an allocator, and an allocator of another type', () => {
    expect(refuse(lifted([], at(0, 0)))?.message).toContain('no memory');
    expect(refuse(lifted([[0x03, 0]], at(0, 0)))?.message).toContain('no realloc');
    expect(refuse(lifted(at(0, 1), at(0, 0)))?.message).toContain('a realloc is (i32, i32) -> ()');
  });

  it('refuses a call from one component into another', () => {
    const inner = componentOf([
      ...PAIR,
      sections.canons(canon.lift(1, 0, at(0, 0))),
      sections.canons(canon.lower(0, at(0, 0))),
    ]);
    expect(refuse(inner)).toMatchObject({
      code: 'feature',
      detail: 'call of a function of another component',
    });
  });
});

describe('linkComponent() refuses by name', () => {
  const word = (byte: string) => Number(byte);

  it.each(Object.entries(REFUSED_TYPES))('type 0x%#x as "%s"', (byte, detail) => {
    const bytes = componentOf([sections.types([word(byte), 0x00])]);
    expect(refuse(bytes)).toMatchObject({ code: 'feature', detail });
  });

  it.each(Object.entries(REFUSED_CANONS))('canonical function %s as "%s"', (byte, detail) => {
    expect(refuse(componentOf([sections.canons([word(byte), 0x00])]))).toMatchObject({
      code: 'feature',
      detail,
    });
  });

  it.each(Object.entries(REFUSED_OPTIONS))('option %s as "%s"', (byte, detail) => {
    const bytes = componentOf([sections.canons(canon.lower(0, [[word(byte)]]))]);
    expect(refuse(bytes)).toMatchObject({ code: 'feature', detail });
  });

  it.each(Object.entries(REFUSED_SECTIONS))('section %s as "%s"', (byte, detail) => {
    expect(refuse(componentOf([section(word(byte), vector([[0x00]]))]))).toMatchObject({
      code: 'feature',
      detail,
    });
  });

  it('what the modules inside use, with the offset in the whole file', () => {
    const module = assemble({ types: [{ params: [0x6e], results: [] }] });
    const plain = refuse(componentOf([sections.module(module), sections.coreInstances(coreInstance.of(0))]));
    expect(plain).toMatchObject({ code: 'feature', detail: 'gc', offset: 10 + 8 + 5 });
  });
});

describe('linkComponent() refuses parts that do not fit together', () => {
  const needs = wat('(module (import "a" "f" (func (param i32))))');
  const gives = (type: string) =>
    wat(`(module (func (export "f") ${type}) (global (export "g") i32 (i32.const 0)))`);
  const joined = (type: string, args: [string, number][]) =>
    componentOf([
      sections.module(gives(type)),
      sections.module(needs),
      sections.coreInstances(coreInstance.of(0), coreInstance.of(1, args)),
    ]);

  it('takes a function of the right type, and refuses another one or none', () => {
    expect(refuse(joined('(param i32)', [['a', 0]]))).toBeUndefined();
    expect(refuse(joined('(param i64)', [['a', 0]]))).toMatchObject({ code: 'link', detail: 'a.f' });
    expect(refuse(joined('(param i32)', [['b', 0]]))).toMatchObject({ code: 'link', detail: 'a.f' });
  });

  it('refuses an index that reaches past its own module, although the merged one has it', () => {
    const caller = assemble({
      types: [{ params: [], results: [] }],
      functions: [{ type: 0, code: [0x10, 0x01] }],
    });
    const twice = componentOf([
      sections.module(caller),
      sections.coreInstances(coreInstance.of(0), coreInstance.of(0)),
    ]);
    expect(refuse(twice)).toMatchObject({ code: 'malformed' });
  });

  it('refuses an inner component that is not passed what it imports', () => {
    const inner = componentOf([
      sections.types([0x42, 0x00]),
      sections.imports([...externName('x'), 0x05, 0x00]),
    ]);
    const outer = (...args: [string, number, number][]) =>
      componentOf([
        sections.component(inner),
        sections.component(componentOf([])),
        sections.instances(instance.of(1)),
        sections.instances(instance.of(0, args)),
      ]);
    expect(refuse(outer(['x', 0x05, 0]))).toBeUndefined();
    expect(refuse(outer())).toMatchObject({ code: 'malformed' });
    expect(refuse(outer(['x', 0x04, 0]))).toMatchObject({ code: 'malformed' });
  });

  it('refuses a type that two fields of one name would make ambiguous', () => {
    const fields: [string, number[]][] = [
      ['a', [WORDS.u32]],
      ['a', [WORDS.string]],
    ];
    expect(refuse(componentOf([sections.types(types.record(fields))]))).toMatchObject({ code: 'malformed' });
    expect(refuse(componentOf([sections.types(types.tuple(use(0)))]))).toMatchObject({ code: 'malformed' });
  });
});
