import type { Json } from '../../../src/core/json.ts';
import type { JsonSchema } from '../../../src/core/tool.ts';
import type { LeafKey, ManifestKey } from '../../../src/skills/manifest/key-rows.ts';
import { fieldsOf } from '../../../src/skills/manifest/manifest-shape.ts';
import { TEXTS, type TextName } from '../../../src/skills/manifest/texts.table.ts';

/*
 * What the table of keys says, as a JSON Schema for editors. It refuses no manifest that is accepted here; what it
 * cannot express (an id that begins with the publisher, hosts that are covered) it ignores.
 */

/** The JSON Schema of skill.toml, which schema/skill.schema.json has. */
export function manifestJsonSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'skill.toml',
    description: 'What a skill of palisade says of itself and asks for.',
    ...tableSchema(''),
  };
}

function tableSchema(tableKey: string): JsonSchema {
  const fields = [...fieldsOf(tableKey)];
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, row]) => [name, schemaOf(row)])),
    required: fields.flatMap(([name, row]) => (isRequired(row) ? [name] : [])),
    additionalProperties: false,
  };
}

function isRequired(row: ManifestKey): boolean {
  if (row.type === 'tables') return row.min > 0;
  if (row.type !== 'table') return row.isRequired === true;
  return row.isFilled && [...fieldsOf(row.key).values()].some(isRequired);
}

function schemaOf(row: ManifestKey): Json {
  const description = row.sentence;
  if (row.type === 'table') return { description, ...tableSchema(row.key) };
  if (row.type === 'tables') {
    return { description, type: 'array', minItems: row.min, maxItems: row.max, items: tableSchema(row.key) };
  }
  return { description, ...leafSchema(row), ...(row.default === null ? {} : { default: row.default }) };
}

function leafSchema(row: LeafKey): JsonSchema {
  switch (row.type) {
    case 'text':
      return textSchema(row.rule);
    case 'choice':
      return { enum: row.choices };
    case 'integer':
      return { type: 'integer', minimum: row.min, maximum: row.max };
    case 'boolean':
      return { type: 'boolean' };
    case 'texts': {
      const { min, max, rule } = row;
      return { type: 'array', minItems: min, maxItems: max, uniqueItems: true, items: textSchema(rule) };
    }
    case 'schema':
      return { anyOf: [{ type: 'string', pattern: '\\.json$' }, { type: 'object' }] };
  }
}

function textSchema(rule: TextName): JsonSchema {
  const shape: { readonly chars: readonly [number, number]; readonly pattern?: string } = TEXTS[rule];
  const [minLength, maxLength] = shape.chars;
  const { pattern } = shape;
  return { type: 'string', minLength, maxLength, ...(pattern === undefined ? {} : { pattern }) };
}
