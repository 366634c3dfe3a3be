import whole, {
  assert as assertAll,
  type IRawProperty,
  type Parameters,
} from '../../node_modules/fast-check/lib/fast-check.js';
import { volume } from './volume.ts';

/*
 * Stands in for fast-check in every test: the same, but a property runs the share of its runs that `volume` says. A failure
 * prints its seed and path as always.
 */

/** Fewer runs than that find nothing. */
const LEAST_RUNS = 25;
const USUAL_RUNS = 100;

export * from '../../node_modules/fast-check/lib/fast-check.js';

export function assert<Ts>(
  property: IRawProperty<Ts>,
  parameters: Parameters<Ts> = {},
): Promise<void> | void {
  const numRuns = volume(parameters.numRuns ?? USUAL_RUNS, LEAST_RUNS);
  return assertAll(property, { ...parameters, numRuns });
}

export default { ...whole, assert };
