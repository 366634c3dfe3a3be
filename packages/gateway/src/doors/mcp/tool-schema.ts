import type { Json } from '../../core/json.ts';
import type { JsonSchema } from '../../core/tool.ts';

/** The words for a client that what it gets is no output of the tool, but why there is none. */
export const FAILURE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { status: { enum: ['refused', 'failed', 'approval_required'] }, code: { type: 'string' } },
  required: ['status', 'code'],
};

/** A keyword that has a client copy an argument into a header, where proxies read and log it. */
const HEADER_KEYWORD = 'x-mcp-header';
/** With one of these, a part of a schema means something else in another place. */
const PLACE_BOUND = new Set(['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef']);
const IN_DEFS = '#/$defs/';

/** The schema of an input as clients see it: always of an object, and never with a word that copies arguments elsewhere. */
export function inputSchemaOf(schema: JsonSchema): JsonSchema {
  const shown = (hasKeyword(schema, HEADER_KEYWORD) ? without(schema, HEADER_KEYWORD) : schema) as JsonSchema;
  return shown.type === 'object' ? shown : { ...shown, type: 'object' };
}

/**
 * The schema of a result as clients see it: that of the tool, or of a failure, since clients hold results of failed calls
 * against it too. Null where the tool promises nothing, or where its schema cannot be put beside another.
 */
export function outputSchemaOf(schema: JsonSchema): JsonSchema | null {
  if (Object.keys(schema).length === 0 || !canMove(schema)) return null;
  const { $schema, $defs, ...own } = schema;
  return {
    ...($schema === undefined ? {} : { $schema }),
    ...(own.type === 'object' ? { type: 'object' } : {}),
    anyOf: [own, FAILURE_SCHEMA],
    ...($defs === undefined ? {} : { $defs }),
  };
}

function canMove(node: Json): boolean {
  if (Array.isArray(node)) return node.every(canMove);
  if (node === null || typeof node !== 'object') return true;
  return Object.entries(node).every(([key, value]) => {
    if (PLACE_BOUND.has(key)) return false;
    if (key === '$ref' && typeof value === 'string') return value.startsWith(IN_DEFS);
    return canMove(value);
  });
}

function hasKeyword(node: Json, keyword: string): boolean {
  if (Array.isArray(node)) return node.some((each) => hasKeyword(each, keyword));
  if (node === null || typeof node !== 'object') return false;
  return Object.entries(node).some(([key, value]) => key === keyword || hasKeyword(value, keyword));
}

function without(node: Json, keyword: string): Json {
  if (Array.isArray(node)) return node.map((each) => without(each, keyword));
  if (node === null || typeof node !== 'object') return node;
  const kept = Object.entries(node).filter(([key]) => key !== keyword);
  return Object.fromEntries(kept.map(([key, value]) => [key, without(value, keyword)]));
}
