import { BYTES_PER_FUEL } from '../costs.table.ts';
import { type Usage, WasmError } from '../error.ts';
import type { CallOptions } from './call.ts';
import { type CallState, endCall, usageOf } from './call-state.ts';
import { findCallee } from './callee.ts';
import { type Guest, GuestView } from './guest.ts';
import type { Recipe } from './recipe.ts';
import type { NumberType } from './value.ts';

/** The names of two exports that pass bytes, and of one without parameters and results that is called first where it exists. */
export type BytesExports = { readonly begin?: string; readonly room: string; readonly work: string };

export type BytesOptions = CallOptions & {
  /** The longest answer that is accepted; a longer one ends the call as 'limit'. */
  readonly mostBytes?: number;
};

export type BytesResult = Usage & { readonly bytes: Uint8Array };

/** The parameters of an export that takes bytes. */
export const POINTER_AND_LENGTH: readonly NumberType[] = ['i32', 'i32'];
const LOW_HALF = 0xffff_ffffn;

/** Refuses an export of another type than (params) -> result, before anything runs. */
export function requirePassing(
  recipe: Recipe,
  name: string,
  params: readonly NumberType[],
  result: NumberType,
): void {
  const zeros = params.map(() => 0);
  const { results } = findCallee(recipe, name, zeros);
  if (results.length === 1 && results[0] === result) return;
  const message = `Cannot pass bytes through "${name}": it returns (${results.join(', ')}), expected (${result})`;
  throw new WasmError('export', message, { detail: name });
}

/** Whether a guest exports a function of that name that takes nothing and returns nothing. */
export function beginsWith({ functions }: Recipe, name: string | undefined): name is string {
  const found = name === undefined ? undefined : functions.get(name);
  return found !== undefined && found.params.length + found.results.length === 0;
}

/** In a visit: writes the input where the guest allocates it, lets it work, and copies the answer. */
export function passBytes(
  guest: Guest,
  { begin, room, work }: BytesExports,
  input: Uint8Array,
  mostBytes: number,
): Uint8Array {
  if (begin !== undefined) guest.call(begin);
  guest.charge(fuelFor(input.length));
  const pointer = Number(guest.call(room, input.length));
  guest.write(pointer, input);
  const answer = BigInt.asUintN(64, BigInt(guest.call(work, pointer, input.length) ?? 0));
  const length = Number(answer & LOW_HALF);
  if (length > mostBytes) throw tooLong(GuestView.stateOf(guest), length, mostBytes);
  guest.charge(fuelFor(length));
  // Boundary: an answer outside of the guest's memory is refused.
  return guest.read(Number(answer >> 32n), length);
}

function fuelFor(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_FUEL);
}

function tooLong(state: CallState, length: number, mostBytes: number): WasmError {
  const message = `Cannot take answer: it has ${length} bytes, expected at most ${mostBytes}`;
  return endCall(state, new WasmError('limit', message, { detail: 'mostBytes', usage: usageOf(state) }));
}
