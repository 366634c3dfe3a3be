import type { Json } from '../../core/json.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { childrenOf, isSchema, typesOf } from './schema-parts.ts';

/** Which part of a value the schema at the other end is held against: the same value, or one inside of it. */
type Place = 'here' | 'property' | 'pattern' | 'rest' | 'key' | 'item' | 'contained';

/** A way from one schema to another, written inside of it or referred to. */
export type SchemaEdge = { readonly to: JsonSchema; readonly place: Place; readonly name: string };

const PLACES: Readonly<Record<string, Place>> = {
  properties: 'property',
  patternProperties: 'pattern',
  additionalProperties: 'rest',
  unevaluatedProperties: 'rest',
  propertyNames: 'key',
  items: 'item',
  prefixItems: 'item',
  unevaluatedItems: 'item',
  contains: 'contained',
};
/** Of what is held against nothing unless something refers to it. */
const KEPT: readonly string[] = ['$defs', 'definitions'];
const OF_ITEMS: readonly Place[] = ['item', 'contained'];

/** Where a schema leads to; `root` is what its references are looked up in. */
export function edgesOf(schema: JsonSchema, root: JsonSchema): readonly SchemaEdge[] {
  const edges: SchemaEdge[] = [];
  for (const { keyword, name, child } of childrenOf(schema))
    if (!KEPT.includes(keyword))
      edges.push({ to: child, place: PLACES[keyword] ?? 'here', name: `${keyword} ${name}` });
  const to = typeof schema.$ref === 'string' ? lookUp(root, schema.$ref) : null;
  return to === null ? edges : [...edges, { to, place: 'here', name: '$ref' }];
}

/** Tells whether one value can be held against what both lead to. */
export function canMeet(a: SchemaEdge, b: SchemaEdge): boolean {
  if (a.place === 'here' && b.place === 'here') return !areApart(a.to, b.to);
  if (a.place === 'here' || b.place === 'here') return true;
  if (OF_ITEMS.includes(a.place) !== OF_ITEMS.includes(b.place)) return false;
  const isWide = [a, b].some(({ place }) => place === 'contained');
  const isMatched = [a, b].some(({ place }) => place === 'pattern');
  if (isMatched) return [a, b].every(({ place }) => place === 'pattern' || place === 'property');
  return isWide || a.name === b.name;
}

/** Tells whether no value is of the types of both. */
function areApart(a: JsonSchema, b: JsonSchema): boolean {
  const [first, second] = [a, b].map((each) =>
    typesOf(each).map((type) => (type === 'integer' ? 'number' : type)),
  ) as [Json[], Json[]];
  return first.length > 0 && second.length > 0 && !first.some((type) => second.includes(type));
}

/** The schema that a reference such as `#/$defs/a` means; null: none, or another document. */
function lookUp(root: JsonSchema, reference: string): JsonSchema | null {
  if (!/^#(?:\/|$)/.test(reference)) return null;
  let value: Json | undefined = root;
  for (const part of reference.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return null;
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    value = Object.hasOwn(value, key) ? (value as Record<string, Json>)[key] : undefined;
  }
  return value !== undefined && isSchema(value) ? value : null;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
