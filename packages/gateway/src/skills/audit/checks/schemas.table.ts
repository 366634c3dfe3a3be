import type { Json } from '../../../core/json.ts';
import type { JsonSchema } from '../../../core/tool.ts';
import { AUDIT_LIMITS } from '../../limits.ts';
import { type AuditCheck, type AuditSubject, each, note, refusal, warning } from '../check.ts';
import { shorten } from '../module/words.ts';
import { costOf, endOfClass } from '../schema-cost.ts';
import { type SchemaPart, schemaParts, typesOf } from '../schema-parts.ts';
import { slipsIn } from '../schema-slips.ts';

/** What makes a schema known to others, or read and checked otherwise than it is written. */
const REFUSED_KEYWORDS = /^\$(?:id|anchor|dynamicAnchor|dynamicRef|recursiveAnchor|recursiveRef|async)$/;
/** A part with one of these says something about its value. */
const SAYING =
  /^(?:type|enum|const|\$ref|\$dynamicRef|anyOf|oneOf|allOf|not|if|properties|items|required|pattern|format|minimum|maximum|minLength|maxLength)$/;

const CLOSE_IT = 'Have the author set "additionalProperties": false.';

type Which = 'input_schema' | 'output_schema';

const eachSchema = each((subject) => {
  const costs = new Costs();
  return schemasOf(subject).map(([where, found]) => [where, { ...found, costs }] as const);
});
const eachPart = each(partsOf);
const eachInputPart = each((subject) => partsOf(subject, 'input_schema'));
const eachOutputPart = each((subject) => partsOf(subject, 'output_schema'));

export const SCHEMA_CHECKS: readonly AuditCheck[] = [
  refusal('schema/invalid', {
    sentence: 'An invalid schema.',
    remedy: 'Have the author run `palisade skill check`.',
    look: eachSchema(({ schema, costs }, { bench }) => {
      // Boundary: schemas that take too long to compile, or that the compiler would cache, are not compiled.
      if (costs.problemOf(schema) !== null || refusedKeywordOf(schema) !== null) return null;
      const problem = bench.schemaProblem(schema);
      return problem === null ? null : `It is invalid: ${problem}`;
    }),
  }),
  warning('schema/slip', {
    sentence: 'A keyword without an effect that looks like one with an effect.',
    remedy: 'Have the author correct it; as it is, it restricts nothing.',
    look: eachSchema(({ schema }) => slipsIn(schema)),
  }),
  refusal('schema/too-costly', {
    sentence:
      'A schema that is too expensive to compile: too many parts once references are expanded, or unbounded work.',
    remedy: 'Have the author simplify it.',
    look: eachSchema(({ schema, costs }) => {
      const problem = costs.problemOf(schema);
      return problem === null ? null : `It is too expensive to compile: ${problem}.`;
    }),
  }),
  refusal('schema/refused-keyword', {
    sentence: 'A keyword that registers a schema globally or changes how it is evaluated (`$id`, `$async`).',
    remedy: 'Have the author remove it and use only `#/$defs/` references.',
    look: eachSchema(({ schema }) => {
      const found = refusedKeywordOf(schema);
      if (found === null) return null;
      return `It has the keyword "${found}", which changes how it or another schema is evaluated.`;
    }),
  }),
  refusal('schema/remote-reference', {
    sentence: 'A reference to a schema outside the package.',
    remedy: 'Have the author inline it; references are never fetched.',
    look: eachPart(({ schema: { $ref, $dynamicRef } }) =>
      [$ref, $dynamicRef].some((ref) => typeof ref === 'string' && !ref.startsWith('#'))
        ? 'It refers to an external schema.'
        : null,
    ),
  }),
  warning('schema/not-an-object', {
    sentence: 'An input that is not an object, which some clients cannot send.',
    remedy: 'Have the author wrap the input in an object.',
    look: eachSchema(({ schema, which }) =>
      which === 'input_schema' && schema.type !== 'object' ? 'Its type is not "object".' : null,
    ),
  }),
  warning('schema/open-input', {
    sentence: 'An input schema that accepts undeclared keys.',
    remedy: CLOSE_IT,
    look: eachInputPart(lookForOpen),
  }),
  note('schema/open-output', {
    sentence: 'An output schema that accepts undeclared keys.',
    remedy: CLOSE_IT,
    look: eachOutputPart(lookForOpen),
  }),
  warning('schema/anything', {
    sentence: 'A part of an input that accepts any value.',
    remedy: 'Have the author restrict it.',
    look: eachInputPart(({ schema, isAlternative }) =>
      isAlternative || Object.keys(schema).some((keyword) => SAYING.test(keyword))
        ? null
        : 'It accepts any value.',
    ),
  }),
  warning('schema/loose-pattern', {
    sentence: 'An unanchored pattern, which accepts any text around a match.',
    remedy: 'Have the author anchor it with ^ and $.',
    look: eachPattern((pattern) =>
      isAnchored(pattern)
        ? null
        : `Its pattern ${JSON.stringify(shorten(pattern))} matches anywhere in a text.`,
    ),
  }),
  warning('schema/long-pattern', {
    sentence: `A pattern of more than ${AUDIT_LIMITS.patternChars} characters.`,
    remedy: 'Have the author check this inside the tool.',
    look: eachPattern(({ length }) =>
      length > AUDIT_LIMITS.patternChars ? `Its pattern has ${length} characters.` : null,
    ),
  }),
  warning('schema/too-large', {
    sentence: `A schema that is nested more than ${AUDIT_LIMITS.schemaDepth} levels deep, or has more than ${AUDIT_LIMITS.schemaParts} parts.`,
    remedy: 'Have the author simplify it; it is too large to review.',
    look: eachSchema(({ schema }) => {
      const { parts, depth } = schemaParts(schema);
      if (depth <= AUDIT_LIMITS.schemaDepth && parts.length <= AUDIT_LIMITS.schemaParts) return null;
      return `It has ${parts.length} parts, ${depth} levels deep.`;
    }),
  }),
  note('schema/unbounded', {
    sentence: 'A string or list in an input without a maximum length.',
    remedy: 'Have the author add a maximum; the gateway limits the size of an input in any case.',
    look: eachInputPart(({ schema }) => {
      const [types, { maxLength, enum: values, const: value, format, maxItems }] = [typesOf(schema), schema];
      const bounds = [maxLength, values, value, format];
      const isText = types.includes('string') && bounds.every((each) => each === undefined);
      const isList = types.includes('array') && maxItems === undefined;
      return isText || isList ? `Its ${isText ? 'text' : 'list'} may be of any length.` : null;
    }),
  }),
];

