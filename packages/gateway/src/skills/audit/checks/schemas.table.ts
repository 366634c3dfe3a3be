import type { Json } from '../../../core/json.ts';
import type { JsonSchema } from '../../../core/tool.ts';
import { AUDIT_LIMITS } from '../../limits.ts';
import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import { shorten } from '../module/words.ts';
import { costOf, endOfClass } from '../schema-cost.ts';
import { type SchemaPart, schemaParts, typesOf } from '../schema-parts.ts';

/** What makes a schema known to others, or read and checked otherwise than it is written. */
const REFUSED_KEYWORDS: readonly string[] = [
  ...['$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveAnchor', '$recursiveRef', '$async'],
];
const BOUND_IT = 'Have the author add a maximum; the gateway limits the size of an input in any case.';

export const SCHEMA_CHECKS: readonly AuditCheck[] = [
  {
    id: 'schema/invalid',
    severity: 'refusal',
    sentence: 'An invalid schema.',
    look: (subject) => {
      const costs = new Costs();
      return eachSchema(subject, (schema) => {
        // Boundary: schemas that take too long to compile, or that the compiler would cache, are not compiled.
        const isLeftOut = costs.problemOf(schema) !== null || refusedKeywordOf(schema) !== null;
        const problem = isLeftOut ? null : subject.bench.schemaProblem(schema);
        return problem === null
          ? []
          : [
              {
                path: '',
                what: `It is invalid: ${problem}`,
                remedy: 'Have the author run `palisade skill check`.',
              },
            ];
      });
    },
  },
  {
    id: 'schema/too-costly',
    severity: 'refusal',
    sentence:
      'A schema that is too expensive to compile: too many parts once references are expanded, or unbounded work.',
    look: (subject) => {
      const costs = new Costs();
      return eachSchema(subject, (schema) => {
        const problem = costs.problemOf(schema);
        if (problem === null) return [];
        return [
          {
            path: '',
            what: `It is too expensive to compile: ${problem}.`,
            remedy: 'Have the author simplify it.',
          },
        ];
      });
    },
  },
  {
    id: 'schema/refused-keyword',
    severity: 'refusal',
    sentence: 'A keyword that registers a schema globally or changes how it is evaluated (`$id`, `$async`).',
    look: (subject) =>
      eachSchema(subject, (schema) => {
        const found = refusedKeywordOf(schema);
        if (found === null) return [];
        const what = `It has the keyword "${found}", which changes how it or another schema is evaluated.`;
        return [{ path: '', what, remedy: 'Have the author remove it and use only `#/$defs/` references.' }];
      }),
  },
  {
    id: 'schema/remote-reference',
    severity: 'refusal',
    sentence: 'A reference to a schema outside the package.',
    look: (subject) =>
      eachPart(subject, ({ schema: { $ref, $dynamicRef } }) =>
        [$ref, $dynamicRef].some((ref) => typeof ref === 'string' && !ref.startsWith('#'))
          ? {
              what: 'It refers to an external schema.',
              remedy: 'Have the author inline it; references are never fetched.',
            }
          : null,
      ),
  },
  {
    id: 'schema/not-an-object',
    severity: 'warning',
    sentence: 'An input that is not an object, which some clients cannot send.',
    look: (subject) =>
      eachSchema(subject, ({ type }, part) =>
        part === 'input_schema' && type !== 'object'
          ? [
              {
                path: '',
                what: 'Its type is not "object".',
                remedy: 'Have the author wrap the input in an object.',
              },
            ]
          : [],
      ),
  },
  {
    id: 'schema/open-input',
    severity: 'warning',
    sentence: 'An input schema that accepts undeclared keys.',
    look: (subject) => eachPart(subject, lookForOpen, 'input_schema'),
  },
  {
    id: 'schema/open-output',
    severity: 'note',
    sentence: 'An output schema that accepts undeclared keys.',
    look: (subject) => eachPart(subject, lookForOpen, 'output_schema'),
  },
  {
    id: 'schema/anything',
    severity: 'warning',
    sentence: 'A part of an input that accepts any value.',
    look: (subject) =>
      eachPart(
        subject,
        ({ schema, isAlternative }) =>
          !isAlternative && SAYING.every((keyword) => schema[keyword] === undefined)
            ? { what: 'It accepts any value.', remedy: 'Have the author restrict it.' }
            : null,
        'input_schema',
      ),
  },
  {
    id: 'schema/loose-pattern',
    severity: 'warning',
    sentence: 'An unanchored pattern, which accepts any text around a match.',
    look: (subject) =>
      eachPattern(subject, (pattern) =>
        isAnchored(pattern)
          ? null
          : {
              what: `Its pattern ${quote(pattern)} matches anywhere in a text.`,
              remedy: 'Have the author anchor it with ^ and $.',
            },
      ),
  },
  {
    id: 'schema/long-pattern',
    severity: 'warning',
    sentence: `A pattern of more than ${AUDIT_LIMITS.patternChars} characters.`,
    look: (subject) =>
      eachPattern(subject, (pattern) =>
        pattern.length <= AUDIT_LIMITS.patternChars
          ? null
          : {
              what: `Its pattern has ${pattern.length} characters.`,
              remedy: 'Have the author check this inside the tool.',
            },
      ),
  },
  {
    id: 'schema/too-large',
    severity: 'warning',
    sentence: `A schema that is nested more than ${AUDIT_LIMITS.schemaDepth} levels deep, or has more than ${AUDIT_LIMITS.schemaParts} parts.`,
    look: (subject) =>
      eachSchema(subject, (schema) => {
        const { parts, depth } = schemaParts(schema);
        if (depth <= AUDIT_LIMITS.schemaDepth && parts.length <= AUDIT_LIMITS.schemaParts) return [];
        const what = `It has ${parts.length} parts, ${depth} levels deep.`;
        return [{ path: '', what, remedy: 'Have the author simplify it; it is too large to review.' }];
      }),
  },
  {
    id: 'schema/unbounded',
    severity: 'note',
    sentence: 'A string or list in an input without a maximum length.',
    look: (subject) =>
      eachPart(
        subject,
        ({ schema }) => {
          const types = typesOf(schema);
          const isText =
            types.includes('string') &&
            [schema.maxLength, schema.enum, schema.const, schema.format].every(isAbsent);
          const isList = types.includes('array') && isAbsent(schema.maxItems);
          return isText || isList
            ? { what: `Its ${isText ? 'text' : 'list'} may be of any length.`, remedy: BOUND_IT }
            : null;
        },
        'input_schema',
      ),
  },
];

