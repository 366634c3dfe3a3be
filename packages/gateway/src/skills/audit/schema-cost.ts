import { isJsonObject } from '../../core/json.ts';
import type { JsonSchema } from '../../core/tool.ts';
import { canMeet, edgesOf, type SchemaEdge, typesOf } from './schema-parts.ts';

/*
 * The cost of compiling a schema and validating against it. Compiling inlines most references, and a value is validated
 * against a part once per path to it: a few lines of references that double at every step would block the gateway for
 * years. So the paths are counted here before anything is compiled.
 */

type SchemaCost = {
  /** About the number of parts once references are written out. */
  readonly cost: number;
  /** What can make validating an ordinary value very slow, whatever the cost; null: nothing. */
  readonly fault: string | null;
};

/** A part that comes back to itself is gone through again at every level of a value. */
const RECURSIVE = 8;
const STEPS_OF_PART = 50;
const VALUES_OF_PART = 4;
/** Every alternative of `oneOf` is compared with all others. */
const PAIRS_OF_PART = 64;
const MOST_UNIQUE = 1_000;
/** What a text is taken to have at most where the schema does not say, and what it may take. */
const TEXT_CHARS = 128 * 1024;
const MOST_STEPS = 2 ** 25;
/** Above this, counting stops. */
const MUCH = 1e9;

/** The cost of a schema, in time that grows with its size alone. */
export function costOf(schema: JsonSchema): SchemaCost {
  const costs = new Map<JsonSchema, number>();
  let fault: string | null = null;
  for (const loop of loopsOf(schema)) {
    const inside = new Set(loop.map(({ schema: part }) => part));
    const isRecursive = loop.some(({ edges }) => edges.some(({ to }) => inside.has(to)));
    if (isRecursive) fault ??= circleIn(loop);
    let cost = 0;
    for (const { schema: part, edges } of loop) {
      fault ??= faultOf(part) ?? (isRecursive ? forkOf(edges, inside) : null);
      cost += ownCost(part);
      for (const { to } of edges) if (!inside.has(to)) cost += costs.get(to) ?? 0;
    }
    const whole = Math.min(isRecursive ? cost * RECURSIVE : cost, MUCH);
    for (const part of inside) costs.set(part, whole);
  }
  return { cost: Math.ceil(costs.get(schema) ?? 0), fault };
}

function ownCost(part: JsonSchema): number {
  const { pattern, patternProperties, enum: values, dependentRequired, oneOf } = part;
  const patterns = [pattern, ...keysOf(patternProperties)].filter((each) => typeof each === 'string');
  const steps = patterns.reduce((sum, each) => sum + patternSize(each), 0);
  const listed = lengthOf(values) / VALUES_OF_PART;
  return (
    1 +
    steps / STEPS_OF_PART +
    listed +
    keysOf(dependentRequired).length +
    lengthOf(oneOf) ** 2 / PAIRS_OF_PART
  );
}

function faultOf(part: JsonSchema): string | null {
  const { uniqueItems, maxItems, items, pattern, maxLength } = part;
  if (
    uniqueItems === true &&
    !areScalars(items) &&
    !(typeof maxItems === 'number' && maxItems <= MOST_UNIQUE)
  )
    return `it compares all items of a list with each other, expected "maxItems" of at most ${MOST_UNIQUE}, or items of plain types`;
  if (typeof pattern !== 'string') return null;
  const chars = typeof maxLength === 'number' ? Math.min(maxLength, TEXT_CHARS) : TEXT_CHARS;
  return patternSize(pattern) * chars > MOST_STEPS
    ? 'it has a pattern of many repetitions for long texts, expected fewer of them or a smaller "maxLength"'
    : null;
}

/** Two ways back into a loop that one value can take both of: every level of a value doubles what is done. */
function forkOf(edges: readonly SchemaEdge[], loop: ReadonlySet<JsonSchema>): string | null {
  const back = edges.filter(({ to }) => loop.has(to));
  const isFork = back.some((edge, at) => back.slice(at + 1).some((other) => canMeet(edge, other)));
  return isFork
    ? 'a part of it refers back to itself in two ways that one value can take both of, expected one way'
    : null;
}

