import type { NumberType } from '../../instance/value.ts';
import type { WitFunction } from '../types.ts';
import type { Codec } from './codec.ts';
import { codecOf } from './codec-of.ts';
import { tupleCodec } from './record.ts';

/** More parameters than these are passed in memory. */
const MOST_FLAT_PARAMS = 16;

/** More results than these are returned in memory. */
const MOST_FLAT_RESULTS = 1;

/** A function's type as it crosses in the canonical ABI. */
export type FlatSignature = {
  /** All parameters as one tuple. */
  readonly params: Codec;
  /** Whether they are in memory, behind one pointer. */
  readonly isSpilled: boolean;
  /** The core values of the parameters, or of the pointer to them. */
  readonly flatParams: readonly NumberType[];
  readonly result: Codec | null;
  /** Whether the result is in memory: a host gets the address to write to, a guest returns the address. */
  readonly isResultInMemory: boolean;
};

const known = new WeakMap<WitFunction, FlatSignature>();

/** Made once for each function type. */
export function flatSignatureOf(type: WitFunction): FlatSignature {
  const made = known.get(type) ?? prepare(type);
  known.set(type, made);
  return made;
}

function prepare(type: WitFunction): FlatSignature {
  const params = tupleCodec(type.params.map(([, param]) => codecOf(param)));
  const result = type.result === null ? null : codecOf(type.result);
  const isSpilled = params.flat.length > MOST_FLAT_PARAMS;
  const flatParams: readonly NumberType[] = isSpilled ? ['i32'] : params.flat;
  return {
    params,
    isSpilled,
    flatParams,
    result,
    isResultInMemory: result !== null && result.flat.length > MOST_FLAT_RESULTS,
  };
}
