import { type Facts, inspect, type Metered, meter, WasmError } from '@palisade/wasm';
import { CHECKS, type Severity } from './checks.table.ts';
import { listNeeds, type Need } from './needs.ts';

/** Something that an audit of the module would say. */
export type ModuleFinding = {
  readonly severity: Severity;
  readonly sentence: string;
  readonly remedy: string;
};

/** All that can be told of a module without compiling or running it. */
export type Audit = {
  readonly facts: Facts;
  /** The module as the engine would run it; null when it would not. */
  readonly metered: Metered | null;
  readonly needs: readonly Need[];
  readonly findings: readonly ModuleFinding[];
};

/** Looks at a module. Throws a WasmError for what is no module, or not one within the limits and features. */
export function auditModule(bytes: Uint8Array): Audit {
  const facts = inspect(bytes);
  const { metered, refusal } = tryMeter(bytes);
  const needs = listNeeds(facts, metered);
  const seen = { facts, needs, refusal };
  const findings = CHECKS.flatMap(({ severity, look, remedy }) => {
    const sentence = look(seen);
    if (sentence === null) return [];
    return [{ severity, sentence, remedy: typeof remedy === 'string' ? remedy : remedy(seen) }];
  });
  return { facts, metered, needs, findings };
}

type Tried = { readonly metered: Metered | null; readonly refusal: WasmError | null };

function tryMeter(bytes: Uint8Array): Tried {
  try {
    return { metered: meter(bytes), refusal: null };
  } catch (refusal) {
    if (!(refusal instanceof WasmError)) throw refusal;
    return { metered: null, refusal };
  }
}