/** A way back that goes into no value: nothing ends it. */
function circleIn(loop: readonly Part[]): string | null {
  const left = new Set(loop.map(({ schema }) => schema));
  const isStuck = ({ edges }: Part) => edges.some(({ to, place }) => place === 'here' && left.has(to));
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const part of loop) if (!isStuck(part)) left.delete(part.schema);
  }
  return left.size === 0
    ? null
    : 'a part of it refers back to itself for the same value, expected one inside of it';
}

type Part = { readonly schema: JsonSchema; readonly edges: readonly SchemaEdge[] };

/** The parts that lead to each other, those first that others lead to. (Tarjan, without calling itself.) */
function loopsOf(root: JsonSchema): readonly (readonly Part[])[] {
  type Visit = Part & { readonly number: number; lowest: number; next: number; isOpen: boolean };
  const visits = new Map<JsonSchema, Visit>();
  const [loops, open, path]: [Part[][], Visit[], Visit[]] = [[], [], []];
  const enter = (schema: JsonSchema) => {
    const number = visits.size;
    const visit = { schema, edges: edgesOf(schema, root), number, lowest: number, next: 0, isOpen: true };
    visits.set(schema, visit);
    open.push(visit);
    path.push(visit);
  };
  enter(root);
  for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
    const edge = visit.edges[visit.next];
    visit.next += 1;
    const seen = edge === undefined ? undefined : visits.get(edge.to);
    if (edge !== undefined && seen === undefined) enter(edge.to);
    else if (seen?.isOpen === true) visit.lowest = Math.min(visit.lowest, seen.number);
    if (edge !== undefined) continue;
    path.pop();
    const above = path.at(-1);
    if (above !== undefined) above.lowest = Math.min(above.lowest, visit.lowest);
    if (visit.lowest !== visit.number) continue;
    const loop = open.splice(open.indexOf(visit));
    for (const each of loop) each.isOpen = false;
    loops.push(loop);
  }
  return loops;
}

function areScalars(items: JsonSchema[string] | undefined): boolean {
  const types = isJsonObject(items) ? typesOf(items) : [];
  return types.length > 0 && !types.some((type) => type === 'object' || type === 'array');
}

function keysOf(value: JsonSchema[string] | undefined): readonly string[] {
  return isJsonObject(value) ? Object.keys(value) : [];
}

function lengthOf(value: JsonSchema[string] | undefined): number {
  return Array.isArray(value) ? value.length : 0;
}

/**
 * How many steps a pattern has once its repetitions are written out: what compiling it takes, and what each character
 * of a text takes at most. An invalid pattern gives some number; the compiler refuses it.
 */
export function patternSize(pattern: string): number {
  const groups: number[] = [];
  let size = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at];
    const [repeated = '', least = '', most = ''] = char === '{' ? (repetitionAt(pattern, at) ?? []) : [];
    if (repeated !== '') {
      const times = Math.max(Number(least), Number(most), 1);
      size += last * (times - 1);
      last *= times;
      at += repeated.length - 1;
    } else if (char === '(') {
      groups.push(size);
    } else if (char === ')') {
      last = size - (groups.pop() ?? 0);
    } else {
      const end = char === '\\' ? at + 1 : char === '[' ? endOfClass(pattern, at) : at;
      last = 1 + (end - at) / CLASS_CHARS;
      size += last;
      at = end;
    }
  }
  return Math.ceil(size);
}

/** A class of characters is one step, and takes longer to make the more it names. */
const CLASS_CHARS = 16;
const REPETITION = /\{(\d{1,6})(?:,(\d{0,6}))?\}/y;

function repetitionAt(pattern: string, at: number): RegExpExecArray | null {
  REPETITION.lastIndex = at;
  return REPETITION.exec(pattern);
}

/** Where a class that begins here ends; the end of the pattern where it does not. */
export function endOfClass(pattern: string, from: number): number {
  for (let at = from + 1; at < pattern.length; at += 1) {
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}
