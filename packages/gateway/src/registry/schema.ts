import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { cached } from '../core/cached.ts';
import { digestValue } from '../core/digest.ts';
import { safeLine } from '../core/hostile-text.ts';
import type { Json } from '../core/json.ts';
import type { JsonSchema } from '../core/tool.ts';

/** Null when the value matches, else where and why it does not; never a part of the value itself. */
export type Validate = (value: Json) => string | null;

/** A hostile value must not be able to fill an answer with its errors. */
const MAX_PROBLEMS = 3;

/**
 * Compiles JSON Schemas (2020-12, strict) once per distinct schema. Patterns run on a linear-time engine, so that no
 * schema and no input can block the gateway; look-around and back-references are refused when the schema is compiled.
 */
export class Schemas {
  readonly #compiled = new Map<string, Validate>();
  readonly #ajv = new Ajv2020({
    strict: true,
    // The schemas of tools are checked against the meta-schema when tools are defined, not at every start.
    validateSchema: false,
    // Boundary: a schema with the `$id` of another one would keep that one from being compiled.
    addUsedSchema: false,
    allowUnionTypes: true,
    allErrors: false,
    code: { regExp: linearRegExp },
  });

  compile(schema: JsonSchema): Validate {
    return cached(this.#compiled, digestValue(schema), () => {
      const check = this.#ajv.compile(schema);
      // Boundary: such a check returns a promise, which would count as a match.
      if ('$async' in check)
        throw new TypeError('Cannot use schema: it is asynchronous, expected a plain one');
      return (value) => (check(value) ? null : describe(check.errors ?? []));
    });
  }
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
