import { BYTES_PER_FUEL } from '../costs.table.ts';
import { type Usage, WasmError } from '../error.ts';
import { type CallOptions, findCallee } from './call.ts';
import { type CallState, charge, endCall, usageOf } from './call-state.ts';
import type { Recipe } from './recipe.ts';
import type { NumberType } from './value.ts';

/** The names of two exports that pass bytes. */
export type BytesExports = { readonly room: string; readonly work: string };

export type BytesOptions = CallOptions & {
  /** The longest answer that is taken; a longer one ends the call as 'limit'. */
  readonly mostBytes?: number;
};

export type BytesResult = Usage & { readonly bytes: Uint8Array };

type Passing = {
  readonly room: (length: number) => number;
  readonly work: (place: number, length: number) => bigint;
};

/** What takes bytes takes their place and their length. */
export const PLACE: readonly NumberType[] = ['i32', 'i32'];
const LOW_HALF = 0xffff_ffffn;

/** The fuel that is due before such an export is called; one of another type is refused. */
export function findPassing(
  recipe: Recipe,
  name: string,
  params: readonly NumberType[],
  result: NumberType,
): number {
  const callee = findCallee(
    recipe,
    name,
    params.map(() => 0),
  );
  const [only, ...others] = callee.results;
  if (only === result && others.length === 0) return callee.owed;
  const message = `Cannot pass bytes through "${name}": it returns (${callee.results.join(', ')}), expected (${result})`;
  throw new WasmError('export', message, { detail: name });
}

/** Inside a call: writes the input where the guest has room for it, lets it work, and copies the answer. */
export function passBytes(
  state: CallState,
  input: Uint8Array,
  mostBytes: number,
  { room, work }: Passing,
): Uint8Array {
  payFor(state, input.length);
  const place = room(input.length);
  state.guest?.write(place, input);
  const answer = BigInt.asUintN(64, work(place, input.length));
  const length = Number(answer & LOW_HALF);
  if (length > mostBytes) {
    const message = `Cannot take answer: it has ${length} bytes, expected at most ${mostBytes}`;
    throw endCall(state, new WasmError('limit', message, { detail: 'mostBytes', usage: usageOf(state) }));
  }
  payFor(state, length);
  // Boundary: a guest that names a place outside of its memory has no answer.
  return state.guest?.read(Number(answer >> 32n), length) ?? new Uint8Array(0);
}

function payFor(state: CallState, bytes: number): void {
  charge(state, Math.ceil(bytes / BYTES_PER_FUEL));
}
