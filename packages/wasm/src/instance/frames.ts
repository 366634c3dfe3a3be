import type { Recipe } from './recipe.ts';

/** Functions that are reported of a failed call. */
const MOST_FRAMES = 16;
/**
 * A line of V8's stack is `at wasm://wasm/HASH:wasm-function[INDEX]:0xOFFSET`. Boundary: V8 writes no name of the guest
 * into it, because metered modules are compiled without names.
 */
const FRAME = /^ {4}at wasm:\/\/wasm\/[0-9a-f]+:wasm-function\[(\d{1,7})\]:0x([0-9a-f]{1,8})$/;

type Frames = Readonly<Record<'frames' | 'places', readonly number[]>>;

/**
 * The functions of the guest that were running when this was thrown, and where they were in the metered module; empty where
 * V8 does not say.
 */
export function framesOf({ functions, copies }: Recipe['origins'], thrown: unknown): Frames {
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  if (typeof stack !== 'string') return { frames: [], places: [] };
  const frames: number[] = [];
  const places: number[] = [];
  for (const line of stack.split('\n')) {
    const [, digits, place = ''] = FRAME.exec(line) ?? [];
    if (digits === undefined) continue;
    const index = copies.get(Number(digits)) ?? Number(digits);
    // Functions that the meter added come after those of the module, and say nothing to its author.
    if (index >= functions || frames.length === MOST_FRAMES) continue;
    frames.push(index);
    places.push(Number.parseInt(place, 16));
  }
  return { frames, places };
}
