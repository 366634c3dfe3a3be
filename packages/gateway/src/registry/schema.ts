import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { cached } from '../core/cached.ts';
import { digestValue } from '../core/digest.ts';
import { safeLine } from '../core/hostile-text.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { orElse } from '../core/result.ts';
import type { JsonSchema } from '../core/tool.ts';
import { schemaParts } from '../skills/audit/schema-parts.ts';

/** Null when the value matches, else where and why it does not; never a part of the value itself. */
export type Validate = (value: Json) => string | null;

/** A hostile value must not be able to fill an answer with its errors. */
const MAX_PROBLEMS = 3;

/**
 * Compiles JSON Schemas (2020-12) once per distinct schema. Formats and unknown keywords are annotations, as the
 * specification has it; references lead only to places of the same schema. Patterns run on a linear-time engine, so that no
 * schema and no input can block the gateway; look-around and back-references are refused when the schema is compiled.
 */
export class Schemas {
  readonly #compiled = new Map<string, Validate>();
  readonly #ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    // The schemas of tools are checked against the meta-schema when tools are defined, not at every start.
    validateSchema: false,
    // Boundary: a schema with the `$id` of another one would keep that one from being compiled.
    addUsedSchema: false,
    allErrors: false,
    code: { regExp: linearRegExp },
  });

  compile(schema: JsonSchema): Validate {
    return cached(this.#compiled, digestValue(schema), () => {
      const check = this.#ajv.compile({ $id: ROOT, ...(standardKeywords(schema) as JsonSchema) });
      // Boundary: such a check returns a promise, which would count as a match.
      if ('$async' in check)
        throw new TypeError('Cannot use schema: it is asynchronous, expected a plain one');
      return (value) => (check(value) ? null : describe(check.errors ?? []));
    });
  }

  /** Why a schema cannot be used, with the place in it; null where it can. */
  problemOf(schema: JsonSchema): string | null {
    // Whatever dialect it names, it is read as this one.
    const { $schema: _, ...read } = standardKeywords(schema) as JsonSchema;
    if (!this.#ajv.validate(DIALECT, read)) {
      const [{ instancePath = '', message = 'is not valid' } = {}] = this.#ajv.errors ?? [];
      return `${instancePath === '' ? 'the schema' : safeLine(instancePath, MOST_PLACE_CHARS)} ${message}`;
    }
    try {
      this.compile(schema);
      return null;
    } catch (error) {
      return `${placeOf(schema, error)}${safeLine((error as Error).message, MOST_WHY_CHARS)}`;
    }
  }
}

/** The base of a schema without one of its own: without any, the validator does not find what `#` refers to. */
const ROOT = 'palisade:/schema';
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const MOST_PLACE_CHARS = 120;
const MOST_WHY_CHARS = 200;

/** Keywords of the validator that the specification does not know, and so annotations to everyone else. */
const FOREIGN: ReadonlySet<string> = new Set(['nullable', 'id', '$async']);
/** What has schemas by name, and what is a schema or a list of them. */
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'];
const NESTED =
  `items prefixItems contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties
  allOf anyOf oneOf not if then else`.split(/\s+/);

/** The schema without them; a property that is called like one stays. */
function standardKeywords(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(standardKeywords);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => !FOREIGN.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, value]) => {
      if (NESTED.includes(keyword)) return [keyword, standardKeywords(value)];
      if (!NAMED.includes(keyword) || !isJsonObject(value)) return [keyword, value];
      return [
        keyword,
        Object.fromEntries(Object.entries(value).map(([name, each]) => [name, standardKeywords(each)])),
      ];
    }),
  );
}

/** Where the pattern or the reference is that cannot be compiled. */
function placeOf(schema: JsonSchema, error: unknown): string {
  const { missingRef } = error as { missingRef?: string };
  const found = schemaParts(schema).parts.find(({ schema: { pattern, patternProperties, $ref } }) => {
    const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
    const patterns = typeof pattern === 'string' ? [pattern, ...names] : names;
    return missingRef === undefined
      ? !patterns.every(isLinear)
      : typeof $ref === 'string' && missingRef.includes($ref);
  });
  if (found === undefined) return '';
  return `/${safeLine(found.path.replaceAll('.', '/'), MOST_PLACE_CHARS)}: `;
}

function isLinear(pattern: string): boolean {
  return orElse(() => RE2JS.compile(pattern), null) !== null;
}

function linearRegExp(pattern: string, flags: string) {
  const compiled = RE2JS.compile(pattern);
  return {
    // Boundary: unlike RegExp, no input can make this take more than linear time.
    test: (text: string) => compiled.matcher(text).find(),
    // Ajv identifies patterns by this text; without it all patterns of a schema would be the first one.
    toString: () => `/${pattern}/${flags}`,
  };
}
linearRegExp.code = 'linearRegExp';

function describe(errors: readonly ErrorObject[]): string {
  const problems = errors.slice(0, MAX_PROBLEMS).map(({ instancePath, message, params }) => {
    const extra =
      (params as { additionalProperty?: string }).additionalProperty === undefined
        ? ''
        : ' (an unknown one is present)';
    return `${instancePath === '' ? 'the input' : safeLine(instancePath, 120)} ${message ?? 'does not fit'}${extra}`;
  });
  return problems.join('; ');
}
