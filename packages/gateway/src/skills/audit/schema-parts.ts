import type { Json } from '../../core/json.ts';
import type { JsonSchema } from '../../core/tool.ts';

/** A schema, or one inside of it, with the way to it. */
export type SchemaPart = {
  readonly schema: JsonSchema;
  /** Like `properties.text.items`; empty for the whole. */
  readonly path: string;
  /** One of several that hold together or in turn: what it leaves out may be said by the schema around it. */
  readonly isAlternative: boolean;
};

const ONE = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'propertyNames',
];
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions'];
const SEVERAL = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'if', 'then', 'else', 'not'];
/** By the key of the value whose presence asks for the schema. */
const DEPENDENT = ['dependentSchemas', 'dependencies'];
/** What joins several schemas about one value. */
const JOINING = [
  'anyOf',
  'oneOf',
  'allOf',
  'if',
  'then',
  'else',
  'not',
  ...DEPENDENT,
  'contains',
  'propertyNames',
];
const MOST_PARTS = 5_000;

type Parts = { readonly parts: readonly SchemaPart[]; readonly depth: number };

/** Every check walks over the same schemas. */
const walked = new WeakMap<JsonSchema, Parts>();

/** All parts of a schema, the whole first, and how deep they are nested. */
export function schemaParts(schema: JsonSchema): Parts {
  const known = walked.get(schema) ?? walkParts(schema);
  walked.set(schema, known);
  return known;
}

function walkParts(schema: JsonSchema): Parts {
  const parts: (SchemaPart & { readonly depth: number })[] = [
    { schema, path: '', isAlternative: false, depth: 1 },
  ];
  let deepest = 0;
  // Boundary: a schema of the publisher is walked no further than this, however large it is.
  for (let at = 0; at < Math.min(parts.length, MOST_PARTS); at += 1) {
    const part = parts[at];
    if (part === undefined) break;
    deepest = Math.max(deepest, part.depth);
    for (const child of partsIn(part)) parts.push({ ...child, depth: part.depth + 1 });
  }
  return { parts: parts.slice(0, MOST_PARTS), depth: deepest };
}

/** The types that a schema allows its value. */
export function typesOf({ type }: JsonSchema): readonly Json[] {
  if (type === undefined) return [];
  return Array.isArray(type) ? (type as readonly Json[]) : [type];
}

/** A schema that stands inside of another. */
export type SchemaChild = { readonly keyword: string; readonly name: string; readonly child: JsonSchema };

/** The schemas directly inside of one, with the keyword and the name or number that each has there. */
export function* childrenOf(schema: JsonSchema): Iterable<SchemaChild> {
  for (const keyword of [...ONE, ...NAMED, ...SEVERAL, ...DEPENDENT]) {
    const value = schema[keyword];
    if (value === undefined) continue;
    for (const [name, child] of named(keyword, value)) if (isSchema(child)) yield { keyword, name, child };
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
  const isMap = [...NAMED, ...DEPENDENT].includes(keyword);
  return isMap && isSchema(value) ? Object.entries(value) : [['', value]];
}

/** Tells whether a value can be a schema with keywords in it. */
export function isSchema(value: Json): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
