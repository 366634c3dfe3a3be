import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { REAL_PROGRAMS } from '../tests/fixtures/real-programs/index.ts';
import { FORMS, type Form } from '../tests/fixtures/real-programs/metered.ts';
import { bundleChild, ProgramProcess } from '../tests/fixtures/real-programs/start.ts';
import { type BenchOptions, type Figure, type Spread, spreadOf } from './measure.ts';
import { ratiosOf, type Side, takeTurns } from './turns.ts';
import { ratioFigures } from './wasm-sides.ts';

/*
 * Programs from npm, as they are and metered. Their glue keeps state, so each side is a process of its own that stays
 * loaded; the processes work in turns and say how much processor time they took, while the other ones wait. Where code and
 * memory come to lie differs from process to process, so each program is measured in several generations of them.
 */

const [FULL, QUICK] = [
  { generations: 2, rounds: 15, warmUp: { phases: 3, turns: 8, ms: 1000 } },
  { generations: 1, rounds: 8, warmUp: { phases: 2, turns: 3, ms: 400 } },
];

type Extent = typeof FULL;

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const child = await bundleChild(process.cwd(), mkdtempSync(join(scratch, 'programs-')));
  const ratios = { local: new Map<string, Spread>(), thread: new Map<string, Spread>() };
  for (const { name } of REAL_PROGRAMS) {
    const found = await measure(child, name, quick ? QUICK : FULL);
    for (const form of FORMS) ratios[form].set(name, spreadOf(found[form]));
  }
  return ratioFigures('programs', ratios, 1.15);
}

async function measure(child: string, name: string, extent: Extent): Promise<Record<Form, number[]>> {
  const found: Record<Form, number[]> = { local: [], thread: [] };
  for (let generation = 0; generation < extent.generations; generation += 1) {
    const processes = (['bare', ...FORMS] as const).map((side) => ({
      side,
      running: new ProgramProcess(child, [name, side, 'turns']),
    }));
    const sides = processes.map(({ side, running }): Side => ({ name: side, turn: () => running.turn() }));
    await Promise.all(processes.map(({ running }) => running.said()));
    await Promise.all(processes.map(({ running }) => warmUp(running, extent)));
    const turns = await takeTurns(extent.rounds, sides);
    for (const form of FORMS) found[form].push(...ratiosOf(turns, form, 'bare'));
    await Promise.all(processes.map(({ running }) => running.end()));
  }
  return found;
}

/** Works until V8 has replaced the code that matters by optimised code; some is noticed only when the rest is fast. */
async function warmUp(running: ProgramProcess, { warmUp: { phases, turns, ms } }: Extent): Promise<void> {
  for (let phase = 0; phase < phases; phase += 1) {
    const startedMs = performance.now();
    for (let count = 0; count < turns || performance.now() - startedMs < ms; count += 1) await running.turn();
    await running.settle();
  }
}
