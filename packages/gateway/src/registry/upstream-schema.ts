/*
 * From a schema that an upstream server wrote, in whatever dialect, to one that this gateway compiles. What it cannot
 * enforce reliably is left out, which only lets more through to the server, which has to check its input anyway:
 * formats, conditions, references to other documents, patterns with more than plain parts. What policies see of an
 * input is read from the same schema, so type, properties and required mean what they say.
 */
import { ACTIVE } from '../core/hostile-text.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { orElse } from '../core/result.ts';
import type { JsonSchema } from '../core/tool.ts';
import { costOf } from '../skills/audit/schema-cost.ts';
import { schemaParts } from '../skills/audit/schema-parts.ts';

type Schema = { [keyword: string]: Json };
type Walk = { readonly at: string; left: number; isTooDeep: boolean };

/** Where an MCP result contains a tool's structured output. */
export const STRUCTURED = '#/properties/structuredContent';

const MOST_PARTS = 1_000;
const MOST_DEPTH = 16;
/** About half a millisecond of compiling each. */
const MOST_COST = 1_000;
const MOST_PATTERN_CHARS = 256;

const TYPES: readonly string[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** The type that a keyword applies to; a schema of another type ignores it. */
const ABOUT: Readonly<Record<string, string>> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  minProperties: 'object',
  maxProperties: 'object',
  propertyNames: 'object',
  items: 'array',
  minItems: 'array',
  maxItems: 'array',
  uniqueItems: 'array',
  minLength: 'string',
  maxLength: 'string',
  pattern: 'string',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
};
const COUNTS = ['minProperties', 'maxProperties', 'minItems', 'maxItems', 'minLength', 'maxLength'];
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
/** Loosened alternatives can match more than once, so none is required to be the only match. */
const JOINS = [
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['allOf', 'allOf'],
] as const;
const NAMED = ['properties', '$defs', 'definitions'];
const LOCAL = /^#(?:\/[A-Za-z0-9_$.-]+)+$/;
/** Letters, classes and repetitions: what every regular expression engine interprets alike. */
const PLAIN_PATTERN =
  /^\^?(?:[A-Za-z0-9_.:/@ -]|\\[dwsDWS./]|\[[A-Za-z0-9_.:/@ -]+\]|[*+?]|\{\d{1,3}(?:,\d{0,3})?\})*\$?$/;

/** An equivalent schema that compiles, for a value at `at` of the schema that it becomes a part of. */
export function tidySchema(schema: JsonSchema, at: '#' | typeof STRUCTURED = '#'): JsonSchema {
  const walk = { at, left: MOST_PARTS, isTooDeep: false };
  const tidied = tidy(schema, walk, 0);
  if (walk.left < 0 || walk.isTooDeep) return plainForm(schema, at);
  const whole = at === '#' ? tidied : { type: 'object', properties: { structuredContent: tidied } };
  const { cost, fault } = costOf(whole);
  // Boundary: a schema that is too expensive to check is not enforced.
  const isUsable = cost <= MOST_COST && fault === null && !hasLostReference(whole);
  return isUsable ? tidied : plainForm(schema, at);
}

/** A text without invisible characters: what people do not see, no model gets. */
export function visibleText(text: string): string {
  return text.replace(ACTIVE, (char) => (char === '\n' || char === '\t' ? char : ''));
}

/** A reference to another document, which a client might fetch. */
const REMOTE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;
const REFERENCES: readonly string[] = ['$ref', '$dynamicRef', '$recursiveRef'];

/** The schema as clients are shown it: all that the server wrote, but for invisible characters and remote references. */
export function publishedSchema(schema: JsonSchema): JsonSchema {
  return published(schema) as JsonSchema;
}

function published(value: Json): Json {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(published);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(
    // Boundary: no client is sent to an address that a server chose.
    ([keyword, to]) => !(REFERENCES.includes(keyword) && typeof to === 'string' && REMOTE.test(to)),
  );
  return Object.fromEntries(kept.map(([keyword, part]) => [visibleText(keyword), published(part)]));
}

/** Only the top-level property names of an input; nothing for an output. */
function plainForm({ properties }: JsonSchema, at: string): JsonSchema {
  if (at !== '#') return {};
  const names = isJsonObject(properties) ? Object.keys(properties).slice(0, MOST_PARTS) : [];
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) };
}

/** Whether something refers to a part that was left out. */
function hasLostReference(whole: JsonSchema): boolean {
  return schemaParts(whole).parts.some(
    ({ schema: { $ref } }) => typeof $ref === 'string' && !leadsSomewhere($ref, whole),
  );
}