/** A part with one of these says something about its value. */
const SAYING: readonly string[] = [
  ...[
    'type',
    'enum',
    'const',
    '$ref',
    '$dynamicRef',
    'anyOf',
    'oneOf',
    'allOf',
    'not',
    'if',
    'properties',
    'items',
  ],
  ...['required', 'pattern', 'format', 'minimum', 'maximum', 'minLength', 'maxLength'],
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
    const isTooMuch = cost > AUDIT_LIMITS.schemaCost || this.#sum + cost > AUDIT_LIMITS.schemaCostInAll;
    if (!isTooMuch) this.#sum += cost;
    const which =
      cost > AUDIT_LIMITS.schemaCost
        ? `it counts as ${cost} parts`
        : `all schemas have more than ${AUDIT_LIMITS.schemaCostInAll} parts`;
    const most = cost > AUDIT_LIMITS.schemaCost ? AUDIT_LIMITS.schemaCost : AUDIT_LIMITS.schemaCostInAll;
    const problem = fault ?? (isTooMuch ? `${which} with what it refers to, expected at most ${most}` : null);
    this.#known.set(schema, problem);
    return problem;
  }
}

/** In any position: a reference can make a schema of anything. */
function refusedKeywordOf(schema: JsonSchema): string | null {
  const open: Json[] = [schema];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const found = REFUSED_KEYWORDS.find((keyword) => isKeyword(value as JsonSchema, keyword));
    if (found !== undefined) return found;
    open.push(...Object.values(value as JsonSchema));
  }
  return null;
}

/** A property may have such a name as well; its schema is an object. */
function isKeyword(schema: JsonSchema, keyword: string): boolean {
  return Object.hasOwn(schema, keyword) && typeof schema[keyword] !== 'object';
}

type Part = 'input_schema' | 'output_schema';
type Seen = Omit<Sighting, 'where'>;

function* eachSchema(
  { pkg: { manifest } }: AuditSubject,
  look: (schema: JsonSchema, part: Part) => readonly (Seen & { readonly path: string })[],
): Iterable<Sighting> {
  for (const { id, inputSchema, outputSchema } of manifest.tools) {
    for (const [part, schema] of [
      ['input_schema', inputSchema],
      ['output_schema', outputSchema],
    ] as const)
      for (const { path, what, remedy } of look(schema, part))
        yield { where: `the tool "${id}", ${part}${path === '' ? '' : ` at ${path}`}`, what, remedy };
  }
}

function eachPart(
  subject: AuditSubject,
  look: (part: SchemaPart) => Seen | null,
  only?: Part,
): Iterable<Sighting> {
  return eachSchema(subject, (schema, which) => {
    if (only !== undefined && which !== only) return [];
    return schemaParts(schema).parts.flatMap((part) => {
      const seen = look(part);
      return seen === null ? [] : [{ ...seen, path: shorten(part.path) }];
    });
  });
}

function eachPattern(subject: AuditSubject, look: (pattern: string) => Seen | null): Iterable<Sighting> {
  return eachPart(
    subject,
    ({ schema: { pattern, patternProperties } }) => {
      const keys = typeof patternProperties === 'object' ? Object.keys(patternProperties ?? {}) : [];
      for (const each of typeof pattern === 'string' ? [pattern, ...keys] : keys) {
        const seen = look(each);
        if (seen !== null) return seen;
      }
      return null;
    },
    'input_schema',
  );
}

function lookForOpen({ schema, isAlternative }: SchemaPart): Seen | null {
  if (isAlternative || !typesOf(schema).includes('object')) return null;
  const isClosed = [schema.additionalProperties, schema.unevaluatedProperties].some(
    (rest) => rest === false || (typeof rest === 'object' && rest !== null && Object.keys(rest).length > 0),
  );
  return isClosed
    ? null
    : {
        what: 'It takes keys that it does not name.',
        remedy: 'Have the author set "additionalProperties": false.',
      };
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

function isAbsent(value: Json | undefined): boolean {
  return value === undefined;
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}
