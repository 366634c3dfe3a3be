import { WasmError } from '../../error.ts';
import type { Limits } from '../../limits.ts';
import type { WasmModule } from '../../read/module.ts';
import { requireWithin } from '../../read/refusal.ts';
import type { World } from '../types.ts';
import type { PlannedInstance } from './items.ts';

/** Steps for each byte of the file; what tools write takes less than one for ten, and the largest we know 3,000. */
const STEPS_PER_BYTE = 4;
const LEAST_STEPS = 10_000;
/** Each step makes something of some hundred bytes. */
const MOST_STEPS = 500_000;

/** What the merged module may have as much of as any other. */
const COUNTED = [
  'types',
  'functions',
  'globals',
  'tables',
  'memories',
  'elementSegments',
  'dataSegments',
] as const;
type Counted = (typeof COUNTED)[number];

/** What the evaluation of a component shares: its input and limits, and what it has built so far. */
export type Linking = {
  readonly bytes: Uint8Array;
  readonly world: World;
  readonly limits: Limits;
  readonly instances: PlannedInstance[];
  /** Modules that were read, by where they start. */
  readonly modules: Map<number, WasmModule>;
  /** Steps that are left. */
  steps: number;
  /** Of all modules that are instantiated, each as often as it is. */
  readonly totals: Record<Counted | 'moduleBytes', number>;
};

export function newLinking(bytes: Uint8Array, world: World, limits: Limits): Linking {
  const steps = Math.min(MOST_STEPS, Math.max(LEAST_STEPS, STEPS_PER_BYTE * bytes.length));
  const totals = {
    moduleBytes: 0,
    types: 0,
    functions: 0,
    globals: 0,
    tables: 0,
    memories: 0,
    elementSegments: 0,
    dataSegments: 0,
  };
  return { bytes, world, limits, instances: [], modules: new Map(), steps, totals };
}

/** Adds the bytes of a module that will be merged, before it is parsed. */
export function countBytes({ totals, limits }: Linking, bytes: number, offset: number): void {
  totals.moduleBytes += bytes;
  // Boundary: a module that is instantiated often is merged as often; the sum must be within the limits of one module.
  requireWithin('moduleBytes', totals.moduleBytes, limits, offset);
}

/** Adds what a module defines; imported or not, it is counted. */
export function countParts({ totals, limits }: Linking, module: WasmModule, offset: number): void {
  const parts: Readonly<Record<Counted, number>> = {
    types: module.types.length,
    functions: module.functions.length,
    globals: module.globals.length,
    tables: module.tables.length,
    memories: module.memories.length,
    elementSegments: module.elements.length,
    dataSegments: module.data.length,
  };
  for (const key of COUNTED) {
    totals[key] += parts[key];
    // Boundary: many modules together must be within the limits of one.
    requireWithin(key, totals[key], limits, offset);
  }
}

/** Counts steps before they are taken. */
export function spend(linking: Linking, steps: number, offset: number): void {
  linking.steps -= steps;
  // Boundary: components that instantiate each other again and again take time in proportion to their bytes.
  if (linking.steps >= 0) return;
  const message = 'Cannot link component: its instances take more steps than its size allows, expected fewer';
  throw new WasmError('limit', message, { offset, detail: 'component-steps' });
}
