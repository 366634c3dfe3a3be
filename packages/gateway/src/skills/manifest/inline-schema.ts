import type { Path } from '../../config/problem.ts';
import type { Json } from '../../core/json.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { isTable } from './agree.ts';
import { type Found, type Misfit, misfitAt, say } from './problem.ts';

/** Of one schema, in the manifest or in a file of its own; what a gateway compiles for each tool is bounded by it. */
export const SCHEMA_LIMITS = { maxBytes: 64 * 1024, maxDepth: 32 } as const;

/** Turns a table of the manifest into JSON; what JSON cannot say is noted, each at its place. */
export function readInline(raw: Readonly<Record<string, unknown>>, path: Path, found: Found[]): JsonSchema {
  const schema = toJson(raw, { path, depth: 1, found }) as JsonSchema;
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_LIMITS.maxBytes) {
    found.push(
      misfitAt(path, { is: 'it is too large', expected: `at most ${SCHEMA_LIMITS.maxBytes} bytes as JSON` }),
    );
  }
  return schema;
}

type Walk = { readonly path: Path; readonly depth: number; readonly found: Found[] };

/** What TOML and JSON both can say; the rest is noted, and null in the result. */
function toJson(raw: unknown, walk: Walk): Json {
  const misfit = misfitOfJson(raw, walk.depth);
  if (misfit !== null) {
    walk.found.push(misfitAt(walk.path, misfit));
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
    else
      walk.found.push({
        ...misfitAt(inner.path, { is: 'the key is refused', expected: 'any other key' }),
        at: 'key',
      });
  }
  return object;
}

function inside({ path, depth, found }: Walk, part: string | number): Walk {
  return { path: [...path, part], depth: depth + 1, found };
}

function misfitOfJson(raw: unknown, depth: number): Misfit | null {
  if (raw instanceof Date)
    return { is: 'it is a date', expected: 'what JSON has; a date in double quotes is a text' };
  if (typeof raw === 'object' && depth > SCHEMA_LIMITS.maxDepth) {
    return { is: 'it is nested too deeply', expected: `at most ${SCHEMA_LIMITS.maxDepth} levels` };
  }
  // Boundary: as in strict JSON, past this two numbers of the text become one number in the program.
  const isHeld =
    typeof raw === 'bigint'
      ? isExact(Number(raw)) && BigInt(Number(raw)) === raw
      : typeof raw !== 'number' || isExact(raw);
  return isHeld ? null : { is: say(raw), expected: 'a finite number of at most 2^53-1 in size' };
}

function isExact(value: number): boolean {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}