/** What the schemas of one skill cost, each once, and all that came before. */
class Costs {
  readonly #known = new Map<JsonSchema, string | null>();
  #sum = 0;

  /** Why a schema is too expensive; null if it is not. */
  problemOf(schema: JsonSchema): string | null {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const { cost, fault } = costOf(schema);
    const excess = this.#excess(cost);
    if (excess === null) this.#sum += cost;
    const problem = fault ?? excess;
    this.#known.set(schema, problem);
    return problem;
  }

  #excess(cost: number): string | null {
    const { schemaCost, schemaCostInAll } = AUDIT_LIMITS;
    const rest = 'with what it refers to, expected at most';
    if (cost > schemaCost) return `it counts as ${cost} parts ${rest} ${schemaCost}`;
    if (this.#sum + cost <= schemaCostInAll) return null;
    return `all schemas have more than ${schemaCostInAll} parts ${rest} ${schemaCostInAll}`;
  }
}

/** In any position: a reference can make a schema of anything. */
function refusedKeywordOf(schema: JsonSchema): string | null {
  const open: Json[] = [schema];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value as JsonSchema)) {
      // A property may have such a name as well; its schema is an object.
      if (REFUSED_KEYWORDS.test(key) && typeof child !== 'object') return key;
      open.push(child);
    }
  }
  return null;
}

function schemasOf({ pkg: { manifest } }: AuditSubject) {
  return manifest.tools.flatMap(({ id, inputSchema, outputSchema }) => {
    const found = (which: Which, schema: JsonSchema) =>
      [`the tool "${id}", ${which}`, { which, schema }] as const;
    return [found('input_schema', inputSchema), found('output_schema', outputSchema)];
  });
}

function* partsOf(subject: AuditSubject, wanted?: Which): Iterable<readonly [where: string, SchemaPart]> {
  for (const [where, { which, schema }] of schemasOf(subject))
    for (const part of wanted === undefined || which === wanted ? schemaParts(schema).parts : [])
      yield [part.path === '' ? where : `${where} at ${shorten(part.path)}`, part];
}

function eachPattern(look: (pattern: string) => string | null): AuditCheck['look'] {
  return eachInputPart(({ schema: { pattern, patternProperties } }) => {
    const keys = typeof patternProperties === 'object' ? Object.keys(patternProperties ?? {}) : [];
    const all = typeof pattern === 'string' ? [pattern, ...keys] : keys;
    return all.map(look).find((each) => each !== null) ?? null;
  });
}

function lookForOpen({ schema, isAlternative }: SchemaPart): string | null {
  if (isAlternative || !typesOf(schema).includes('object')) return null;
  const isClosed = [schema.additionalProperties, schema.unevaluatedProperties].some(
    (rest) => rest === false || (typeof rest === 'object' && rest !== null && Object.keys(rest).length > 0),
  );
  return isClosed ? null : 'It takes keys that it does not name.';
}

/** Both ends are anchored outside of any group or alternative. */
function isAnchored(pattern: string): boolean {
  if (!pattern.startsWith('^') || !/(?:^|[^\\])(?:\\\\)*\$$/.test(pattern)) return false;
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at];
    if (char === '\\') at += 1;
    else if (char === '[') at = endOfClass(pattern, at);
    else if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    else if (char === '|' && depth === 0) return false;
  }
  return true;
}
