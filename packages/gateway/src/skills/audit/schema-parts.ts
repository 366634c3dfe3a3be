import { cached } from '../../core/cached.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { orElse } from '../../core/result.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { AUDIT_LIMITS } from '../limits.ts';

/** A schema, or one inside of it, with the way to it. */
export type SchemaPart = {
  readonly schema: JsonSchema;
  /** Like `properties.text.items`; empty for the whole. */
  readonly path: string;
  /** One of several that apply together or alternatively: the enclosing schema may state what it leaves out. */
  readonly isAlternative: boolean;
};

/** What joins several schemas about one value. */
const LOGIC = ['anyOf', 'oneOf', 'allOf', 'if', 'then', 'else', 'not'];
const PARTS = ['contains', 'propertyNames'];
/** By the key of the value whose presence asks for the schema. */
const DEPENDENT = ['dependentSchemas', 'dependencies'];
const JOINING = [...LOGIC, ...PARTS, ...DEPENDENT];
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', ...DEPENDENT];
const REST = ['items', 'prefixItems', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'];
const KEYWORDS = [...REST, ...PARTS, ...NAMED, ...LOGIC];

type Parts = { readonly parts: readonly SchemaPart[]; readonly depth: number };

/** Every check walks over the same schemas. */
const walked = new WeakMap<JsonSchema, Parts>();

/** All parts of a schema, the whole first, and how deep they are nested. */
export function schemaParts(schema: JsonSchema): Parts {
  return cached(walked, schema, () => walkParts(schema));
}

function walkParts(schema: JsonSchema): Parts {
  const parts: (SchemaPart & { readonly depth: number })[] = [
    { schema, path: '', isAlternative: false, depth: 1 },
  ];
  let deepest = 0;
  // Boundary: a schema of the publisher is traversed no further than this, however large it is.
  for (let at = 0; at < Math.min(parts.length, AUDIT_LIMITS.walkedSchemaParts); at += 1) {
    const part = parts[at];
    if (part === undefined) break;
    deepest = Math.max(deepest, part.depth);
    for (const child of partsIn(part)) parts.push({ ...child, depth: part.depth + 1 });
  }
  return { parts: parts.slice(0, AUDIT_LIMITS.walkedSchemaParts), depth: deepest };
}

/** The types that a schema allows its value. */
export function typesOf({ type }: JsonSchema): readonly Json[] {
  if (type === undefined) return [];
  return Array.isArray(type) ? (type as readonly Json[]) : [type];
}

/** A schema nested in another. */
type SchemaChild = { readonly keyword: string; readonly name: string; readonly child: JsonSchema };

/** The schemas directly inside of one, with the keyword and the name or number that each has there. */
function* childrenOf(schema: JsonSchema): Iterable<SchemaChild> {
  for (const keyword of KEYWORDS) {
    const value = schema[keyword];
    if (value === undefined) continue;
    for (const [name, child] of named(keyword, value))
      if (isJsonObject(child)) yield { keyword, name, child };
  }
}

function* partsIn({ schema, path }: SchemaPart): Iterable<SchemaPart> {
  for (const { keyword, name, child } of childrenOf(schema)) {
    const place = [path, keyword, name].filter((each) => each !== '').join('.');
    yield { schema: child, path: place, isAlternative: JOINING.includes(keyword) };
  }
}

function named(keyword: string, value: Json): readonly (readonly [name: string, child: Json])[] {
  if (Array.isArray(value))
    return [...(value as readonly Json[]).entries()].map(([at, child]) => [String(at), child]);
  return NAMED.includes(keyword) && isJsonObject(value) ? Object.entries(value) : [['', value]];
}

/** Which part of a value the target schema is applied to: the same value, or one inside of it. */
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
/** Of schemas that apply to nothing unless something refers to them. */
const KEPT: readonly string[] = ['$defs', 'definitions'];
const OF_ITEMS: readonly Place[] = ['item', 'contained'];

/** Where a schema leads to; `root` is what its references are looked up in. */
export function edgesOf(schema: JsonSchema, root: JsonSchema): readonly SchemaEdge[] {
  const edges: SchemaEdge[] = [];
  for (const { keyword, name, child } of childrenOf(schema))
    if (!KEPT.includes(keyword))
      edges.push({ to: child, place: PLACES[keyword] ?? 'here', name: `${keyword} ${name}` });
  const to = typeof schema.$ref === 'string' ? referredIn(root, schema.$ref) : null;
  return to === null ? edges : [...edges, { to, place: 'here', name: '$ref' }];
}

/** Whether one value can be validated against both targets. */
export function canMeet(a: SchemaEdge, b: SchemaEdge): boolean {
  if (a.place === 'here' && b.place === 'here') return !areApart(a.to, b.to);
  if (a.place === 'here' || b.place === 'here') return true;
  if (OF_ITEMS.includes(a.place) !== OF_ITEMS.includes(b.place)) return false;
  const isWide = [a, b].some(({ place }) => place === 'contained');
  const isMatched = [a, b].some(({ place }) => place === 'pattern');
  if (isMatched) return [a, b].every(({ place }) => place === 'pattern' || place === 'property');
  return isWide || a.name === b.name;
}

/** Whether no value is of the types of both. */
function areApart(a: JsonSchema, b: JsonSchema): boolean {
  const [first, second] = [a, b].map((each) =>
    typesOf(each).map((type) => (type === 'integer' ? 'number' : type)),
  ) as [Json[], Json[]];
  return first.length > 0 && second.length > 0 && !first.some((type) => second.includes(type));
}

/** The schema that a reference such as `#/$defs/a` means; null: none, or another document. */
function referredIn(root: JsonSchema, reference: string): JsonSchema | null {
  if (!/^#(?:\/|$)/.test(reference)) return null;
  let value: Json | undefined = root;
  for (const part of reference.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return null;
    const key = orElse(() => decodeURIComponent(part), part)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~');
    value = Object.hasOwn(value, key) ? (value as Record<string, Json>)[key] : undefined;
  }
  return isJsonObject(value) ? value : null;
}
