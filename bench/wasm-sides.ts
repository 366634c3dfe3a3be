import { setFlagsFromString } from 'node:v8';
import { meter } from '../packages/wasm/src/meter/meter.ts';
import { FORMS, type Form } from '../tests/fixtures/real-programs/metered.ts';
import { processorMs } from '../tests/fixtures/real-programs/processor-time.ts';
import { type Figure, type Spread, single } from './measure.ts';
import { geometricMean } from './turns.ts';

/** An empty module: enough to ask which form the meter takes on this Node. */
const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

export function defaultForm(): Form {
  return meter(EMPTY).form;
}

/** V8 of Node 20 ends the process when such a call, inlined, has to give up its optimised code in the thread form. */
export function keepCallsApart(): void {
  setFlagsFromString('--no-turbo-inline-js-wasm-calls');
}

/** Milliseconds that the processor works on an act. */
export function processorMsOf(act: () => unknown): number {
  const before = processorMs();
  act();
  return processorMs() - before;
}

export type FormRatios = Readonly<Record<Form, ReadonlyMap<string, Spread>>>;

/** Each item in both forms, and the geometric means; only the form that this Node gets by default has the goal. */
export function ratioFigures(what: string, ratios: FormRatios, atMost: number): Figure[] {
  const usual = defaultForm();
  const items = FORMS.flatMap((form) =>
    [...ratios[form]].map(
      ([name, spread]): Figure => ({ name: `${name}, ${form} / bare`, unit: 'x', spread }),
    ),
  );
  const means = FORMS.map((form): Figure => {
    const mean = single(geometricMean([...ratios[form].values()].map(({ median }) => median)));
    const figure = { name: `${what}, geometric mean, ${form} / bare`, unit: 'x' as const, spread: mean };
    return form === usual ? { ...figure, goal: { atMost } } : { ...figure, note: 'not the default here' };
  });
  return [...items, ...means];
}
