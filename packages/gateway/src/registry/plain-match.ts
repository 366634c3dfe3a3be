import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';

/*
 * Whether a value matches a schema, for the few keywords that the gateway's own tools use. It says yes only where the
 * compiler of schemas would, and no where it does not know; then that is asked, and words the problem. A command that
 * makes one call with a sound input so does not load it.
 */

/** Whether a keyword surely holds for a value, also one of a type that it does not concern. */
type Holds = (argument: Json, value: Json, schema: JsonObject) => boolean;

const TYPES: Readonly<Record<string, (value: Json) => boolean>> = {
  object: (value) => isJsonObject(value),
  array: (value) => Array.isArray(value),
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

const ANNOTATION: Holds = () => true;

const KEYWORDS: ReadonlyMap<string, Holds> = new Map<string, Holds>([
  ['title', ANNOTATION],
  ['description', ANNOTATION],
  ['type', (names, value) => [names].flat().some((name) => isOfType(name, value))],
  ['enum', (values, value) => Array.isArray(values) && !isCompound(value) && values.includes(value)],
  ['minimum', (least, value) => typeof value !== 'number' || (isCount(least) && value >= least)],
  ['maximum', (most, value) => typeof value !== 'number' || (isCount(most) && value <= most)],
  // Lengths are counted in characters, which are one or two units each.
  [
    'minLength',
    (least, value) => typeof value !== 'string' || (isCount(least) && [...value].length >= least),
  ],
  ['maxLength', (most, value) => typeof value !== 'string' || (isCount(most) && value.length <= most)],
  ['minItems', (least, value) => !Array.isArray(value) || (isCount(least) && value.length >= least)],
  ['maxItems', (most, value) => !Array.isArray(value) || (isCount(most) && value.length <= most)],
  ['items', (items, value) => !Array.isArray(value) || value.every((item) => surelyMatches(items, item))],
  ['minProperties', (least, value) => !isJsonObject(value) || (isCount(least) && sizeOf(value) >= least)],
  ['maxProperties', (most, value) => !isJsonObject(value) || (isCount(most) && sizeOf(value) <= most)],
  ['required', (names, value) => !isJsonObject(value) || hasAll(value, names)],
  ['properties', (properties, value) => !isJsonObject(value) || matchProperties(value, properties)],
  [
    'additionalProperties',
    (others, value, schema) => !isJsonObject(value) || matchOthers(value, others, schema.properties ?? {}),
  ],
]);

/** Whether a value matches a schema; false also where that is not known here. */
export function surelyMatches(schema: Json | undefined, value: Json): boolean {
  if (schema === true) return true;
  if (!isJsonObject(schema)) return false;
  return Object.entries(schema).every(([keyword, argument]) =>
    KEYWORDS.get(keyword)?.(argument, value, schema),
  );
}

function isOfType(name: Json, value: Json): boolean {
  return typeof name === 'string' && Object.hasOwn(TYPES, name) && TYPES[name]?.(value) === true;
}

function isCompound(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

function isCount(value: Json): value is number {
  return Number.isFinite(value);
}

function sizeOf(value: JsonObject): number {
  return Object.keys(value).length;
}

function hasAll(value: JsonObject, names: Json): boolean {
  return (
    Array.isArray(names) && names.every((name) => typeof name === 'string' && Object.hasOwn(value, name))
  );
}

function matchProperties(value: JsonObject, properties: Json): boolean {
  if (!isJsonObject(properties)) return false;
  return Object.entries(properties).every(([name, schema]) => {
    // Boundary: the compiler also sees what a value inherits, such as "toString".
    if (name in Object.prototype) return false;
    return !Object.hasOwn(value, name) || surelyMatches(schema, value[name] ?? null);
  });
}

function matchOthers(value: JsonObject, others: Json, properties: Json): boolean {
  if (!isJsonObject(properties)) return false;
  return Object.entries(value).every(
    ([name, other]) => Object.hasOwn(properties, name) || surelyMatches(others, other),
  );
}
