import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linkComponent } from '../../src/component/link-component.ts';
import type { WitFunction } from '../../src/component/types.ts';
import { meter } from '../../src/meter/meter.ts';
import {
  alias,
  CORE,
  canon,
  componentOf,
  coreInstance,
  exported,
  sections,
  types,
  WORDS,
} from './compose.ts';
import { worldOf } from './linked.ts';
import { EXPORTED, type ModulePlan, modulePlans, writePlan } from './module-plans.ts';

const FUNCTION: WitFunction = { params: [['x', 'u32']], result: 'u32' };

type Callable = Record<string, (x: number) => number>;

/** A component that instantiates all modules in order, each with the ones before it, and lifts what they export. */
function compose(modules: readonly Uint8Array[]): Uint8Array {
  const all = modules.flatMap((_module, index) => EXPORTED.map((name) => [index, name] as const));
  const args = (index: number) =>
    modules.slice(0, index).map((_module, other): [string, number] => [`m${other}`, other]);
  return componentOf([
    ...modules.map((bytes) => sections.module(bytes)),
    sections.coreInstances(...modules.map((_module, index) => coreInstance.of(index, args(index)))),
    sections.aliases(...all.map(([index, name]) => alias.core(CORE.function, index, name))),
    sections.types(types.func([['x', [WORDS.u32]]], [WORDS.u32])),
    sections.canons(...all.map((_each, func) => canon.lift(func, 0))),
    sections.exports(...all.map(([index, name], func) => exported(`${name}-${index}`, func + 0))),
  ]);
}

/** The same modules as V8 instantiates them one by one. */
function instantiateAll(modules: readonly Uint8Array<ArrayBuffer>[]): Callable {
  const instances: WebAssembly.Imports = {};
  const found: Callable = {};
  modules.forEach((bytes, index) => {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), instances);
    instances[`m${index}`] = exports as WebAssembly.ModuleImports;
    for (const name of EXPORTED) found[`${name}-${index}`] = exports[name] as Callable[string];
  });
  return found;
}

function link(modules: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const names = modules.flatMap((_module, index) => EXPORTED.map((name) => `${name}-${index}`));
  const exports = Object.fromEntries(names.map((name) => [name, FUNCTION]));
  return linkComponent(compose(modules), worldOf([], exports)).bytes;
}

/** What a row of calls gives, traps too. */
function outcomes(callable: Callable, calls: readonly (readonly [name: string, x: number])[]): unknown[] {
  return calls.map(([name, x]) => {
    try {
      return callable[name]?.(x);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return 'trap';
      throw error;
    }
  });
}

function callsOf(plans: readonly ModulePlan[], xs: readonly number[]): (readonly [string, number])[] {
  return xs.flatMap((x) =>
    plans.flatMap((_plan, index) => EXPORTED.map((name) => [`${name}-${index}`, x] as const)),
  );
}

describe('a linked component', () => {
  it('behaves like its modules instantiated one by one', () => {
    const xs = fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1, maxLength: 4 });
    let answers = 0;
    fc.assert(
      fc.property(modulePlans, xs, (plans, inputs) => {
        const modules = plans.map((plan, index) => writePlan(plan, index));
        const expected = outcomes(instantiateAll(modules), callsOf(plans, inputs));
        const merged = new WebAssembly.Instance(new WebAssembly.Module(link(modules)), {});
        expect(outcomes(merged.exports as Callable, callsOf(plans, inputs))).toEqual(expected);
        answers += expected.filter((each) => each !== 'trap').length;
      }),
      { numRuns: 150 },
    );
    // Without answers it would have compared traps with traps.
    expect(answers).toBeGreaterThan(1000);
  });

  it('passes the meter as any other module does', () => {
    fc.assert(
      fc.property(modulePlans, (plans) => {
        const modules = plans.map((plan, index) => writePlan(plan, index));
        expect(meter(link(modules)).module.imports).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