/** The walk notes what is too large or too deep. `around`: the types that an enclosing schema of the same value permits. */
function tidy(raw: JsonSchema, walk: Walk, depth: number, around: readonly string[] = []): Schema {
  walk.left -= 1;
  walk.isTooDeep ||= depth > MOST_DEPTH;
  if (walk.left < 0 || walk.isTooDeep) return {};
  const out: Schema = {};
  const own = typesOf(raw);
  const left = around.length === 0 ? own : own.filter((type) => isAmong(type, around));
  // A schema that no value can match is not enforced.
  if (own.length > 0 && left.length === 0) return {};
  if (left.length > 0) out.type = left.length === 1 ? (left[0] ?? '') : left;
  const types = left.length > 0 ? left : around;
  for (const name of ['title', 'description'] as const) {
    const text = raw[name];
    if (typeof text === 'string') out[name] = visibleText(text);
  }
  if (raw.default !== undefined) out.default = raw.default;
  if (raw.const !== undefined) out.const = raw.const;
  if (Array.isArray(raw.enum) && raw.enum.length > 0) out.enum = raw.enum;
  addBounds(raw, out, types);
  if (typeof raw.$ref === 'string' && LOCAL.test(raw.$ref)) out.$ref = `${walk.at}${raw.$ref.slice(1)}`;
  addParts(raw, out, { walk, depth, types });
  addRest(raw, out, { walk, depth, types });
  if (types.length === 0) addType(out);
  addJoins(raw, out, { walk, depth, types: types.length > 0 ? types : typesOf(out) });
  return out;
}

type Inside = { readonly walk: Walk; readonly depth: number; readonly types: readonly string[] };

function addParts(raw: JsonSchema, out: Schema, { walk, depth, types }: Inside): void {
  const deeper = (part: Json) => (isJsonObject(part) ? tidy(part, walk, depth + 1) : {});
  for (const keyword of NAMED) {
    const named = raw[keyword];
    if (!isJsonObject(named) || !fits(keyword, types)) continue;
    out[keyword] = Object.fromEntries(Object.entries(named).map(([name, part]) => [name, deeper(part)]));
  }
  if (isJsonObject(raw.items) && fits('items', types)) out.items = deeper(raw.items);
}

/** Which additional properties are permitted, and which are required. */
function addRest(raw: JsonSchema, out: Schema, { walk, depth, types }: Inside): void {
  const { additionalProperties: others, required } = raw;
  if (others !== undefined && fits('additionalProperties', types) && raw.patternProperties === undefined) {
    if (isJsonObject(others)) out.additionalProperties = tidy(others, walk, depth + 1);
    else if (others === false) out.additionalProperties = false;
  }
  if (Array.isArray(required) && fits('required', types)) {
    const names = [...new Set(required.filter((name) => typeof name === 'string'))];
    const known = isJsonObject(out.properties) ? out.properties : {};
    const missing = names.filter((name) => !Object.hasOwn(known, name));
    out.required = names;
    out.properties = Object.fromEntries([
      ...Object.entries(known),
      ...missing.map((name) => [name, {}] as const),
    ]);
  }
}

/** Several schemas for the same value. */
function addJoins(raw: JsonSchema, out: Schema, { walk, depth, types }: Inside): void {
  for (const [keyword, becomes] of JOINS) {
    const parts = raw[keyword];
    if (!Array.isArray(parts) || parts.length === 0 || out[becomes] !== undefined) continue;
    out[becomes] = parts.map((part) => (isJsonObject(part) ? tidy(part, walk, depth + 1, types) : {}));
  }
}

/** The type that all its keywords imply; where they imply several, the keywords are dropped. */
function addType(out: Schema): void {
  const about = new Set(Object.keys(out).flatMap((keyword) => ABOUT[keyword] ?? []));
  const [first] = about;
  if (about.size === 1 && first !== undefined) out.type = first;
  if (about.size > 1) for (const keyword of Object.keys(ABOUT)) delete out[keyword];
}

function addBounds(raw: JsonSchema, out: Schema, types: readonly string[]): void {
  for (const keyword of COUNTS) {
    const count = raw[keyword];
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 && fits(keyword, types))
      out[keyword] = count;
  }
  for (const keyword of BOUNDS) {
    const bound = raw[keyword];
    if (typeof bound === 'number' && fits(keyword, types)) out[keyword] = bound;
  }
  if (typeof raw.pattern === 'string' && isPlainPattern(raw.pattern) && fits('pattern', types))
    out.pattern = raw.pattern;
}

function isPlainPattern(pattern: string): boolean {
  if (pattern.length > MOST_PATTERN_CHARS || !PLAIN_PATTERN.test(pattern)) return false;
  return orElse(() => new RegExp(pattern, 'u'), null) !== null;
}

function fits(keyword: string, types: readonly string[]): boolean {
  const about = ABOUT[keyword];
  if (about === undefined || types.length === 0) return true;
  return types.includes(about) || (about === 'number' && types.includes('integer'));
}

function isAmong(type: string, types: readonly string[]): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

function typesOf({ type }: JsonSchema): readonly string[] {
  const all = Array.isArray(type) ? type : [type];
  return [...new Set(all.filter((each): each is string => typeof each === 'string' && TYPES.includes(each)))];
}

/** No path through a list: what is at a number there may have been loosened. */
function leadsSomewhere(reference: string, root: JsonSchema): boolean {
  let value: Json | undefined = root;
  for (const part of reference.split('/').slice(1)) {
    if (!isJsonObject(value) || !Object.hasOwn(value, part)) return false;
    value = value[part];
  }
  return isJsonObject(value);
}
