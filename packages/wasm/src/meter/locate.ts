import { Cursor } from '../read/cursor.ts';
import { type Metered, type MeterOptions, meter } from './meter.ts';

const CODE = 10;
const HEADER_BYTES = 8;

/**
 * Where bytes of the metered module come from: for each offset the one in the module as it was submitted, of the instruction
 * that it is or that it was added to. Null: it is in no function of the module. The module is metered again, since a
 * form has no trace of this.
 */
export function locate(
  raw: Uint8Array,
  options: MeterOptions,
  offsets: readonly number[],
): readonly (number | null)[] {
  const runs = new Map<number, readonly number[]>();
  const metered = meter(raw, { ...options, onBody: (index, each) => void runs.set(index, each) });
  const bodies = bodiesOf(metered.bytes);
  return offsets.map((offset) => originOf(metered, { bodies, runs }, offset));
}

type Traced = {
  /** Beginning and end of each body. */
  readonly bodies: readonly (readonly [start: number, end: number])[];
  readonly runs: ReadonlyMap<number, readonly number[]>;
};

function originOf({ module, copies }: Metered, { bodies, runs }: Traced, offset: number): number | null {
  const body = bodies.findIndex(([start, end]) => offset >= start && offset < end);
  const [start = 0] = bodies[body] ?? [];
  const index = body + module.importedFunctions;
  const copyOf = copies.find(([copy]) => copy === index)?.[1];
  const own = copyOf ?? index;
  const origin = module.bodies[2 * (own - module.importedFunctions)];
  if (body < 0 || origin === undefined) return null;
  const at = offset - start;
  // A copy, and a function whose callers pay for it, have the bytes of the module.
  const traced = copyOf === undefined ? runs.get(index) : undefined;
  return traced === undefined ? origin + at : alongRuns(traced, at, origin);
}

/** Along runs of three numbers: where it was written, where it comes from, and 1 where all of it comes from there. */
function alongRuns(runs: readonly number[], at: number, origin: number): number {
  let found = origin;
  for (let run = 0; run < runs.length && (runs[run] ?? 0) <= at; run += 3) {
    const [written = 0, from = 0, isCopied = 0] = runs.slice(run, run + 3);
    found = from + isCopied * (at - written);
  }
  return found;
}

function bodiesOf(bytes: Uint8Array): (readonly [number, number])[] {
  const cursor = new Cursor(bytes, HEADER_BYTES);
  while (cursor.left > 0) {
    const id = cursor.u8('a section id');
    const size = cursor.u32('a section size');
    if (id !== CODE) cursor.skip(size, 'a section');
    else
      return Array.from({ length: cursor.u32('a number of bodies') }, () => {
        const length = cursor.u32('a size');
        cursor.skip(length, 'a body');
        return [cursor.at - length, cursor.at] as const;
      });
  }
  return [];
}
