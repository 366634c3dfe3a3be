import { canonicalize } from '@palisade/sdk';
import { isJsonObject, type Json } from '../core/json.ts';
import type { JsonSchema } from '../core/tool.ts';
import type { CedarValueJson } from './cedar.ts';
import { INPUT_TYPE_LIMITS } from './limits.ts';

/*
 * How a tool's input reaches policies. A JSON Schema is walked once into a plan; the Cedar type is printed from the
 * plan and each value is converted by the same plan, so that type and value cannot disagree. Only what the schema
 * declares is copied. JSON Schema keywords narrow and never widen, so `type`, `properties`, `required` and `items`
 * apply whatever other keywords are present; anything Cedar cannot express is passed as its canonical JSON text.
 */

export type InputPlan =
  | { readonly kind: 'string' | 'long' | 'bool' | 'number' | 'text' }
  | { readonly kind: 'set'; readonly element: InputPlan }
  | { readonly kind: 'record'; readonly fields: readonly Field[] };

type Field = {
  readonly name: string;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly plan: InputPlan;
};
type Walk = { fieldsLeft: number };

const TEXT: InputPlan = { kind: 'text' };
const CEDAR_TYPES = {
  string: 'String',
  long: 'Long',
  bool: 'Bool',
  number: '{ floor: Long, text: String }',
  text: 'String',
} as const;
const SCALARS: Readonly<Record<string, InputPlan>> = {
  string: { kind: 'string' },
  integer: { kind: 'long' },
  boolean: { kind: 'bool' },
  number: { kind: 'number' },
};

export const EMPTY_INPUT_TYPE = '{}';

/** Plans the input of a tool. The plan is always a record, so that `context.input has x` is valid for every tool. */
export function planInput(schema: JsonSchema): InputPlan & { kind: 'record' } {
  const { plan, nullable } = planValue(schema, 0, { fieldsLeft: INPUT_TYPE_LIMITS.fields });
  return plan.kind === 'record' && !nullable ? plan : { kind: 'record', fields: [] };
}

function planValue(schema: Json, depth: number, walk: Walk): { plan: InputPlan; nullable: boolean } {
  if (!isJsonObject(schema) || depth > INPUT_TYPE_LIMITS.depth) return { plan: TEXT, nullable: false };
  const { type, nullable, inner } = typeOf(schema);
  if (inner !== undefined) return { plan: planValue(inner, depth, walk).plan, nullable: true };
  return { plan: planType(type, schema, depth, walk), nullable };
}

function planType(type: Json, schema: JsonSchema, depth: number, walk: Walk): InputPlan {
  if (type === 'object') return planRecord(schema, depth, walk);
  if (type === 'array') return planSet(schema, depth, walk);
  return (typeof type === 'string' && Object.hasOwn(SCALARS, type) && SCALARS[type]) || TEXT;
}

/** The one type besides null; `inner` for the `anyOf: [X, null]` that many generators write for an optional value. */
function typeOf(schema: JsonSchema): { type: Json; nullable: boolean; inner?: JsonSchema } {
  const { type = null } = schema;
  // `nullable` is from OpenAPI, and the input checker supports it.
  if (typeof type === 'string') return { type, nullable: schema.nullable === true };
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== 'null');
    const nullable = types.length < type.length || schema.nullable === true;
    return { type: types.length === 1 ? (types[0] ?? null) : null, nullable };
  }
  const union = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(union) || union.length !== 2) return { type: null, nullable: false };
  const inner = union.find((part) => !isNullSchema(part));
  const hasNull = union.some(isNullSchema);
  return isJsonObject(inner) && hasNull
    ? { type: null, nullable: true, inner }
    : { type: null, nullable: false };
}

function isNullSchema(schema: Json): boolean {
  return isJsonObject(schema) && schema.type === 'null';
}

function planRecord(schema: JsonSchema, depth: number, walk: Walk): InputPlan {
  const { properties, required } = schema;
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) {
    return schema.additionalProperties === false ? { kind: 'record', fields: [] } : TEXT;
  }
  const names = new Set(Array.isArray(required) ? required : []);
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(properties)) {
    if (property === false || !isDeclarable(name)) continue;
    walk.fieldsLeft -= 1;
    if (walk.fieldsLeft < 0) break;
    const { plan, nullable } = planValue(property, depth + 1, walk);
    fields.push({ name, required: names.has(name) && !nullable, nullable, plan });
  }
  return { kind: 'record', fields };
}

function isDeclarable(name: string): boolean {
  // Boundary: `__entity`, `__extn` and `__expr` are escapes in Cedar's JSON and `__proto__` is one in JavaScript's.
  return !name.startsWith('__') && name.length <= INPUT_TYPE_LIMITS.nameChars && !/\p{Surrogate}/u.test(name);
}

function planSet(schema: JsonSchema, depth: number, walk: Walk): InputPlan {
  if (schema.prefixItems !== undefined || !isJsonObject(schema.items)) return TEXT;
  const { plan, nullable } = planValue(schema.items, depth + 1, walk);
  return nullable || plan.kind === 'text' ? TEXT : { kind: 'set', element: plan };
}

export function printType(plan: InputPlan): string {
  if (plan.kind === 'set') return `Set<${printType(plan.element)}>`;
  if (plan.kind !== 'record') return CEDAR_TYPES[plan.kind];
  if (plan.fields.length === 0) return EMPTY_INPUT_TYPE;
  const fields = plan.fields.map(
    ({ name, required, plan }) => `${quote(name)}${required ? '' : '?'}: ${printType(plan)}`,
  );
  return `{ ${fields.join(', ')} }`;
}

/** A Cedar string literal in which all but letters, digits, `_`, `-` and `.` is escaped. */
export function quote(text: string): string {
  const escaped = text.replace(
    /[^A-Za-z0-9_.-]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return `"${escaped}"`;
}

/** The value as the plan declares it. Throws a TypeError where the value does not fit, which denies the call. */
function toCedar(plan: InputPlan, value: Json): CedarValueJson {
  switch (plan.kind) {
    case 'string':
      return typeof value === 'string' ? value : misfit(plan);
    case 'bool':
      return typeof value === 'boolean' ? value : misfit(plan);
    case 'long':
      // Adding zero turns -0, which Cedar cannot express, into 0.
      return typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : misfit(plan);
    case 'number':
      return typeof value === 'number' && Number.isSafeInteger(Math.floor(value))
        ? { floor: Math.floor(value) + 0, text: canonicalize(value) }
        : misfit(plan);
    case 'text':
      return canonicalize(value);
    case 'set':
      return Array.isArray(value) ? value.map((item: Json) => toCedar(plan.element, item)) : misfit(plan);
    case 'record':
      return isJsonObject(value) ? toRecord(plan.fields, value) : misfit(plan);
  }
}

function toRecord(fields: readonly Field[], value: JsonSchema): CedarValueJson {
  const entries: [string, CedarValueJson][] = [];
  for (const { name, nullable, plan } of fields) {
    const own = Object.hasOwn(value, name) ? value[name] : undefined;
    if (own === undefined || (own === null && nullable)) continue;
    entries.push([name, toCedar(plan, own)]);
  }
  return Object.fromEntries(entries);
}

/** The input of a tool for policies; an input that is not an object has no fields to show. */
export function inputToCedar(plan: InputPlan & { kind: 'record' }, input: Json): CedarValueJson {
  return plan.fields.length === 0 ? {} : toCedar(plan, input);
}

function misfit(plan: InputPlan): never {
  throw new TypeError(
    `Cannot show the input to the policies: a value is not of its declared type "${plan.kind}"`,
  );
}
