import { safeLine } from '../../core/hostile-text.ts';
import { nearest } from '../../core/suggest.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { schemaParts } from './schema-parts.ts';

/** The keywords that check something, to tell a slip from an annotation. */
const CHECKING =
  `type enum const properties required additionalProperties patternProperties propertyNames dependentRequired
  dependentSchemas unevaluatedProperties unevaluatedItems items prefixItems contains minContains maxContains minItems
  maxItems uniqueItems minProperties maxProperties minLength maxLength pattern minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf allOf anyOf oneOf not if then else $ref $defs definitions`.split(/\s+/);
const OTHERS = 'title description default examples format dependencies deprecated readOnly writeOnly'.split(
  ' ',
);
const KNOWN: ReadonlySet<string> = new Set([...CHECKING, ...OTHERS]);
const MOST_SLIPS = 20;
const MOST_CHARS = 200;

/** Keywords without an effect that look like one with an effect: where each is, and what was probably meant. */
export function slipsIn(schema: JsonSchema): readonly string[] {
  const slips = schemaParts(schema).parts.flatMap(({ schema: part, path }) =>
    Object.keys(part).flatMap((keyword) => {
      const meant = KNOWN.has(keyword) || keyword.startsWith('x-') ? null : nearest(keyword, CHECKING);
      if (meant === null || meant === undefined) return [];
      const place = [...path.split('.'), keyword].filter((each) => each !== '').join('/');
      return [`/${place} is unknown and has no effect; did you mean "${meant}"?`];
    }),
  );
  return slips.slice(0, MOST_SLIPS).map((slip) => safeLine(slip, MOST_CHARS));
}
