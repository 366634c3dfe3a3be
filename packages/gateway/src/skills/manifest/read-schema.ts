import type { Path } from '../../config/problem.ts';
import { quote } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { isPackagePath } from '../package/paths.ts';
import { isTable } from './agree.ts';
import type { CheckedValue } from './checked.ts';
import { readInline, SCHEMA_LIMITS } from './inline-schema.ts';
import type { SchemaKey } from './manifest-keys.table.ts';
import { type Bench, type Misfit, misfitAt, say } from './problem.ts';

const EXPECTED = 'a JSON Schema as a table, or the path of a .json file in the package';

/** Reads a schema as a value of JSON. Whether it is a schema at all is for the audit, which compiles it. */
export function readSchema(row: SchemaKey, raw: unknown, path: Path, bench: Bench): CheckedValue | null {
  const before = bench.found.length;
  const schema = isTable(raw) ? readInline(raw, path, bench.found) : readFile(raw, path, bench);
  if (schema === null || bench.found.length > before) return null;
  // Boundary: arguments have names, and a schema of anything else lets any input through to the tool.
  if (row.of === 'input' && schema.type !== 'object') {
    bench.found.push(misfitAt(path, { is: 'its top level is no object', expected: 'type = "object" there' }));
    return null;
  }
  return { schema };
}

function readFile(raw: unknown, path: Path, { found, read }: Bench): JsonSchema | null {
  const misfit =
    typeof raw === 'string' && isPackagePath(raw) && raw.endsWith('.json')
      ? null
      : { is: say(raw), expected: EXPECTED };
  // Boundary: the path is one of the package before anything is looked up by it.
  const content = misfit === null ? readContent(raw as string, read) : { misfit };
  if ('misfit' in content) found.push(misfitAt(path, content.misfit));
  return 'misfit' in content ? null : content.schema;
}

type Content = { readonly schema: JsonSchema } | { readonly misfit: Misfit };

function readContent(file: string, read: Bench['read']): Content {
  const bytes = read(file);
  if (bytes === null) {
    const is = `there is no file ${quote(file)} in the package`;
    return { misfit: { is, expected: 'one that is there' } };
  }
  const parsed = parseStrict(bytes, SCHEMA_LIMITS);
  if (parsed.ok) return contentOf(file, parsed.value);
  const [, where = '', is = '', expected = 'JSON'] =
    /^Cannot read JSON at (.*?): (.*), expected (.*)$/s.exec(parsed.message) ?? [];
  return { misfit: { is: `the file ${quote(file)} is no JSON at ${where} (${is})`, expected } };
}

function contentOf(file: string, value: Json): Content {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject) return { schema: value as JsonSchema };
  return { misfit: { is: `the file ${quote(file)} has something else`, expected: 'a JSON object' } };
}
