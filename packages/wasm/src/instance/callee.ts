import { WasmError } from '../error.ts';
import type { GuestFunction, Recipe } from './recipe.ts';
import { type GuestValue, isValueOf, settleNaN, writeSignature } from './value.ts';

/** A function that the guest exports, if V8 need not convert the arguments. */
export function findCallee(recipe: Recipe, name: string, args: readonly GuestValue[]): GuestFunction {
  // Boundary: the guest's own functions only; the meter's exports are in no list.
  const callee = recipe.functions.get(name);
  if (callee === undefined) throw uncallable(name, 'the module exports no such function', 'one of its own');
  const is = mismatch(callee, args);
  if (is !== undefined) throw uncallable(name, is, writeSignature(callee));
  return callee;
}

/** Like `findCallee`, for a caller that takes one value or none. */
export function findPlainCallee(recipe: Recipe, name: string, args: readonly GuestValue[]): GuestFunction {
  const callee = findCallee(recipe, name, args);
  if (callee.results.length <= 1) return callee;
  throw uncallable(name, `it returns ${callee.results.length} values`, 'one or none');
}

function uncallable(name: string, is: string, expected: string): WasmError {
  const message = `Cannot call ${JSON.stringify(name)}: ${is}, expected ${expected}`;
  return new WasmError('export', message, { detail: name });
}

function mismatch({ params, foreign }: GuestFunction, args: readonly GuestValue[]): string | undefined {
  if (foreign !== undefined) return `its type has ${foreign}, which cannot cross to the host`;
  if (args.length !== params.length) return `${args.length} arguments were given`;
  for (let index = 0; index < params.length; index += 1) {
    const type = params[index];
    const value: unknown = args[index];
    if (type !== undefined && !isValueOf(type, value))
      return `argument ${index} is ${String(value)} (${typeof value})`;
  }
  return undefined;
}

/** The arguments as passed to the guest. */
export function settleArguments(
  { isDeterministic }: Recipe,
  args: readonly GuestValue[],
): readonly GuestValue[] {
  return isDeterministic ? args.map(settleNaN) : args;
}

/** What an export returned, as a list. */
export function listResults(returned: unknown): readonly GuestValue[] {
  if (returned === undefined) return [];
  return Array.isArray(returned) ? returned : [returned as GuestValue];
}
