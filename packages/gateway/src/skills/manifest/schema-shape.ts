import { quote } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { isTable, note, type Shape, type ValueSite } from '../../core/shape.ts';
import { describeValue, type Misfit, misfitAt } from '../../core/shape-problem.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { SCHEMA_LIMITS } from '../limits.ts';
import { isPackagePath } from '../package/paths.ts';
import type { SchemaKey } from './key-rows.ts';

/** Reads a file of the package by its path; null: it does not exist. */
export type ReadEntry = (path: string) => Uint8Array | null;

const EXPECTED = 'a JSON Schema as a table, or the path of a .json file in the package';

/** A schema as a value of JSON. Whether it is a valid schema is for the audit, which compiles it. */
export function schemaShape({ of }: SchemaKey, read: ReadEntry): Shape<JsonSchema> {
  return (raw, site) => {
    const before = site.found.length;
    const schema = isTable(raw) ? readInline(raw, site) : readFile(raw, site, read);
    if (schema === undefined || site.found.length > before) return undefined;
    // Boundary: arguments have names, and a schema of anything else lets any input through to the tool.
    if (of === 'input' && schema.type !== 'object') {
      return note(site, { is: 'its top level is not an object', expected: 'type = "object" there' });
    }
    return schema;
  };
}

function readFile(raw: unknown, site: ValueSite, read: ReadEntry): JsonSchema | undefined {
  const isPath = typeof raw === 'string' && isPackagePath(raw) && raw.endsWith('.json');
  // Boundary: the path is one of the package before anything is looked up by it.
  if (!isPath) return note(site, { is: describeValue(raw), expected: EXPECTED });
  const bytes = read(raw);
  if (bytes === null) {
    return note(site, { is: `the package has no file ${quote(raw)}`, expected: 'a file of the package' });
  }
  const parsed = parseStrict(bytes, SCHEMA_LIMITS);
  if (!parsed.ok) {
    const { is, expected, position } = parsed.problem;
    const where = `line ${position.line}, column ${position.column}`;
    return note(site, { is: `the file ${quote(raw)} is not valid JSON at ${where} (${is})`, expected });
  }
  if (isTable(parsed.value)) return parsed.value as JsonSchema;
  return note(site, { is: `the file ${quote(raw)} is not an object`, expected: 'a JSON object' });
}

/** Turns a table of the manifest into JSON; what JSON cannot express is reported, each with its path. */
function readInline(raw: Readonly<Record<string, unknown>>, site: ValueSite): JsonSchema {
  const schema = toJson(raw, { ...site, depth: 1 }) as JsonSchema;
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_LIMITS.maxBytes) {
    note(site, { is: 'it is too large', expected: `at most ${SCHEMA_LIMITS.maxBytes} bytes as JSON` });
  }
  return schema;
}

type Walk = ValueSite & { readonly depth: number };

/** What TOML and JSON can both express; the rest is reported, and null in the result. */
function toJson(raw: unknown, walk: Walk): Json {
  const misfit = jsonMisfit(raw, walk.depth);
  if (misfit !== null) {
    note(walk, misfit);
    return null;
  }
  if (Array.isArray(raw)) return raw.map((each: unknown, i) => toJson(each, inside(walk, i)));
  if (isTable(raw)) return toObject(raw, walk);
  if (typeof raw === 'bigint') return Number(raw);
  // Canonical JSON has no negative zero.
  return raw === 0 ? 0 : (raw as string | number | boolean);
}

function toObject(raw: Readonly<Record<string, unknown>>, walk: Walk): Json {
  const object: Record<string, Json> = {};
  for (const [name, value] of Object.entries(raw)) {
    const inner = inside(walk, name);
    // Boundary: this key would set a prototype.
    if (name !== '__proto__') object[name] = toJson(value, inner);
    else {
      const misfit = misfitAt(inner.path, { is: 'the key is refused', expected: 'any other key' });
      walk.found.push({ ...misfit, at: 'key' });
    }
  }
  return object;
}

function inside({ path, depth, found }: Walk, part: string | number): Walk {
  return { path: [...path, part], depth: depth + 1, found };
}

function jsonMisfit(raw: unknown, depth: number): Misfit | null {
  if (raw instanceof Date) {
    return { is: 'it is a date', expected: 'a value of JSON', hint: 'put the date in double quotes' };
  }
  if (typeof raw === 'object' && depth > SCHEMA_LIMITS.maxDepth) {
    return { is: 'it is nested too deeply', expected: `at most ${SCHEMA_LIMITS.maxDepth} levels` };
  }
  // Boundary: as in strict JSON, past this two numbers of the text become one number in the program.
  const isHeld =
    typeof raw === 'bigint'
      ? isExact(Number(raw)) && BigInt(Number(raw)) === raw
      : typeof raw !== 'number' || isExact(raw);
  return isHeld ? null : { is: describeValue(raw), expected: 'a finite number of at most 2^53-1 in size' };
}

function isExact(value: number): boolean {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}
