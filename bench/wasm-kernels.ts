import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { FORMS, metered, PLENTY } from '../tests/fixtures/real-programs/metered.ts';
import { KERNELS, type Kernel } from './kernels.table.ts';
import type { BenchOptions, Figure, Spread } from './measure.ts';
import { ratioOf, type Side, takeTurns } from './turns.ts';
import { keepCallsApart, processorMsOf, ratioFigures } from './wasm-sides.ts';

/*
 * Small programs in C, as they are and metered, in one process and in turns. V8 starts a function in its quick compiler
 * and replaces it only at a later call, so each side is called until the optimised code is there before it is timed.
 * What is taken is processor time: a kernel waits for nothing, and whoever else uses the machine does not count.
 */

type Run = (n: number) => number;
type SetFuel = (fuel: number, stackBytes: number) => void;

const STACK_BYTES = 512 * 1024;
const CALLS_A_TURN = 4;
const WARM_UP = { turns: 8, ms: 150, pauseMs: 8 };

export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  keepCallsApart();
  const ratios = { local: new Map<string, Spread>(), thread: new Map<string, Spread>() };
  for (const kernel of KERNELS) {
    const bytes = new Uint8Array(readFileSync(`bench/kernels/${kernel.name}.wasm`));
    const ours = FORMS.map((form) => sideOf(form, kernel, metered(bytes, form)));
    const sides = [sideOf('bare', kernel, bytes), ...ours];
    await warmUp(sides);
    const turns = await takeTurns(quick ? 40 : 200, sides);
    for (const form of FORMS) ratios[form].set(kernel.name, ratioOf(turns, form, 'bare'));
  }
  return ratioFigures('kernels', ratios, 1.1);
}

function sideOf(name: string, kernel: Kernel, bytes: Uint8Array<ArrayBuffer>): Side {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const start = exports.run as Run;
  const refuel = exports['palisade:set'] as SetFuel | undefined;
  const call = () => {
    refuel?.(PLENTY, STACK_BYTES);
    return processorMsOf(() => {
      const sum = start(kernel.n);
      if (sum !== kernel.sum)
        throw new Error(`Cannot measure ${kernel.name}: ${name} answers ${sum}, expected ${kernel.sum}`);
    });
  };
  return { name, turn: () => fastest(call) };
}

/** The fastest of a few calls: the others were disturbed. */
function fastest(call: () => number): number {
  return Math.min(...Array.from({ length: CALLS_A_TURN }, call));
}

/** The pauses let V8's compiler threads, and whoever else wants the processor, come to an end. */
async function warmUp(sides: readonly Side[]): Promise<void> {
  for (const { turn } of sides) {
    const startedMs = performance.now();
    for (let turns = 0; turns < WARM_UP.turns || performance.now() - startedMs < WARM_UP.ms; turns += 1) {
      await turn();
      await sleep(WARM_UP.pauseMs);
    }
  }
}
