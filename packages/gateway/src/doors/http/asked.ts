import type { ZodType } from 'zod';
import { quote } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict, type StrictLimits } from '../../core/strict-json.ts';
import { readBody, requireType } from './body.ts';
import { hasBody, queryOf } from './incoming.ts';
import { TurnedAway } from './problem.ts';
import type { Way } from './reply.ts';
import type { Route } from './route.ts';
import type { Params } from './router.ts';

/* What a request says, held to its row: parameters, query, headers and body. What the row does not name is refused. */

type Read = {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
};

const MAX_TOLD = 8;
const NO_HEADERS = {};

/** Reads all of it once; throws at the first part that does not fit. */
export async function readAsked(
  way: Way,
  { route, params, query }: { readonly route: Route; readonly params: Params; readonly query: string },
  limits: StrictLimits,
): Promise<Read> {
  return {
    params: route.params === undefined ? params : hold('address', route.params, params),
    query: readQuery(route, query),
    headers: route.headers === undefined ? NO_HEADERS : pick(way, Object.keys(route.headers)),
    body: await readRouteBody(way, route, limits),
  };
}

function readQuery(route: Route, raw: string): unknown {
  const query = queryOf(raw);
  const shape = route.query?.shape ?? {};
  for (const name of Object.keys(query)) {
    // Boundary: a filter with a slip in its name would silently let everything through.
    if (!Object.hasOwn(shape, name))
      throw new TurnedAway('door/wrong-usage', `Cannot read the query: ${quote(name)} is not known here`);
  }
  return route.query === undefined ? query : hold('query', route.query, query);
}

function pick({ request }: Way, names: readonly string[]): Record<string, string | undefined> {
  const picked: Record<string, string | undefined> = {};
  for (const name of names) {
    const value = request.headers[name];
    picked[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return picked;
}

async function readRouteBody(way: Way, { body: rule }: Route, limits: StrictLimits): Promise<unknown> {
  const isGiven = hasBody(way.request);
  if (rule === undefined) {
    if (isGiven) throw new TurnedAway('door/wrong-usage', 'Cannot read the body: none is expected here');
    return undefined;
  }
  if (isGiven) requireType(way.request, rule.type);
  if (rule.type === 'application/octet-stream')
    return isGiven ? readBody(way, rule.maxBytes) : Buffer.alloc(0);
  const value = isGiven ? readJson(await readBody(way, limits.maxBytes), limits) : undefined;
  return hold('body', rule.schema, value);
}

function readJson(bytes: Uint8Array, limits: StrictLimits): Json {
  const read = parseStrict(bytes, limits);
  if (read.ok) return read.value;
  throw new TurnedAway(
    'door/wrong-usage',
    `Cannot read the body: ${read.message.replace(/^Cannot read JSON/, 'it is no strict JSON')}`,
  );
}

/** Boundary: a handler sees only what its row lets in. */
function hold(part: string, schema: ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const told = result.error.issues
    .slice(0, MAX_TOLD)
    .map(({ path, message }) => (path.length === 0 ? message : `${quote(path.join('.'))}: ${message}`));
  throw new TurnedAway('door/wrong-usage', `Cannot read the ${part}: ${told.join('; ')}`);
}
