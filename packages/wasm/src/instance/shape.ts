import type { WasmModule } from '../read/module.ts';
import { isNumberType, nameSignature, type Signature, type ValueName } from './value.ts';

/** The type of a function as its callers have to know it. */
export type Shape = Signature & {
  /** A type in it whose values cannot cross to the host. */
  readonly foreign: ValueName | undefined;
};

/** The types of a module that were named so far, by index. */
export type Shapes = Map<number, Shape>;

/** Names a function's type once for all functions that have it: one type of many parameters can be exported 10,000 times. */
export function shapeOf(sections: WasmModule, shapes: Shapes, index: number): Shape {
  const at = sections.functions[index] ?? -1;
  const known = shapes.get(at);
  if (known !== undefined) return known;
  const type = sections.types[at];
  if (type === undefined) throw new TypeError(`Cannot name function type: function ${index} has none`);
  const { params, results } = nameSignature(type);
  const shape = Object.freeze({ params, results, foreign: foreignIn({ params, results }) });
  shapes.set(at, shape);
  return shape;
}

/** A type whose values cannot cross to the host, if there is one. */
export function foreignIn({ params, results }: Signature): ValueName | undefined {
  return params.find(isForeign) ?? results.find(isForeign);
}

function isForeign(name: ValueName): boolean {
  return !isNumberType(name);
}
