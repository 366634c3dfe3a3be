import type { WitFunction, WitType } from '../types.ts';

/** As much of a type as a message shows. */
const MOST_TEXT = 400;

/** A type as WIT spells it; a long one is cut. */
export function writeWit(type: WitType | WitFunction): string {
  const text = typeof type === 'object' && 'params' in type ? writeFunction(type) : writeType(type);
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}…`;
}

function writeFunction({ params, result }: WitFunction): string {
  const inside = params.map(([name, type]) => `${name}: ${writeType(type)}`).join(', ');
  return `func(${inside})${result === null ? '' : ` -> ${writeType(result)}`}`;
}

function writeType(type: WitType): string {
  if (typeof type === 'string') return type;
  switch (type.kind) {
    case 'list':
      return `list<${writeType(type.element)}>`;
    case 'option':
      return `option<${writeType(type.some)}>`;
    case 'tuple':
      return `tuple<${type.elements.map(writeType).join(', ')}>`;
    case 'record':
      return `record { ${type.fields.map(([name, field]) => `${name}: ${writeType(field)}`).join(', ')} }`;
    case 'variant':
      return `variant { ${type.cases.map(([name, value]) => (value === null ? name : `${name}(${writeType(value)})`)).join(', ')} }`;
    case 'enum':
    case 'flags':
      return `${type.kind} { ${type.names.join(', ')} }`;
    case 'result':
      return writeResult(type.ok, type.error);
    default:
      return `${type.kind}<${type.resource}>`;
  }
}

function writeResult(ok: WitType | null, error: WitType | null): string {
  if (error === null) return ok === null ? 'result' : `result<${writeType(ok)}>`;
  return `result<${ok === null ? '_' : writeType(ok)}, ${writeType(error)}>`;
}

/** Whether two functions have the same types, with the same names in them. */
export function isSameFunction(one: WitFunction, other: WitFunction): boolean {
  return key(one) === key(other);
}

/** A text that two types share only when they are the same. The sizes of types are bounded where they are made. */
function key(type: WitFunction): string {
  return JSON.stringify([
    type.params.map(([name, value]) => [name, keyOf(value)]),
    type.result === null ? null : keyOf(type.result),
  ]);
}

function keyOf(type: WitType | null): unknown {
  if (type === null || typeof type === 'string') return type;
  switch (type.kind) {
    case 'list':
      return ['list', keyOf(type.element)];
    case 'option':
      return ['option', keyOf(type.some)];
    case 'tuple':
      return ['tuple', type.elements.map(keyOf)];
    case 'record':
      return ['record', type.fields.map(([name, field]) => [name, keyOf(field)])];
    case 'variant':
      return ['variant', type.cases.map(([name, value]) => [name, keyOf(value)])];
    case 'enum':
    case 'flags':
      return [type.kind, type.names];
    case 'result':
      return ['result', keyOf(type.ok), keyOf(type.error)];
    default:
      return [type.kind, compatible(type.resource)];
  }
}

/** A resource without the parts of its version that stay compatible: `a:b/c@0.2.3/d` is `a:b/c@0.2/d`. */
function compatible(resource: string): string {
  return resource.replace(/@(0\.\d+|[1-9]\d*)\.[^/]*/, '@$1');
}
