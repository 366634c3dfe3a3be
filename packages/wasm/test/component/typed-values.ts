import fc from 'fast-check';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { PLAIN_TYPES, type WitType } from '../../src/component/types.ts';

function names(most: number): fc.Arbitrary<string[]> {
  return fc
    .integer({ min: 1, max: most })
    .map((count) => Array.from({ length: count }, (_none, index) => `n${index}`));
}

/** Types of every kind, none of them deep. */
export const anyType: fc.Arbitrary<WitType> = fc.letrec<{ type: WitType }>((tie) => {
  const maybe = fc.option(tie('type'), { nil: null });
  const named = <T>(each: fc.Arbitrary<T>, most: number) =>
    fc
      .array(each, { minLength: 1, maxLength: most })
      .map((all) => all.map((value, index) => [`f-${index}`, value] as const));
  const isOption = (type: WitType) => typeof type !== 'string' && type.kind === 'option';
  return {
    type: fc.oneof(
      { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<WitType>(...PLAIN_TYPES),
      tie('type').map((element): WitType => ({ kind: 'list', element })),
      named(tie('type'), 5).map((fields): WitType => ({ kind: 'record', fields })),
      fc
        .array(tie('type'), { minLength: 1, maxLength: 4 })
        .map((elements): WitType => ({ kind: 'tuple', elements })),
      named(maybe, 5).map((cases): WitType => ({ kind: 'variant', cases })),
      fc.tuple(maybe, maybe).map(([ok, error]): WitType => ({ kind: 'result', ok, error })),
      tie('type')
        .filter((some) => !isOption(some))
        .map((some): WitType => ({ kind: 'option', some })),
      fc
        .oneof(names(9), fc.constant(Array.from({ length: 300 }, (_none, index) => `n${index}`)))
        .map((all): WitType => ({ kind: 'enum', names: all })),
      names(32).map((all): WitType => ({ kind: 'flags', names: all })),
      fc.constantFrom<WitType>({ kind: 'own', resource: 'a:b/c' }, { kind: 'borrow', resource: 'a:b/c' }),
    ),
  };
}).type;

const integer = (bits: number, isSigned: boolean) =>
  fc.integer(
    isSigned ? { min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 } : { min: 0, max: 2 ** bits - 1 },
  );

/** Values of a type, as JavaScript has them. */
export function valuesOf(type: WitType): fc.Arbitrary<unknown> {
  switch (type) {
    case 'bool':
      return fc.boolean();
    case 's64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'u64':
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case 'f32':
      return fc.float();
    case 'f64':
      return fc.double();
    case 'char':
      return fc.string({ unit: CHARACTER, minLength: 1, maxLength: 1 });
    case 'string':
      return fc.string({ unit: CHARACTER, maxLength: 40 });
  }
  if (typeof type === 'string') return integer(Number(type.slice(1)), type.startsWith('s'));
  switch (type.kind) {
    case 'list':
      if (type.element === 'u8')
        return fc.uint8Array({ maxLength: 40 }).map((bytes) => Uint8Array.from(bytes));
      return fc.array(valuesOf(type.element), { maxLength: 5 });
    case 'record':
      return fc.record(Object.fromEntries(type.fields.map(([name, each]) => [name, valuesOf(each)])), {
        noNullPrototype: true,
      });
    case 'tuple':
      return fc.tuple(...type.elements.map(valuesOf));
    case 'variant':
      return fc.oneof(...type.cases.map(([name, each]) => tagged(name, each)));
    case 'result':
      return fc.oneof(tagged('ok', type.ok), tagged('error', type.error));
    case 'option':
      return fc.option(valuesOf(type.some), { nil: null });
    case 'enum':
      return fc.constantFrom(...type.names);
    case 'flags':
      return fc.subarray([...type.names]);
    default:
      return integer(32, false);
  }
}

function tagged(tag: string, type: WitType | null): fc.Arbitrary<unknown> {
  return (type === null ? fc.constant(null) : valuesOf(type)).map((value) => ({ tag, value }));
}

/** A type and a value of it. */
export const anyTyped = anyType.chain((type) => fc.tuple(fc.constant(type), valuesOf(type)));
