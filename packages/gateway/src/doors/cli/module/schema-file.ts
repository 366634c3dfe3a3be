import { parseStrict } from '../../../core/strict-json.ts';
import type { JsonSchema } from '../../../core/tool.ts';
import { readFileFlag, textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

const JSON_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 64 };

/** The schema in the file that a flag names, found to be one; without the flag, one that everything fits. */
export async function schemaOf(invocation: Invocation, flag: string): Promise<JsonSchema> {
  const path = textOf(invocation, flag);
  if (path === undefined) return {};
  const parsed = parseStrict(await readFileFlag(path), JSON_LIMITS);
  if (!parsed.ok) throw wrongUsage(`Cannot use --${flag} "${path}": ${parsed.message}`);
  const schema = parsed.value;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw wrongUsage(`Cannot use --${flag} "${path}": it is no object, expected a JSON Schema`);
  const { Schemas } = await import('../../../registry/schema.ts');
  try {
    new Schemas().compile(schema as JsonSchema);
    return schema as JsonSchema;
  } catch (error) {
    const why = (error as Error).message;
    throw wrongUsage(`Cannot use --${flag} "${path}": it is no schema (${why}), expected one of 2020-12`);
  }
}
