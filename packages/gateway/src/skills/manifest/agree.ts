import type { Spot } from '../../config/toml-tree.ts';
import type { Place } from '../../core/strict-json.ts';

type Content = NonNullable<Spot['content']>;

/** Tells whether a value of the TOML parser is a table: neither a list nor a date, which are objects as well. */
export function isTable(raw: unknown): raw is Readonly<Record<string, unknown>> {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw) && !(raw instanceof Date);
}

/** How deep and how many: levels are counted no further than one past the most, and without recursion. */
export function measure(
  raw: unknown,
  mostLevels: number,
): { readonly levels: number; readonly values: number } {
  let level: readonly unknown[] = [raw];
  let values = 0;
  for (let levels = 0; levels <= mostLevels; levels++) {
    level = level.flatMap((each) => (Array.isArray(each) ? each : isTable(each) ? Object.values(each) : []));
    if (level.length === 0) return { levels, values };
    values += level.length;
  }
  return { levels: mostLevels + 1, values };
}

/** The place of the first thing that values and syntax tree do not say alike; null: they say the same everywhere. */
export function differenceIn(raw: unknown, spot: Spot): Place | null {
  if (Array.isArray(raw)) return isList(spot) ? differenceAmong([...raw.entries()], spot) : placeOf(spot);
  if (isTable(raw)) return isTableSpot(spot) ? differenceAmong(Object.entries(raw), spot) : placeOf(spot);
  return spot.content !== null && isSameScalar(raw, spot.content) ? null : placeOf(spot);
}

type Entry = readonly [part: string | number, raw: unknown];

function differenceAmong(entries: readonly Entry[], spot: Spot): Place | null {
  if (entries.length !== spot.children.size) return placeOf(spot);
  for (const [part, raw] of entries) {
    const child = spot.children.get(part);
    const difference = child === undefined ? placeOf(spot) : differenceIn(raw, child);
    if (difference !== null) return difference;
  }
  return null;
}

/** A list that headers make has an element as soon as it is there. */
function isList({ content, children }: Spot): boolean {
  return content === null ? children.has(0) : content.type === 'TOMLArray';
}

function isTableSpot({ content, children }: Spot): boolean {
  return content === null ? !children.has(0) : content.type === 'TOMLInlineTable';
}

function isSameScalar(raw: unknown, content: Content): boolean {
  if (content.type !== 'TOMLValue') return false;
  if (typeof raw === 'bigint') return content.kind === 'integer' && content.bigint === raw;
  if (typeof raw === 'number') return content.kind === 'float' && Object.is(content.value, raw);
  // No key takes a date, so that both see one is enough.
  if (raw instanceof Date) return content.value instanceof Date;
  return content.kind === typeof raw && content.value === raw;
}

function placeOf({ value }: Spot): Place {
  return { line: value.start.line, column: value.start.column + 1 };
}
